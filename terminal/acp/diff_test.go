package acp

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/terminal"
)

func TestADiffLeadsFromOneTextToTheOther(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	text := func() string {
		var s strings.Builder
		for range random.IntN(40) {
			s.WriteString([]string{"a", "b", "c", "", "- x", "\\"}[random.IntN(6)])
			s.WriteByte('\n')
		}
		if random.IntN(3) == 0 {
			s.WriteString("no end")
		}
		return s.String()
	}
	for range 2000 {
		before, after := text(), text()
		edits := diffLines(before, after)
		var a, b strings.Builder
		changed := 0
		for _, e := range edits {
			if e.op != '+' {
				a.WriteString(e.line)
			}
			if e.op != '-' {
				b.WriteString(e.line)
			}
			if e.op != ' ' {
				changed++
			}
		}
		if a.String() != before || b.String() != after {
			t.Fatalf("%q to %q: %v", before, after, edits)
		}
		if least := leastEdits(splitLines(before), splitLines(after)); changed != least {
			t.Fatalf("%q to %q: %d edits, %d would do", before, after, changed, least)
		}
	}
}

// leastEdits counts what a shortest diff has, by the longest common subsequence.
func leastEdits(a, b []string) int {
	row := make([]int, len(b)+1)
	for _, x := range a {
		diagonal := 0
		for j, y := range b {
			next := row[j+1]
			if x == y {
				row[j+1] = diagonal + 1
			} else {
				row[j+1] = max(row[j+1], row[j])
			}
			diagonal = next
		}
	}
	return len(a) + len(b) - 2*row[len(b)]
}

func TestAUnifiedDiffIsWhatToolsUnderstand(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git, which is to apply the diff, is not here")
	}
	numbers := func(from, to int) (s string) {
		for i := from; i <= to; i++ {
			s += fmt.Sprintln(i)
		}
		return s
	}
	for name, c := range map[string][2]string{
		"one line":       {numbers(1, 20), numbers(1, 9) + "ten\n" + numbers(11, 20)},
		"two hunks":      {numbers(1, 30), "0\n" + numbers(1, 29)},
		"near hunks":     {numbers(1, 12), "x\n" + numbers(2, 7) + "y\n" + numbers(9, 12)},
		"far hunks":      {numbers(1, 12), "x\n" + numbers(2, 8) + "y\n" + numbers(10, 12)},
		"from empty":     {"", numbers(1, 3)},
		"to empty":       {numbers(1, 3), ""},
		"end of line":    {"a\nb", "a\nb\n"},
		"without an end": {"a\nb\n", "a\nc"},
	} {
		t.Run(name, func(t *testing.T) {
			hunks := map[string]int{"two hunks": 2, "far hunks": 2}[name]
			if got := strings.Count(unified(diffLines(c[0], c[1])), "@@ -"); got != max(1, hunks) {
				t.Errorf("%d hunks", got)
			}
			dir := t.TempDir()
			put := func(name, text string) {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			put("f", c[0])
			put("d", "--- a/f\n+++ b/f\n"+unified(diffLines(c[0], c[1])))
			apply := exec.Command("git", "apply", "--unidiff-zero", "d")
			apply.Dir = dir
			apply.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
			if out, err := apply.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s\n%s", err, out, unified(diffLines(c[0], c[1])))
			}
			if got, _ := os.ReadFile(filepath.Join(dir, "f")); string(got) != c[1] {
				t.Errorf("became %q", got)
			}
		})
	}
}

func TestHugeTextsAreComparedWithBoundedEffort(t *testing.T) {
	var a, b strings.Builder
	for i := range 60_000 {
		fmt.Fprintf(&a, "old %d\n", i)
		fmt.Fprintf(&b, "new %d\n", i)
	}
	edits := diffLines("same\n"+a.String()+"end\n", "same\n"+b.String()+"end\n")
	if len(edits) != 120_002 || edits[0].op != ' ' || edits[1].op != '-' || edits[60_001].op != '+' || edits[120_001].op != ' ' {
		t.Errorf("%d edits", len(edits))
	}
	// Lines that are the same are not looked for between too many that are not.
	count := func(edits []edit) (same int) {
		for _, e := range edits {
			if e.op == ' ' {
				same++
			}
		}
		return same
	}
	var c, d strings.Builder
	for i := range maxEdits {
		fmt.Fprintf(&c, "%d\nold %d\n", i, i)
		fmt.Fprintf(&d, "%d\nnew %d\n", i, i)
	}
	if same := count(diffLines(c.String(), d.String())); same != 1 {
		t.Errorf("%d lines were found to be the same", same)
	}
	if same := count(diffLines("a\n"+a.String()+"b\n", "A\n"+a.String()+"B\n")); same != 0 {
		t.Errorf("%d lines were found to be the same", same)
	}
	huge := strings.Repeat("\n", maxDiff)
	if c := (fileDiff{Path: "/x", OldText: &huge, NewText: "y"}).compare("/"); c.body != "" || !strings.Contains(c.head, "too large") {
		t.Errorf("%d bytes under %q", len(c.body), c.head)
	}
}

func TestAFinishedEditIsShownAsADiff(t *testing.T) {
	turn, r := newChat(t)
	dir := turn.Place.Dir
	v := newView(turn, nil)
	content := fmt.Sprintf(`[{"type":"diff","path":"%s/src/a.go","oldText":"one\ntwo\n","newText":"one\n2\n"}]`, dir)
	chunk(v, "I edit.", "")
	send(v, `{"sessionUpdate":"tool_call","toolCallId":"e","title":"Edit","kind":"edit","content":%s}`, content)
	v.pause()
	if got := r.texts(terminal.Message); len(got) != 1 {
		t.Fatalf("before it is done: %q", got)
	}
	send(v, `{"sessionUpdate":"tool_call_update","toolCallId":"e","status":"completed"}`)
	send(v, `{"sessionUpdate":"tool_call_update","toolCallId":"e","status":"completed","content":%s}`, content) // some repeat it
	send(v, `{"sessionUpdate":"tool_call","toolCallId":"n","kind":"edit","status":"completed","content":[{"type":"diff","path":"/else/n.md","oldText":null,"newText":"x%sx"}]}`, "```")
	send(v, `{"sessionUpdate":"tool_call","toolCallId":"f","kind":"edit","status":"failed","content":%s}`, content)
	send(v, `{"sessionUpdate":"tool_call","toolCallId":"w","kind":"edit","content":[{"type":"diff","path":"/w","newText":"w\n"}]}`)
	send(v, `{"sessionUpdate":"tool_call_update","toolCallId":"w","status":"completed","content":[{"type":"content","content":{"type":"text","text":"done"}}]}`)
	flush(t, v)
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
	turn, r := newChat(t)
	v := newView(turn, nil)
	long := strings.Repeat("line\\n", 50)
	send(v, `{"sessionUpdate":"tool_call","toolCallId":"e","status":"completed","content":[{"type":"diff","path":"/p/long.txt","newText":"%s"}]}`, long)
	send(v, `{"sessionUpdate":"tool_call","toolCallId":"2","status":"completed","content":[{"type":"diff","path":"/p/a","newText":"%s"},{"type":"diff","path":"/p/b","oldText":"x","newText":"y"}]}`, long)
	send(v, `{"sessionUpdate":"tool_call","toolCallId":"3","status":"completed","content":[{"type":"diff","path":"/p/wide","newText":"%s"}]}`, strings.Repeat("w", 500))
	flush(t, v)
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
