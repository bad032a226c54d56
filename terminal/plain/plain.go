// Package plain is the protocol of programs that print plain text: all output is one message at the
// end, and files whose paths are in it are sent. Meanwhile the board shows the last line. It knows
// nothing of processes and chats.
package plain

import (
	"bytes"
	"cmp"
	"context"

	"nanobot/terminal"
)

// Protocol is Terminal Protocol v1's plain mode.
type Protocol struct{}

var _ terminal.Protocol = Protocol{}

// Turn runs the agent to its end and emits its output.
func (Protocol) Turn(ctx context.Context, t terminal.Turn) (terminal.Outcome, error) {
	t.Final.Format = cmp.Or(t.Final.Format, terminal.FormatSettingAuto)
	hinted := false
	return t.ReadLinesShowingLast(ctx, func(line []byte, end *terminal.FinalResponse) error {
		end.AddLine(line)
		if hinted || !bytes.HasPrefix(line, []byte(`{"type"`)) {
			return nil
		}
		hinted = true
		return t.Emit(terminal.Frame{
			Kind: terminal.Log, Level: "warning",
			Text:    `the output looks like frames; is terminal.protocol meant to be "rich"?`,
			Mistake: terminal.NewMistake(terminal.FramesInPlain, line),
		})
	})
}
