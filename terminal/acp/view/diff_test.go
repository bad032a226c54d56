package view

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/internal/words"
	"nanobot/terminal"
	"nanobot/terminal/acp/acptest"
	"nanobot/terminal/process"
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
	want := "✏️ 3 files changed, +2 −1\n`src/a.go` · +1 −1\n`/else/n.md` · new · +1 −0\n````diff\n--- a/src/a.go\n+++ b/src/a.go\n@@ -1,2 +1,2 @@\n one\n-two\n+ii\n" +
		"--- /dev/null\n+++ b/else/n.md\n@@ -0,0 +1 @@\n+x```x\n\\ No newline at end of file\n````"
	if !strings.HasPrefix(fold.Details, want+"\n\n") {
		t.Errorf("details %q", fold.Details)
	}
}

// sendLongDiff reports changes of files whose diff has more than 4 KiB.
func sendLongDiff(v *View, dir string) {
	sendUpdate(v, `{"sessionUpdate":"tool_call","toolCallId":"2","status":"completed","content":[{"type":"diff","path":"%s/p/a","newText":"%s"},{"type":"diff","path":"%[1]s/p/b","oldText":"x","newText":"y"}]}`,
		dir, strings.Repeat("line\\n", 1000))
}

func TestALongDiffIsADocumentOfTheAnswer(t *testing.T) {
	t.Parallel()
	turn, r := acptest.NewTurn(t)
	v := New(turn, nil)
	sendLongDiff(v, turn.ExecEnv().Dir)
	sendChunk(v, "Done that.", "")
	closeView(t, v)
	said := r.Messages()
	if len(said) != 1 || said[0].Silent || said[0].Text != "Done that." || len(said[0].Media) != 1 {
		t.Fatalf("said %+v", said)
	}
	got := r.Files["changes.diff"]
	if strings.Count(got, "+line") != 1000 || !strings.HasPrefix(got, "--- /dev/null\n+++ b/p/a\n") ||
		!strings.Contains(got, "--- a/p/b\n+++ b/p/b\n@@ -1 +1 @@\n-x\n\\ No newline at end of file\n+y\n") {
		t.Errorf("file %q", got)
	}
	for _, path := range r.Paths {
		if _, err := os.Stat(filepath.Dir(path)); err == nil {
			t.Errorf("the folder of %s stays", path)
		}
	}
	fold := r.Fold(t)
	if want := "✏️ 2 files changed, +1001 −1\n`p/a` · new · +1000 −0\n`p/b` · +1 −1\n\n"; !strings.HasPrefix(fold.Details, want) || fold.Required {
		t.Errorf("the summary is %+v", fold)
	}
}

// noBoard is a chat in which the board of the turn was not sent.
type noBoard struct{ terminal.Chat }

func (noBoard) HasBoard() bool { return false }

func TestASmallDiffIsADocumentOfTheAnswerIfThereIsNoBoard(t *testing.T) {
	t.Parallel()
	turn, r := acptest.NewTurn(t)
	turn.Chat = noBoard{turn.Chat}
	v := New(turn, nil)
	sendUpdate(v, `{"sessionUpdate":"tool_call","toolCallId":"2","status":"completed","content":[{"type":"diff","path":"/p/b","oldText":"x","newText":"y"}]}`)
	sendChunk(v, "Done that.", "")
	closeView(t, v)
	if said := r.Messages(); len(said) != 1 || said[0].Text != "Done that." || len(said[0].Media) != 1 || r.Files["b.diff"] == "" {
		t.Errorf("said %+v", said)
	}
	if fold := r.Fold(t); fold.Required {
		t.Errorf("the summary is %+v", fold)
	}
}

func TestALongDiffOfAnAgentThatSaysNothingGoesWithWhatTheGatewaySays(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*terminal.FinalResponse){
		"its end":  func(e *terminal.FinalResponse) { e.SetEnd(terminal.Done, "Done.") },
		"an error": func(e *terminal.FinalResponse) { e.AddError(terminal.Frame{Text: "broken"}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			turn, r := acptest.NewTurn(t)
			v := New(turn, nil)
			sendLongDiff(v, turn.ExecEnv().Dir)
			e := terminal.NewFinalResponse(1000)
			end(e)
			e.FlushFirst(func(followed bool) error { return v.Close(followed, e) })
			musttest.Get(e.Emit(turn, terminal.AgentExit{Exit: process.Exit{Stderr: process.NewBounded(0, 0)}}))(t)
			said := slices.DeleteFunc(r.Frames, func(f terminal.Frame) bool { return f.Kind == terminal.Progress })
			if len(said) != 1 || said[0].Silent || said[0].Text == "" || len(said[0].Media) != 1 || r.Files["changes.diff"] == "" {
				t.Errorf("said %+v", said)
			}
			if _, err := os.Stat(filepath.Dir(r.Paths[0])); err == nil {
				t.Error("the folder of the diff stays")
			}
		})
	}
}

func TestADiffOfUpTo4KiBIsPartOfTheSummaryHoweverManyLinesItHas(t *testing.T) {
	t.Parallel()
	for lines, folded := range map[int]bool{1900: true, 2100: false} {
		turn, r := acptest.NewTurn(t)
		v := New(turn, nil)
		sendUpdate(v, `{"sessionUpdate":"tool_call","toolCallId":"2","status":"completed","content":[{"type":"diff","path":"/p/long.txt","newText":"%s"}]}`, strings.Repeat("\\n", lines))
		sendChunk(v, "Done that.", "")
		closeView(t, v)
		fold := r.Fold(t)
		if whole := strings.Count(fold.Details, "\n+") > lines; whole != folded || fold.Required != folded || (r.Files["long.txt.diff"] == "") != folded {
			t.Errorf("%d lines: %d bytes of details, required %v, files %d", lines, len(fold.Details), fold.Required, len(r.Files))
		}
	}
}

func TestPathsInsideTheWorkspaceAreShownRelativeToIt(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{
		{"/w", "Edit /w/src/a.go", "Edit src/a.go"},
		{"/w", "/w/a and `/w/b`", "a and `b`"},
		{"/w", "/home/w/a", "/home/w/a"},
		{"/w", "List /w/ deeply", "List /w/ deeply"},
		{"/w", "Edit /wide/a", "Edit /wide/a"},
		{"/", "Edit /src/a.go", "Edit /src/a.go"},
	} {
		wanttest.Equal(t, "shown is", relativeNames(c[0], c[1]), c[2])
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
