// Package plain is the protocol for programs that just print: all they print is one message at the
// end, and media paths in it are sent as files.
package plain

import (
	"bytes"
	"context"

	"nanobot/terminal"
)

// Protocol is Terminal Protocol v1's plain mode.
type Protocol struct{}

var _ terminal.Protocol = Protocol{}

// Turn runs the agent to its end and emits what it printed.
func (Protocol) Turn(ctx context.Context, t terminal.Turn) (terminal.Outcome, error) {
	hinted := false
	return t.ReadLines(ctx, func(line []byte, end *terminal.FinalResponse) error {
		end.AddLine(line)
		if hinted || !bytes.HasPrefix(line, []byte(`{"type"`)) {
			return nil
		}
		hinted = true
		return t.Emit(terminal.Frame{Kind: terminal.Log, Level: "warning", Text: `the output looks like frames; is terminal.protocol meant to be "rich"?`})
	})
}
