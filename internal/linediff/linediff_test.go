package linediff

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
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
		diff := Compare(before, after)
		edits := diff.edits
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
		if diff.Added+diff.Removed != changed || diff.Added-diff.Removed != len(splitLines(after))-len(splitLines(before)) {
			t.Fatalf("%q to %q: %d added, %d removed", before, after, diff.Added, diff.Removed)
		}
		if a.String() != before || b.String() != after {
			t.Fatalf("%q to %q: %v", before, after, edits)
		}
		if least := countLeastEdits(splitLines(before), splitLines(after)); changed != least {
			t.Fatalf("%q to %q: %d edits, %d would do", before, after, changed, least)
		}
	}
}

// countLeastEdits returns the number of edits in a shortest diff, by the longest common
// subsequence.
func countLeastEdits(a, b []string) int {
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

func TestGitAppliesAUnifiedDiff(t *testing.T) {
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
			if got := strings.Count(Compare(c[0], c[1]).Unified(), "@@ -"); got != max(1, hunks) {
				t.Errorf("%d hunks", got)
			}
			dir := t.TempDir()
			put := func(name, text string) {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			put("f", c[0])
			put("d", "--- a/f\n+++ b/f\n"+Compare(c[0], c[1]).Unified())
			apply := exec.Command("git", "apply", "--unidiff-zero", "d")
			apply.Dir = dir
			apply.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
			if out, err := apply.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s\n%s", err, out, Compare(c[0], c[1]).Unified())
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
	edits := Compare("same\n"+a.String()+"end\n", "same\n"+b.String()+"end\n").edits
	if len(edits) != 120_002 || edits[0].op != ' ' || edits[1].op != '-' || edits[60_001].op != '+' || edits[120_001].op != ' ' {
		t.Errorf("%d edits", len(edits))
	}
	// Equal lines are not searched for between too many lines that differ.
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
	if same := count(Compare(c.String(), d.String()).edits); same != 1 {
		t.Errorf("%d lines were found to be the same", same)
	}
	if same := count(Compare("a\n"+a.String()+"b\n", "A\n"+a.String()+"B\n").edits); same != 0 {
		t.Errorf("%d lines were found to be the same", same)
	}
}
