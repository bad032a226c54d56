// Package rich is the protocol of agents that print JSON frames: progress and messages are sent as
// they come, errors at the end, and lines that are no frames as one message at the end. It knows
// nothing of processes and chats.
package rich

import (
	"context"
	"fmt"
	"io"
	"strings"
	"unicode"

	"nanobot/terminal"
)

// Protocol is Terminal Protocol v1's rich mode.
type Protocol struct{}

var _ terminal.Protocol = Protocol{}

// Turn runs the agent and emits its frames as it prints them. If the agent may ask questions or get
// more messages, stdin stays open after the envelope.
func (Protocol) Turn(ctx context.Context, t terminal.Turn) (terminal.Outcome, error) {
	s := newStream(t)
	defer s.close()
	t.Chat = s
	if !t.Interactive && t.Injections() == nil {
		return t.ReadLines(ctx, handleLines(t, s, func(q question) error { return logRefusal(t, q) }))
	}
	k := &conversation{turn: t}
	out, err := t.ReadLinesInteractive(ctx,
		func(ctx context.Context, stdin io.Writer) (terminal.LineFunc, func(terminal.AgentExit)) {
			k.stdin = stdin
			if t.Injections() != nil {
				k.goroutines.Go(func() { k.inject(ctx) })
			}
			return handleLines(t, s, func(q question) error { return k.askPerson(ctx, q) }), k.wait
		})
	out.Unread = k.unread
	return out, err
}

// handleLines returns the LineFunc that emits frames and passes questions to ask.
func handleLines(t terminal.Turn, s *stream, ask func(question) error) terminal.LineFunc {
	var progress progressCounter
	var hints lineHints
	deltaHinted := false
	return func(line []byte, end *terminal.FinalResponse) error {
		var f fields
		s.line = line
		frame, ok := decode(line, &f)
		switch {
		case !ok && isBadUsage(line):
			return emitWarning(t, terminal.WrongUsage, "usage frame ignored: NaN and Infinity are no numbers of JSON")
		case !ok:
			end.AddLine(line)
			if hint := hints.find(line); hint != "" {
				return emitWarning(t, terminal.AlmostRightFrame, hint)
			}
			return nil
		case frame.Kind == deltaKind:
			if !deltaHinted && !f.text.present() {
				deltaHinted = true
				return hintWrongDelta(t, line)
			}
			end.FlushFirst(func(followed bool) error { return s.send(followed, end) })
			return s.add(frame.Text)
		case frame.Kind == askKind:
			if t.Interactive { // the question comes below what the agent has written, and notifies the person
				if err := s.send(true, end); err != nil {
					return fmt.Errorf("emit the message before a question: %w", err)
				}
			}
			return ask(f.question())
		case frame.Kind == usageKind:
			return reportUsage(t, &f, line)
		case frame.Kind == terminal.Progress:
			frame.Step = progress.count(frame.Text)
		}
		if !f.text.present() && frame.Media == nil {
			if hint := hintWrongKey(line, "text", "media"); hint != "" {
				if err := emitWarning(t, terminal.AlmostRightFrame,
					fmt.Sprintf("%s frame without text: %s", frame.Kind, hint)); err != nil {
					return err
				}
			}
		}
		if err := emitFrame(t, s, frame, end); err != nil {
			return fmt.Errorf("emit %s: %w", frame.Kind, err)
		}
		return nil
	}
}

// progressCounter counts the progress texts that differ from the one before in more than digits: a
// percentage that grows is one step.
type progressCounter struct {
	last string // without digits and white space
	n    int
}

func (c *progressCounter) count(text string) int {
	if strings.TrimSpace(text) == "" {
		return c.n
	}
	words := strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) || unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text)
	if c.n == 0 || words != c.last {
		c.last = words
		c.n++
	}
	return c.n
}

func emitFrame(t terminal.Turn, s *stream, f terminal.Frame, end *terminal.FinalResponse) error {
	f.Text = terminal.Clean(f.Text)
	blank := strings.TrimSpace(f.Text) == ""
	switch f.Kind {
	case terminal.Message:
		return emitMessage(t, s, f, end)
	case terminal.Progress:
		if blank {
			return nil
		}
		return t.Emit(f)
	case terminal.Log:
		return t.Emit(f)
	case terminal.Error:
		end.AddError(f)
		return nil
	case terminal.Partial: // which is for other protocols
	}
	return emitWarning(t, terminal.UnknownFrame, hintUnknownType(f.Kind))
}

// emitMessage emits a message. It replaces the one that the agent was writing or, without text,
// ends it.
func emitMessage(t terminal.Turn, s *stream, f terminal.Frame, end *terminal.FinalResponse) error {
	written, wasWriting := s.finish()
	if strings.TrimSpace(f.Text) == "" {
		f.Text = written
	}
	if f.Text == "" && len(f.Media) == 0 {
		if len(f.Choices) > 0 {
			return emitWarning(t, terminal.WrongButtons, "message frame with buttons ignored: buttons need a text")
		}
		if wasWriting {
			return nil
		}
		return emitWarning(t, terminal.EmptyMessage, "empty message frame ignored")
	}
	var err error
	if f.Choices, err = checkButtons(t, f.Choices); err != nil {
		return err
	}
	end.MarkShown()
	f.Format = t.Final.FormatOf(f.Text)
	return t.Emit(f)
}

// emitWarning logs a mistake in the current line of the output.
func emitWarning(t terminal.Turn, kind terminal.MistakeKind, text string) error {
	return t.Emit(terminal.Frame{
		Kind: terminal.Log, Level: "warning", Text: text, Mistake: terminal.NewMistake(kind, nil),
	})
}
