// Package rich is the protocol for agents that print JSON frames: progress and messages reach the chat as they come, errors
// at the end, and lines that are no frames as one message at the end.
package rich

import (
	"context"
	"fmt"
	"strings"

	"nanobot/terminal"
)

// Protocol is Terminal Protocol v1's rich mode.
type Protocol struct{}

var _ terminal.Protocol = Protocol{}

// Turn runs the agent and emits its frames as it prints them.
func (Protocol) Turn(ctx context.Context, t terminal.Turn) (terminal.Outcome, error) {
	return t.ReadLines(ctx, func(line []byte, end *terminal.Ending) error {
		frame, ok := Decode(line)
		if !ok {
			end.Line(line)
			return nil
		}
		if err := dispatch(t, frame, end); err != nil {
			return fmt.Errorf("emit %s: %w", frame.Kind, err)
		}
		return nil
	})
}

func dispatch(t terminal.Turn, f terminal.Frame, end *terminal.Ending) error {
	switch f.Kind {
	case terminal.Message:
		if strings.TrimSpace(f.Text) == "" && len(f.Media) == 0 {
			return warn(t, "empty message frame ignored")
		}
		end.Spoke()
		return t.Emit(f)
	case terminal.Progress, terminal.Log:
		return t.Emit(f)
	case terminal.Error:
		end.Fail(f)
		return nil
	}
	return warn(t, fmt.Sprintf("frame of unknown type %.40q ignored", string(f.Kind)))
}

func warn(t terminal.Turn, text string) error {
	return t.Emit(terminal.Frame{Kind: terminal.Log, Level: "warning", Text: text})
}
