package view

import (
	"strings"
	"testing"

	"nanobot/terminal"
	"nanobot/terminal/acp/acptest"
)

func TestOutputOfToolsThatTheAgentRunsItselfIsShown(t *testing.T) {
	t.Parallel()
	const (
		// begin is how the adapter of Claude Code announces a command.
		begin = `"tool_call","toolCallId":"1","title":"make","kind":"execute","status":"pending","rawInput":{"command":"make"},"content":[{"type":"terminal","terminalId":"1"}],"_meta":{"terminal_info":{"terminal_id":"1"}}`
		next  = `"tool_call","toolCallId":"2","title":"next"`
	)
	update := func(rest string) string { return `"tool_call_update","toolCallId":"1",` + rest }
	text := func(s string) string {
		return `"content":[{"type":"content","content":{"type":"text","text":"` + s + `"}}]`
	}
	run := func(kind string) string {
		return `"tool_call","toolCallId":"1","title":"make","status":"in_progress","kind":"` + kind + `","rawInput":{"command":"make"}`
	}
	for name, c := range map[string]struct {
		updates []string
		want    string
	}{
		"in _meta": {
			[]string{begin, update(`"_meta":{"terminal_output":{"terminal_id":"1","data":"one\r\ntwo\r\n"}}`)},
			"💻 make …\n│ `one`\n│ `two`",
		},
		"in _meta, by deltas": {
			[]string{
				begin, update(`"_meta":{"terminal_output_delta":{"terminal_id":"1","data":"one\nt"}}`),
				update(`"_meta":{"terminal_output_delta":{"terminal_id":"1","data":"wo"}}`),
			},
			"💻 make …\n│ `one`\n│ `two`",
		},
		"in _meta, with the exit": {
			[]string{
				begin, update(`"_meta":{"terminal_output":{"terminal_id":"1","data":"bad"}}`),
				update(`"status":"failed","content":[{"type":"terminal","terminalId":"1"}],"_meta":{"terminal_exit":{"terminal_id":"1","exit_code":2,"signal":null}}`), next,
			},
			"💻 make ✗\n│ `bad`\n🔧 next …",
		},
		"as content that grows": {
			[]string{run("execute"), update(`"status":"in_progress",` + text(`one\ntwo`)), update(`"status":"in_progress",` + text(`one\ntwo\nthree\nfour`))},
			"💻 make …\n│ `two`\n│ `three`\n│ `four`",
		},
		"as content at the end": {
			[]string{run("execute"), update(`"status":"completed",` + text("```console\\nall\\n```"))},
			"💻 make ✓\n│ `all`\nWorking…",
		},
		"a refusal in place of a terminal": {
			[]string{begin, update(`"status":"failed",` + text("```\\nThe user refused.\\n```")), next},
			"💻 make ✗\n│ `The user refused.`\n🔧 next …",
		},
		"the last line of a failure stays": {
			[]string{run("fetch"), update(`"status":"failed",` + text(`one\ntwo\nno route`)), next},
			"🌐 make ✗\n│ `no route`\n🔧 next …",
		},
		"a failure only in the raw output": {
			[]string{run("read"), update(`"status":"failed","rawOutput":{"error":"no such file","metadata":{}}`), next},
			"📖 make ✗\n│ `no such file`\n🔧 next …",
		},
		"a text as raw output": {
			[]string{run("execute"), update(`"status":"completed","rawOutput":"one\ntwo"`)},
			"💻 make ✓\n│ `one`\n│ `two`\nWorking…",
		},
		"no output but an exit code": {
			[]string{begin, update(`"status":"failed","_meta":{"terminal_exit":{"terminal_id":"1","exit_code":2,"signal":null}}`), next},
			"💻 make ✗\n│ `Exit code: 2`\n🔧 next …",
		},
		"no output but a signal": {
			[]string{begin, update(`"status":"failed","_meta":{"terminal_exit":{"terminal_id":"1","exit_code":null,"signal":"SIGKILL"}}`), next},
			"💻 make ✗\n│ `Killed by SIGKILL`\n🔧 next …",
		},
		"nothing known": {
			[]string{begin, update(`"status":"failed","_meta":{"terminal_exit":{"terminal_id":"1","exit_code":null,"signal":null}}`), next},
			"💻 make ✗\n🔧 next …",
		},
		"input as content": {
			[]string{
				`"tool_call","toolCallId":"1","title":"make","kind":"execute","status":"pending",` + text(`{\"comm`),
				update(`"status":"in_progress",` + text(`{\"command\":\"make\"}`)),
				update(`"status":"in_progress","rawInput":{"command":"make"},` + text(`{\"command\": \"make\"}`)),
			},
			"💻 make …",
		},
		"output that is JSON": {
			[]string{run("execute"), update(`"status":"in_progress",` + text(`{\"command\":\"other\"}`))},
			"💻 make …\n│ `{\"command\":\"other\"}`",
		},
		"not what a tool has found": {
			[]string{run("read"), update(`"status":"completed",` + text(`the file`))},
			"📖 make ✓\nWorking…",
		},
	} {
		t.Run(name, func(t *testing.T) {
			turn, r := acptest.NewTurn(t)
			v := New(turn, nil)
			for _, u := range c.updates {
				sendUpdate(v, `{"sessionUpdate":%s}`, u)
				v.EmitPending() // each update is shown
			}
			if got := r.Last(terminal.Progress); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
			for _, shown := range r.Texts(terminal.Progress) {
				if name == "input as content" && strings.Contains(shown, "comm") {
					t.Errorf("shown: %q", shown)
				}
			}
			closeView(t, v)
		})
	}
}
