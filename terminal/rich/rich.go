// Package rich is the protocol for agents that print JSON frames: progress and messages reach the
// chat as they come, errors at the end, and lines that are no frames as one message at the end.
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

// Turn runs the agent and emits its frames as it prints them. Where the agent may ask or the person
// may add to the message, stdin stays open behind the envelope.
func (Protocol) Turn(ctx context.Context, t terminal.Turn) (terminal.Outcome, error) {
	if !t.Interactive && t.Injections == nil {
		return t.ReadLines(ctx, listen(t, func(q question) error { return refuse(t, q) }))
	}
	k := &talk{turn: t}
	out, err := t.ReadLinesInteractive(ctx, func(ctx context.Context, stdin io.Writer) (terminal.LineFunc, func(terminal.AgentExit)) {
		k.stdin = stdin
		if t.Injections != nil {
			k.work.Go(func() { k.inject(ctx) })
		}
		return listen(t, func(q question) error { return k.ask(ctx, q) }), k.end
	})
	out.Unread = k.unread
	return out, err
}

// listen emits what the agent says to the person and hands its questions to ask.
func listen(t terminal.Turn, ask func(question) error) terminal.LineFunc {
	return func(line []byte, end *terminal.FinalResponse) error {
		var f fields
		frame, ok := decode(line, &f)
		switch {
		case !ok:
			end.AddLine(line)
			return nil
		case frame.Kind == askKind:
			return ask(f.question())
		}
		if err := dispatch(t, frame, end); err != nil {
			return fmt.Errorf("emit %s: %w", frame.Kind, err)
		}
		return nil
	}
}

func dispatch(t terminal.Turn, f terminal.Frame, end *terminal.FinalResponse) error {
	f.Text = terminal.Clean(f.Text)
	blank := strings.TrimSpace(f.Text) == ""
	switch f.Kind {
	case terminal.Message:
		if blank && len(f.Media) == 0 {
			return warn(t, "empty message frame ignored")
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
	return warn(t, fmt.Sprintf("frame of unknown type %.40q ignored", string(f.Kind)))
}

func warn(t terminal.Turn, text string) error {
	return t.Emit(terminal.Frame{Kind: terminal.Log, Level: "warning", Text: text})
}
