package view

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"nanobot/internal/words"
	"nanobot/terminal"
)

// askGrace is added to a question's timeout, since the asker enforces it too, from when the
// question is shown, and reports why nobody answered.
const askGrace = 10 * time.Second

// ErrNoAnswer says that nobody answered in time.
var ErrNoAnswer = errors.New("nobody answered in time")

// Words returns the words for the person.
func (v *View) Words() words.Words { return v.board.Words }

// Ask asks the person of the turn, after everything that is pending. The ID of the question is made
// unique. The error is ErrNoAnswer if nobody has answered within the question's timeout.
func (v *View) Ask(ctx context.Context, q terminal.Question) (terminal.Answer, error) {
	return v.askAfter(ctx, q, "", nil)
}

// AskAbout asks about a tool call. It sends what the question itself cannot show as a whole, and
// then the question.
func (v *View) AskAbout(ctx context.Context, t *ToolCall, q terminal.Question) (terminal.Answer, error) {
	t.words = v.board.Words
	text, documents := t.question(v.out.dir)
	q.Text = text
	return v.askAfter(ctx, q, t.plan(), documents)
}

// askAfter asks a question after a plan, unless it is "", and documents.
func (v *View) askAfter(ctx context.Context, q terminal.Question, plan string, documents []document) (
	terminal.Answer, error,
) {
	v.beginQuestion()
	defer v.endQuestion()
	if err := v.sendBeforeQuestion(plan, documents); err != nil {
		return terminal.Answer{}, err
	}
	// A unique ID, so that a stored answer to an earlier question is not the answer to this one.
	q.ID += "-" + rand.Text()
	limited, cancel := context.WithTimeout(ctx, q.Timeout+askGrace)
	defer cancel()
	began := time.Now()
	answer, err := v.out.turn.Ask(limited, q)
	var dismissed *terminal.DismissedError
	answered := err == nil || errors.As(err, &dismissed) || errors.Is(err, terminal.ErrNobodyToAsk)
	if !answered && ctx.Err() == nil && time.Since(began) >= q.Timeout {
		err = ErrNoAnswer
	}
	return answer, err
}

// beginQuestion emits everything that is pending, and shows that the turn waits for the person
// until endQuestion is called.
func (v *View) beginQuestion() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.board.questions++
	if !v.closed {
		v.messages.flush()
		v.showBoard()
	}
}

func (v *View) endQuestion() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.board.questions--
	v.aliveAt = time.Now()
	if !v.closed {
		v.due.board.Schedule(boardInterval)
	}
}

func (v *View) sendBeforeQuestion(plan string, documents []document) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return nil
	}
	v.out.emitText(plan)
	for _, d := range documents {
		// Without emit: a document that is refused does not end the turn.
		if err := terminal.SendDocument(v.board.Words, d.name, d.text, v.out.turn.Emit); err != nil {
			return err
		}
	}
	return v.out.err
}

// ReportRefusal tells the person why something was refused.
func (v *View) ReportRefusal(text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.closed {
		v.messages.flush()
		v.out.emitText(text)
	}
}

// ReportNobody tells the person that something was refused because nobody can be asked, but only
// once.
func (v *View) ReportNobody(text string) {
	v.mu.Lock()
	told := v.toldNobodyToAsk
	v.toldNobodyToAsk = true
	v.mu.Unlock()
	if !told {
		v.ReportRefusal(text)
	}
}

// Audit emits a frame for the audit log.
func (v *View) Audit(format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.closed {
		v.out.emit(terminal.Frame{Kind: terminal.Log, Level: "info", Text: fmt.Sprintf(format, args...), Audit: true})
	}
}

// Tool returns a copy of a tool call.
func (v *View) Tool(id string) ToolCall {
	v.mu.Lock()
	defer v.mu.Unlock()
	if t := v.board.tools[id]; t != nil {
		copied := *t
		copied.output.own = nil
		return copied
	}
	return ToolCall{ID: id, words: v.board.Words}
}
