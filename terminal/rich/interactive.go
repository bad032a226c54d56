package rich

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"nanobot/terminal"
)

// askKind is the type of a question frame, an addition to Terminal Protocol v1. It is never
// emitted.
const askKind terminal.Kind = "ask"

// maxOpenQuestions bounds the open questions of a turn, because each has a goroutine and a message
// in the chat.
const maxOpenQuestions = 64

// question is a question with its ID as the agent wrote it.
type question struct {
	terminal.Question
	raw json.RawMessage // nil: the agent gave none
}

// question returns the question of an ask frame. It does not refer to the line.
func (f *fields) question() question {
	q := question{Question: terminal.Question{
		ID: f.id.text(), Text: f.text.text(), Options: f.options.list(),
		Secret: f.secret.isTrue(),
	}}
	// A number is returned as a number, because agents compare it. Nested values may exceed the
	// depth that encoding/json accepts.
	if q.ID != "" && f.id[0] != '{' && f.id[0] != '[' {
		q.raw = append(q.raw, f.id...)
	}
	return q
}

// answer is the line that answers a question.
type answer struct {
	Type  string          `json:"type"`
	ID    json.RawMessage `json:"id"`
	Text  string          `json:"text"`
	Error string          `json:"error,omitempty"`
}

// injection is the line for a message that the person sent while the agent runs.
type injection struct {
	Type    string   `json:"type"`
	Version int      `json:"version"`
	Text    string   `json:"text"`
	Media   []string `json:"media"`
}

// conversation writes answers and injections to one running agent.
type conversation struct {
	turn       terminal.Turn
	stdin      io.Writer
	goroutines sync.WaitGroup
	asked      int // number of questions, to name those without an ID
	open       atomic.Int32
	unread     int // set by wait

	mu            sync.Mutex // serializes writes, so that lines are whole and counted in order
	bytesWritten  int        // to stdin
	injectionEnds []int      // bytesWritten after each injection
}

// askPerson puts a question to the person and writes the answer to the agent's stdin, without
// blocking the agent's output.
func (k *conversation) askPerson(ctx context.Context, q question) error {
	k.asked++
	if q.ID == "" {
		q.ID = fmt.Sprintf("ask-%d", k.asked)
	}
	if !k.turn.Interactive {
		return logRefusal(k.turn, q)
	}
	if k.open.Add(1) > maxOpenQuestions {
		k.open.Add(-1)
		return emitWarning(k.turn, terminal.AskIgnored,
			fmt.Sprintf("ask frame %.40q ignored: %d questions are open", q.ID, maxOpenQuestions))
	}
	k.goroutines.Go(func() {
		defer k.open.Add(-1)
		k.writeLine(k.awaitAnswer(ctx, q), false)
	})
	return nil
}

func (k *conversation) awaitAnswer(ctx context.Context, q question) answer {
	a := answer{Type: "answer", ID: q.raw}
	if a.ID == nil {
		a.ID, _ = json.Marshal(q.ID) // cannot fail for a string
	}
	// The last output of a dead agent is still read, but its questions are not asked.
	err := ctx.Err()
	if err == nil {
		var got terminal.Answer
		got, err = k.turn.Ask(ctx, q.Question)
		a.Text = got.Text
	}
	if err != nil {
		a.Text, a.Error = "", "timeout"
	}
	return a
}

// inject writes injections, one at a time: while the agent does not read, the next one stays in the
// channel, and its sender can take it back.
func (k *conversation) inject(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case in, ok := <-k.turn.Injections():
			if !ok {
				return
			}
			line := injection{Type: "inject", Version: terminal.Version, Text: in.Text, Media: []string{}}
			if k.turn.PassMedia {
				line.Media = append(line.Media, in.Media...)
			}
			k.turn.Report(terminal.Injected(in))
			if !k.writeLine(line, true) {
				return
			}
		}
	}
}

// writeLine writes one line and reports whether that succeeded. An agent that does not read is no
// error.
func (k *conversation) writeLine(v any, injected bool) bool {
	line, err := terminal.EncodeLine(v)
	if err != nil {
		return false // cannot happen: raw values were scanned
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if injected {
		k.injectionEnds = append(k.injectionEnds, k.bytesWritten+len(line))
	}
	n, err := k.stdin.Write(line)
	k.bytesWritten += n
	return err == nil
}

// wait waits for all goroutines and counts the injections that the agent has not read completely.
func (k *conversation) wait(ended terminal.AgentExit) {
	k.goroutines.Wait()
	read := k.bytesWritten - ended.Unread
	for i := len(k.injectionEnds) - 1; i >= 0 && k.injectionEnds[i] > read; i-- {
		k.unread++
	}
}

// logRefusal logs why a question was not asked.
func logRefusal(t terminal.Turn, q question) error {
	return emitWarning(t, terminal.AskIgnored, fmt.Sprintf("ask frame %.40q ignored: terminal.interactive is off", q.ID))
}
