package acp_test

import (
	"strings"
	"testing"

	"nanobot/terminal"
)

// TestOutputIsShownWhileTheAgentsOwnCommandRuns lets the agent continue only when the board shows
// the first part of the output.
func TestOutputIsShownWhileTheAgentsOwnCommandRuns(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ begin, end string }{
		"in _meta": {
			`raw {"sessionUpdate":"tool_call","toolCallId":"t","title":"make","kind":"execute","status":"pending","content":[{"type":"terminal","terminalId":"t"}],"_meta":{"terminal_info":{"terminal_id":"t"}}}
raw {"sessionUpdate":"tool_call_update","toolCallId":"t","_meta":{"terminal_output":{"terminal_id":"t","data":"first\n"}}}`,
			`raw {"sessionUpdate":"tool_call_update","toolCallId":"t","_meta":{"terminal_output":{"terminal_id":"t","data":"broken\n"}}}
raw {"sessionUpdate":"tool_call_update","toolCallId":"t","status":"failed","content":[{"type":"terminal","terminalId":"t"}],"_meta":{"terminal_exit":{"terminal_id":"t","exit_code":2,"signal":null}}}`,
		},
		"as content": {
			"tool t execute make\n" + `status t in_progress [{"type":"content","content":{"type":"text","text":"first\n"}}]`,
			`status t failed [{"type":"content","content":{"type":"text","text":"first\nbroken\n"}}]`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newFixture(t, "").person("a")
			signal := p.path("go")
			p.onFrame = func(f terminal.Frame) {
				if f.Text == "💻 make …\n│ `first`" {
					writeTestFile(t, signal)
				}
			}
			h := p.send(c.begin + "\nuntil " + signal + "\n" + c.end + "\ntool u read x\nstatus u completed\nsay done")
			h.expect(terminal.Done, "done")
			if board := h.text(terminal.Progress); !strings.Contains(board, "💻 make ✗\n│ `broken`\n📖 x ✓") {
				t.Errorf("the board was %q", board)
			}
		})
	}
}
