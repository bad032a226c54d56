package view

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/internal/words"
	"nanobot/terminal"
	"nanobot/terminal/acp/acptest"
)

func TestTextsThatAreTooLargeAreNotCompared(t *testing.T) {
	t.Parallel()
	huge := strings.Repeat("\n", maxDiff)
	if c := (FileDiff{Path: "/x", OldText: &huge, NewText: "y"}).render("/", words.Words{}); c.body != "" || !strings.Contains(c.summary, "too large") {
		t.Errorf("%d bytes under %q", len(c.body), c.summary)
	}
}

func TestChangesAreCountedOnTheBoardAndShownOnceAtTheEnd(t *testing.T) {
	t.Parallel()
	turn, r := acptest.NewTurn(t)
	dir := turn.ExecEnv().Dir
	v := New(turn, nil)
	content := fmt.Sprintf(`[{"type":"diff","path":"%s/src/a.go","oldText":"one\ntwo\n","newText":"one\n2\n"}]`, dir)
	sendUpdate(v, `{"sessionUpdate":"tool_call","toolCallId":"e","title":"Edit","kind":"edit","content":%s}`, content)
	v.EmitPending()
	if got := r.Last(terminal.Progress); strings.Contains(got, "changed") {
		t.Fatalf("before it is done: %q", got)
	}
	sendUpdate(v, `{"sessionUpdate":"tool_call_update","toolCallId":"e","status":"completed"}`)
	sendUpdate(v, `{"sessionUpdate":"tool_call_update","toolCallId":"e","status":"completed","content":%s}`, content) // some repeat it
	v.EmitPending()
	if got := r.Last(terminal.Progress); got != "✏️ Edit ✓\n✏️ 1 file changed, +1 −1\nWorking…" {
		t.Errorf("after one edit: %q", got)
	}
	sendUpdate(v, `{"sessionUpdate":"tool_call","toolCallId":"g","title":"Again","kind":"edit","status":"completed","content":[{"type":"diff","path":"%s/src/a.go","oldText":"one\n2\n","newText":"one\nii\n"}]}`, dir)
	sendUpdate(v, `{"sessionUpdate":"tool_call","toolCallId":"n","kind":"edit","status":"completed","content":[{"type":"diff","path":"/else/n.md","oldText":null,"newText":"x%sx"}]}`, "```")
	sendUpdate(v, `{"sessionUpdate":"tool_call","toolCallId":"f","kind":"edit","status":"failed","content":%s}`, content)
	sendUpdate(v, `{"sessionUpdate":"tool_call","toolCallId":"d","kind":"delete","status":"completed","locations":[{"path":"/gone"}]}`)
	sendChunk(v, "It is done.", "")
	closeView(t, v)
	if got := r.Texts(terminal.Message); fmt.Sprint(got) != "[It is done.]" || len(r.Files) != 0 {
		t.Errorf("said %q with %v", got, r.Files)
	}
	fold := r.Fold(t)
	if fold.Files != 3 || fold.Steps != 5 {
		t.Errorf("%d files, %d steps", fold.Files, fold.Steps)
	}
	want := "✏️ 3 files changed, +2 −1\n`src/a.go` · +1 −1\n`/else/n.md` · new · +1 −0\n````diff\n--- a" + dir + "/src/a.go\n+++ b" + dir + "/src/a.go\n@@ -1,2 +1,2 @@\n one\n-two\n+ii\n" +
		"--- /dev/null\n+++ b/else/n.md\n@@ -0,0 +1 @@\n+x```x\n\\ No newline at end of file\n````"
	if !strings.HasPrefix(fold.Details, want+"\n\n") {
		t.Errorf("details %q", fold.Details)
	}
}

func TestALongDiffIsOneSilentMessageWithAFileBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	turn, r := acptest.NewTurn(t)
	v := New(turn, nil)
	long := strings.Repeat("line\\n", 50)
	sendUpdate(v, `{"sessionUpdate":"tool_call","toolCallId":"2","status":"completed","content":[{"type":"diff","path":"/p/a","newText":"%s"},{"type":"diff","path":"/p/b","oldText":"x","newText":"y"}]}`, long)
	sendUpdate(v, `{"sessionUpdate":"tool_call","toolCallId":"3","status":"completed","content":[{"type":"diff","path":"/p/wide","newText":"%s"}]}`, strings.Repeat("w", 500))
	sendChunk(v, "Done that.", "")
	closeView(t, v)
	said := r.Messages()
	if len(said) != 2 || !said[0].Silent || said[1].Silent || said[1].Text != "Done that." || len(said[1].Media) != 0 {
		t.Fatalf("said %+v", said)
	}
	text, _, _ := strings.Cut(said[0].Text, "\n```diff\n")
	if text != "✏️ 3 files changed, +52 −1\n`/p/a` · new · +50 −0\n`/p/b` · +1 −1\n`/p/wide` · new · +1 −0" || strings.Count(said[0].Text, "+line") != diffExcerpt-3 {
		t.Errorf("said %q", said[0].Text)
	}
	got := r.Files["changes.diff"]
	if strings.Count(got, "+line") != 50 || strings.Count(got, "--- ") != 3 || !strings.Contains(got, strings.Repeat("w", 500)) ||
		!strings.Contains(got, "--- a/p/b\n+++ b/p/b\n@@ -1 +1 @@\n-x\n\\ No newline at end of file\n+y\n") {
		t.Errorf("file %q", got)
	}
	for _, path := range r.Paths {
		if _, err := os.Stat(filepath.Dir(path)); err == nil {
			t.Errorf("the folder of %s stays", path)
		}
	}
	if details := r.Fold(t).Details; strings.Contains(details, "+line") || !strings.HasPrefix(details, "✏️ 3 files changed, +52 −1\n\n") {
		t.Errorf("details %q", details)
	}
}

func TestADiffOfOneFileIsNamedAfterIt(t *testing.T) {
	t.Parallel()
	turn, r := acptest.NewTurn(t)
	v := New(turn, nil)
	sendUpdate(v, `{"sessionUpdate":"tool_call","toolCallId":"2","status":"completed","content":[{"type":"diff","path":"/p/long.txt","newText":"%s"}]}`, strings.Repeat("line\\n", 50))
	closeView(t, v)
	if got := r.Files["long.txt.diff"]; !strings.HasPrefix(got, "--- /dev/null\n+++ b/p/long.txt\n@@ -0,0 +1,50 @@\n+line\n") {
		t.Errorf("files %v", r.Files)
	}
}

func TestChangesBeyondTheLimitAreOnlyCounted(t *testing.T) {
	t.Parallel()
	c := changes{dir: "/"}
	text := strings.Repeat("x\n", 1<<20)
	for i := range 8 {
		c.add(FileDiff{Path: fmt.Sprintf("/%d", i), NewText: text})
	}
	if c.size > maxChanges {
		t.Errorf("%d bytes are stored", c.size)
	}
	if got := c.summary(); got != "✏️ 8 files changed, +8388608 −0" {
		t.Errorf("got %q", got)
	}
}
