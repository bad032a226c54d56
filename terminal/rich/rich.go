// Package rich is the protocol of agents that print JSON frames: progress and messages are sent as
// they come, errors at the end, and lines that are no frames as one message at the end. It knows
// nothing of processes and chats.
package rich

import (
	"context"
	"fmt"
	"io"
	"strings"

	"nanobot/terminal"
)

// Protocol is Terminal Protocol v1's rich mode.
type Protocol struct{}

var _ terminal.Protocol = Protocol{}

// Turn runs the agent and emits its frames as it prints them. If the agent may ask questions or get
// more messages, stdin stays open after the envelope.
func (Protocol) Turn(ctx context.Context, t terminal.Turn) (terminal.Outcome, error) {
	if !t.Interactive && t.Injections == nil {
		return t.ReadLines(ctx, handleLines(t, func(q question) error { return logRefusal(t, q) }))
	}
	k := &conversation{turn: t}
	out, err := t.ReadLinesInteractive(ctx, func(ctx context.Context, stdin io.Writer) (terminal.LineFunc, func(terminal.AgentExit)) {
		k.stdin = stdin
		if t.Injections != nil {
			k.goroutines.Go(func() { k.inject(ctx) })
		}
		return handleLines(t, func(q question) error { return k.askPerson(ctx, q) }), k.wait
	})
	out.Unread = k.unread
	return out, err
}

// handleLines returns the LineFunc that emits frames and passes questions to ask.
func handleLines(t terminal.Turn, ask func(question) error) terminal.LineFunc {
	var progress progressCounter
	return func(line []byte, end *terminal.FinalResponse) error {
		var f fields
		frame, ok := decode(line, &f)
		switch {
		case !ok:
			end.AddLine(line)
			return nil
		case frame.Kind == askKind:
			return ask(f.question())
		case frame.Kind == terminal.Progress:
			frame.Step = progress.count(frame.Text)
		}
		if err := emitFrame(t, frame, end); err != nil {
			return fmt.Errorf("emit %s: %w", frame.Kind, err)
		}
		return nil
	}
}

// progressCounter counts the progress texts that differ from the one before.
type progressCounter struct {
	last string
	n    int
}

func (c *progressCounter) count(text string) int {
	if text != c.last && strings.TrimSpace(text) != "" {
		c.last = text
		c.n++
	}
	return c.n
}

func emitFrame(t terminal.Turn, f terminal.Frame, end *terminal.FinalResponse) error {
	f.Text = terminal.Clean(f.Text)
	blank := strings.TrimSpace(f.Text) == ""
	switch f.Kind {
	case terminal.Message:
		if blank && len(f.Media) == 0 {
			return emitWarning(t, "empty message frame ignored")
		}
		end.MarkShown()
		return t.Emit(f)
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
	return emitWarning(t, fmt.Sprintf("frame of unknown type %.40q ignored", string(f.Kind)))
}

func emitWarning(t terminal.Turn, text string) error {
	return t.Emit(terminal.Frame{Kind: terminal.Log, Level: "warning", Text: text})
}
