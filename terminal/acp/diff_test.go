package acp

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/terminal"
)

func TestTextsThatAreTooLargeAreNotCompared(t *testing.T) {
	huge := strings.Repeat("\n", maxDiff)
	if c := (fileDiff{Path: "/x", OldText: &huge, NewText: "y"}).render("/"); c.body != "" || !strings.Contains(c.summary, "too large") {
		t.Errorf("%d bytes under %q", len(c.body), c.summary)
	}
}

func TestAFinishedEditIsShownAsADiff(t *testing.T) {
	turn, r := newTurn(t)
	dir := turn.ExecEnv.Dir
	v := newView(turn, nil)
	content := fmt.Sprintf(`[{"type":"diff","path":"%s/src/a.go","oldText":"one\ntwo\n","newText":"one\n2\n"}]`, dir)
	sendChunk(v, "I edit.", "")
	sendUpdate(v, `{"sessionUpdate":"tool_call","toolCallId":"e","title":"Edit","kind":"edit","content":%s}`, content)
	v.emitPending()
	if got := r.texts(terminal.Message); len(got) != 1 {
		t.Fatalf("before it is done: %q", got)
	}
	sendUpdate(v, `{"sessionUpdate":"tool_call_update","toolCallId":"e","status":"completed"}`)
	sendUpdate(v, `{"sessionUpdate":"tool_call_update","toolCallId":"e","status":"completed","content":%s}`, content) // some repeat it
	sendUpdate(v, `{"sessionUpdate":"tool_call","toolCallId":"n","kind":"edit","status":"completed","content":[{"type":"diff","path":"/else/n.md","oldText":null,"newText":"x%sx"}]}`, "```")
	sendUpdate(v, `{"sessionUpdate":"tool_call","toolCallId":"f","kind":"edit","status":"failed","content":%s}`, content)
	sendUpdate(v, `{"sessionUpdate":"tool_call","toolCallId":"w","kind":"edit","content":[{"type":"diff","path":"/w","newText":"w\n"}]}`)
	sendUpdate(v, `{"sessionUpdate":"tool_call_update","toolCallId":"w","status":"completed","content":[{"type":"content","content":{"type":"text","text":"done"}}]}`)
	closeView(t, v)
	want := []string{
		"I edit.",
		"✏️ `src/a.go` · +1 −1\n```diff\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n```",
		"✏️ `/else/n.md` · new · +1 −0\n````diff\n@@ -0,0 +1 @@\n+x```x\n\\ No newline at end of file\n````",
		"✏️ `/w` · new · +1 −0\n```diff\n@@ -0,0 +1 @@\n+w\n```",
	}
	if got := r.texts(terminal.Message); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %q", got)
	}
	if len(r.files) != 0 {
		t.Errorf("files %v", r.files)
	}
}

func TestALongDiffIsAlsoAFile(t *testing.T) {
	turn, r := newTurn(t)
	v := newView(turn, nil)
	long := strings.Repeat("line\\n", 50)
	sendUpdate(v, `{"sessionUpdate":"tool_call","toolCallId":"e","status":"completed","content":[{"type":"diff","path":"/p/long.txt","newText":"%s"}]}`, long)
	sendUpdate(v, `{"sessionUpdate":"tool_call","toolCallId":"2","status":"completed","content":[{"type":"diff","path":"/p/a","newText":"%s"},{"type":"diff","path":"/p/b","oldText":"x","newText":"y"}]}`, long)
	sendUpdate(v, `{"sessionUpdate":"tool_call","toolCallId":"3","status":"completed","content":[{"type":"diff","path":"/p/wide","newText":"%s"}]}`, strings.Repeat("w", 500))
	closeView(t, v)
	if got := r.files["wide.diff"]; !strings.Contains(got, strings.Repeat("w", 500)) || strings.Contains(r.last(terminal.Message), strings.Repeat("w", 300)) {
		t.Errorf("a wide line: file %q", got)
	}
	text, _, _ := strings.Cut(r.texts(terminal.Message)[0], "\n```diff\n")
	if n := strings.Count(r.texts(terminal.Message)[0], "+line"); text != "✏️ `/p/long.txt` · new · +50 −0" || n != diffExcerpt-1 {
		t.Errorf("%q, %d lines", text, n)
	}
	if got := r.files["long.txt.diff"]; !strings.HasPrefix(got, "--- /dev/null\n+++ b/p/long.txt\n@@ -0,0 +1,50 @@\n+line\n") || strings.Count(got, "+line") != 50 {
		t.Errorf("file %q", got)
	}
	if got := r.files["changes.diff"]; strings.Count(got, "--- ") != 2 || !strings.HasSuffix(got, "--- a/p/b\n+++ b/p/b\n@@ -1 +1 @@\n-x\n\\ No newline at end of file\n+y\n\\ No newline at end of file\n") {
		t.Errorf("file %q", got)
	}
	left, _ := filepath.Glob(filepath.Join(turn.Envelope.UserDataDir, "*"))
	hidden, _ := filepath.Glob(filepath.Join(turn.Envelope.UserDataDir, ".*"))
	if len(left)+len(hidden) != 0 {
		t.Errorf("left behind: %v %v", left, hidden)
	}
}
