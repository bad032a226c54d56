package view

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nanobot/terminal"
	"nanobot/terminal/acp/acptest"
	"nanobot/terminal/jobs"
)

func TestToolCallsAreOneLineEach(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		updates []string
		want    string
	}{
		"running": {[]string{`"tool_call","toolCallId":"1","title":"Reading","kind":"read","status":"in_progress"`}, "📖 Reading …"},
		"done": {
			[]string{`"tool_call","toolCallId":"1","title":"Reading","kind":"read"`, `"tool_call_update","toolCallId":"1","status":"completed"`},
			"📖 Reading ✓\nWorking…",
		},
		"failed": {[]string{`"tool_call","toolCallId":"1","title":"go vet","kind":"execute","status":"failed"`}, "💻 go vet ✗\nWorking…"},
		"called twice": {
			[]string{`"tool_call","toolCallId":"1","title":"Terminal","kind":"execute"`, `"tool_call","toolCallId":"1","title":"go test"`},
			"💻 go test …",
		},
		"never called":      {[]string{`"tool_call_update","toolCallId":"1","status":"in_progress"`}, "🔧 tool …"},
		"an odd kind":       {[]string{`"tool_call","toolCallId":"1","title":"x","kind":"telepathy"`}, "🔧 x …"},
		"null leaves it":    {[]string{`"tool_call","toolCallId":"1","title":"x","kind":"edit"`, `"tool_call_update","toolCallId":"1","title":null,"kind":null,"status":null,"content":null`}, "✏️ x …"},
		"lines and escapes": {[]string{`"tool_call","toolCallId":"1","title":"a\n\tb \u001b[31mred\u001b[0m"`}, "🔧 a b red …"},
		"no Markdown":       {[]string{`"tool_call","toolCallId":"1","title":"ls *.go *.md"`}, "🔧 `ls *.go *.md` …"},
		"Markdown":          {[]string{"\"tool_call\",\"toolCallId\":\"1\",\"title\":\"run `ls *.go`\""}, "🔧 run `ls *.go` …"},
		"half of Markdown":  {[]string{"\"tool_call\",\"toolCallId\":\"1\",\"title\":\"run `ls\""}, "🔧 `run ls` …"},
		"only a place":      {[]string{`"tool_call","toolCallId":"1","title":"","kind":"read","locations":[{"path":"/a/b"}]`}, "📖 /a/b …"},
		"long":              {[]string{`"tool_call","toolCallId":"1","title":"` + strings.Repeat("ä", 300) + `"`}, "🔧 " + strings.Repeat("ä", 120) + "… …"},
		"a terminal of its own": {
			[]string{
				`"tool_call","toolCallId":"1","title":"make","kind":"execute","content":[{"type":"terminal","terminalId":"mine"}]`,
				`"tool_call_update","toolCallId":"1","_meta":{"terminal_output":{"terminal_id":"mine","data":"one\ntwo\n"}}`,
				`"tool_call_update","toolCallId":"1","_meta":{"terminal_output":{"terminal_id":"mine","data":"three\nfo"}}`,
				"\"tool_call_update\",\"toolCallId\":\"1\",\"_meta\":{\"terminal_output\":{\"terminal_id\":\"mine\",\"data\":\"`ur`\\n\\n\"}}",
			},
			"💻 make …\n│ `two`\n│ `three`\n│ `` fo`ur` ``",
		},
		"plan and tools": {
			[]string{
				`"plan","entries":[{"content":"old","status":"pending"}]`,
				`"plan","entries":[{"content":"look","status":"completed"},{"content":"do\nit","status":"in_progress"},{"content":"rest","status":"pending"}]`,
				`"tool_call","toolCallId":"1","title":"x"`, `"agent_thought_chunk","content":{"type":"text","text":"SECRET"}`,
			},
			"☑ look\n◐ do it\n☐ rest\n\n🔧 x …\n💭 Thinking…",
		},
		"an empty plan": {[]string{`"plan","entries":[{"content":"old"}]`, `"plan","entries":[]`, `"tool_call","toolCallId":"1","title":"x"`}, "🔧 x …"},
	} {
		t.Run(name, func(t *testing.T) {
			turn, r := acptest.NewTurn(t)
			v := New(turn, nil)
			for _, u := range c.updates {
				sendUpdate(v, `{"sessionUpdate":%s}`, u)
			}
			v.EmitPending()
			if got := r.Texts(terminal.Progress); len(got) != 1 || got[0] != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
			closeView(t, v)
			if got := r.Texts(terminal.Message); got != nil {
				t.Errorf("the turn ends with %q", got)
			}
		})
	}
}

func TestOldToolCallsAreSummedUpAndRunningOnesStay(t *testing.T) {
	t.Parallel()
	turn, r := acptest.NewTurn(t)
	v := New(turn, nil)
	sendUpdate(v, `{"sessionUpdate":"tool_call","toolCallId":"slow","title":"slow"}`)
	for i := range 1000 {
		sendUpdate(v, `{"sessionUpdate":"tool_call","toolCallId":"%d","title":"n%d","status":"completed"}`, i, i)
	}
	if n := len(v.board.tools); n > 256 {
		t.Errorf("%d tool calls are remembered", n)
	}
	closeView(t, v)
	want := []string{"… 993 earlier steps", "🔧 slow …"}
	for i := 993; i < 1000; i++ {
		want = append(want, fmt.Sprintf("🔧 n%d ✓", i))
	}
	if got := r.Last(terminal.Progress); got != strings.Join(want, "\n") {
		t.Errorf("got %s", got)
	}
}

func TestOfManyRunningToolCallsTheLastAreShown(t *testing.T) {
	t.Parallel()
	turn, r := acptest.NewTurn(t)
	v := New(turn, nil)
	for i := range 20 {
		status := "in_progress"
		if i == 19 {
			status = "completed"
		}
		sendUpdate(v, `{"sessionUpdate":"tool_call","toolCallId":"%d","title":"n%d","status":%q}`, i, i, status)
	}
	closeView(t, v)
	got := strings.Split(r.Last(terminal.Progress), "\n")
	if len(got) != 1+8 || got[0] != "… 12 earlier steps" || got[1] != "🔧 n11 …" || got[8] != "🔧 n18 …" {
		t.Errorf("got %q", got)
	}
}

func TestALongPlanShowsTheOpenSteps(t *testing.T) {
	t.Parallel()
	turn, r := acptest.NewTurn(t)
	v := New(turn, nil)
	var entries []string
	for i := range 40 {
		status := "pending"
		if i < 20 {
			status = "completed"
		}
		entries = append(entries, fmt.Sprintf(`{"content":"n%d","status":%q}`, i, status))
	}
	sendUpdate(v, `{"sessionUpdate":"plan","entries":[%s]}`, strings.Join(entries, ","))
	v.EmitPending()
	closeView(t, v)
	got := strings.Split(r.Last(terminal.Progress), "\n")
	if len(got) != 12+3 || got[0] != "☑ … 20 done" || got[1] != "☐ n20" || got[len(got)-2] != "… 8 more" || got[len(got)-1] != "Working…" {
		t.Errorf("got %q", got)
	}
}

func TestProgressIsPacedAndOnlyShownWhenItChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turn, r := acptest.NewTurn(t)
		v := New(turn, nil)
		for i := range 1000 {
			sendUpdate(v, `{"sessionUpdate":"tool_call","toolCallId":"t","title":"n%d"}`, i)
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Minute)
		if n := len(r.Texts(terminal.Progress)); n < 4 || n > 6 {
			t.Errorf("%d in a second", n)
		}
		if got := r.Last(terminal.Progress); got != "🔧 n999 …" {
			t.Errorf("last %q", got)
		}
		before := len(r.Frames)
		sendUpdate(v, `{"sessionUpdate":"tool_call","toolCallId":"t","title":"n999"}`)
		time.Sleep(time.Minute)
		if len(r.Frames) != before {
			t.Error("the same was shown again")
		}
		closeView(t, v)
	})
}

func TestARunningTerminalShowsItsLastLines(t *testing.T) {
	t.Parallel()
	turn, r := acptest.NewTurn(t)
	table := jobs.NewTable(jobs.Options{Dir: turn.ExecEnv().Dir, Roots: turn.ExecEnv().Roots, Shell: "/bin/sh"})
	defer table.Close()
	r.Shown = make(chan terminal.Frame, 1000)
	v := New(turn, table)
	id, err := table.Create(jobs.Command{Line: "seq 1 5; while ! [ -e go ]; do sleep 0.02; done; echo last; while ! [ -e on ]; do sleep 0.02; done; echo very last; exec sleep 60", Env: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	sendUpdate(v, `{"sessionUpdate":"tool_call","toolCallId":"t","title":"seq","kind":"execute","content":[{"type":"terminal","terminalId":%q}]}`, id)
	await := func(want string) {
		t.Helper()
		late := time.After(5 * time.Minute)
		for {
			select {
			case f := <-r.Shown:
				if f.Kind == terminal.Progress && f.Text == want {
					return
				}
			case <-late:
				t.Fatalf("never shown: %s\nbut %q", want, r.Texts(terminal.Progress))
			}
		}
	}
	touch := func(name string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(turn.ExecEnv().Dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	await("💻 seq …\n│ `3`\n│ `4`\n│ `5`")
	// The output appears on the board although the agent sends no update.
	touch("go")
	await("💻 seq …\n│ `4`\n│ `5`\n│ `last`")
	touch("on")
	await("💻 seq …\n│ `5`\n│ `last`\n│ `very last`")
	v.SaveTail(id)
	if err := table.Release(context.Background(), id); err != nil {
		t.Fatal(err)
	}
	sendUpdate(v, `{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"completed","content":[{"type":"content","content":{"type":"text","text":"x"}}]}`)
	await("💻 seq ✓\n│ `5`\n│ `last`\n│ `very last`\nWorking…")
	sendUpdate(v, `{"sessionUpdate":"tool_call","toolCallId":"u","title":"next"}`)
	await("💻 seq ✓\n🔧 next …")
	closeView(t, v)
}

func TestTheLastOutputOfATerminalIsShown(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(v *View, table *jobs.Table, id string){
		"though it is released at once": func(v *View, table *jobs.Table, id string) {
			v.SaveTail(id)
			_ = table.Release(context.Background(), id)
		},
		"though words take its place": func(v *View, _ *jobs.Table, _ string) {
			sendUpdate(v, `{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"completed","content":[{"type":"content","content":{"type":"text","text":"x"}}]}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			turn, r := acptest.NewTurn(t)
			table := jobs.NewTable(jobs.Options{Dir: turn.ExecEnv().Dir, Shell: "/bin/sh"})
			defer table.Close()
			v := New(turn, table)
			id, err := table.Create(jobs.Command{Line: "echo quick", Env: os.Environ()})
			if err != nil {
				t.Fatal(err)
			}
			sendUpdate(v, `{"sessionUpdate":"tool_call","toolCallId":"t","title":"q","content":[{"type":"terminal","terminalId":%q}]}`, id)
			if _, err := table.Wait(context.Background(), id); err != nil {
				t.Fatal(err)
			}
			end(v, table, id)
			closeView(t, v)
			if got := r.Last(terminal.Progress); !strings.HasSuffix(got, "\n│ `quick`") {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestResultsOfAToolAreSentOnceAndItsReadFilesAreNot(t *testing.T) {
	t.Parallel()
	turn, r := acptest.NewTurn(t)
	v := New(turn, nil)
	image := fmt.Sprintf(`[{"type":"content","content":{"type":"text","text":"here"}},{"type":"content","content":{"type":"image","mimeType":"image/png","data":%q}}]`,
		base64.StdEncoding.EncodeToString([]byte("PIXELS")))
	sendUpdate(v, `{"sessionUpdate":"tool_call","toolCallId":"r","kind":"read","status":"completed","content":%s}`, image)
	flushed := func(want int) {
		t.Helper()
		v.EmitPending()
		if got := len(r.Texts(terminal.Message)); got != want {
			t.Errorf("%d messages, not %d", got, want)
		}
	}
	flushed(0)
	sendUpdate(v, `{"sessionUpdate":"tool_call","toolCallId":"d","title":"draw","content":%s}`, image)
	flushed(0) // not yet done
	sendUpdate(v, `{"sessionUpdate":"tool_call_update","toolCallId":"d","status":"completed"}`)
	flushed(1)
	sendUpdate(v, `{"sessionUpdate":"tool_call_update","toolCallId":"d","status":"completed","content":%s}`, image)
	flushed(1)
	sendUpdate(v, `{"sessionUpdate":"tool_call","toolCallId":"f","status":"failed","content":%s}`, image)
	flushed(1)
	closeView(t, v)
	if r.Files["image.png"] != "PIXELS" {
		t.Errorf("files %v", r.Files)
	}
}
