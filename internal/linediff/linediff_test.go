package linediff_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"nanobot/internal/linediff"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

func TestADiffLeadsFromOneTextToTheOther(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	text := func() string {
		var s strings.Builder
		for range random.IntN(40) {
			s.WriteString([]string{"a", "b", "c", "", "- x", "\\", "+", "@@ -1 +1 @@", strconv.Itoa(random.IntN(40))}[random.IntN(9)])
			s.WriteByte('\n')
		}
		if random.IntN(3) == 0 {
			s.WriteString("no end")
		}
		return s.String()
	}
	for range 2000 {
		before, after := text(), text()
		diff := linediff.Compare(before, after)
		if got := patch(t, before, diff.Unified()); got != after {
			t.Fatalf("%q to %q became %q:\n%s", before, after, got, diff.Unified())
		}
		if lines := len(splitLines(after)) - len(splitLines(before)); diff.Added-diff.Removed != lines {
			t.Fatalf("%q to %q: %d added, %d removed", before, after, diff.Added, diff.Removed)
		}
	}
}

func splitLines(s string) []string { return slices.Collect(strings.Lines(s)) }

// patch applies a unified diff to a text, whose lines must be those of the diff.
func patch(t *testing.T, text, diff string) string {
	t.Helper()
	old := splitLines(text)
	var out []string
	at, op := 0, byte(0) // the next line of old, and what the line before did
	for line := range strings.Lines(diff) {
		switch line[0] {
		case '@':
			var start int
			if _, err := fmt.Sscanf(line, "@@ -%d", &start); err != nil {
				t.Fatal(line, err)
			}
			if !strings.Contains(line, ",0 +") {
				start--
			}
			out, at = append(out, old[at:start]...), start
		case '\\': // the line before it has no line end
			if last := len(out) - 1; op != '-' {
				out[last] = strings.TrimSuffix(out[last], "\n")
			}
		case '+':
			out = append(out, line[1:])
		default:
			if strings.TrimSuffix(old[at], "\n") != strings.TrimSuffix(line[1:], "\n") {
				t.Fatalf("line %d is %q, not %q:\n%s", at, old[at], line, diff)
			}
			if at++; line[0] == ' ' {
				out = append(out, line[1:])
			}
		}
		op = line[0]
	}
	return strings.Join(append(out, old[at:]...), "")
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
		"near hunks":     {numbers(1, 12), "x\n" + numbers(2, 6) + "y\n" + numbers(8, 12)},
		"far hunks":      {numbers(1, 12), "x\n" + numbers(2, 8) + "y\n" + numbers(10, 12)},
		"from empty":     {"", numbers(1, 3)},
		"to empty":       {numbers(1, 3), ""},
		"end of line":    {"a\nb", "a\nb\n"},
		"without an end": {"a\nb\n", "a\nc"},
	} {
		t.Run(name, func(t *testing.T) {
			hunks := map[string]int{"two hunks": 2, "far hunks": 2}[name]
			wanttest.Equal(t, "hunks:", strings.Count(linediff.Compare(c[0], c[1]).Unified(), "@@ -"), max(1, hunks))
			dir := t.TempDir()
			put := func(name, text string) {
				musttest.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
			}
			put("f", c[0])
			put("d", "--- a/f\n+++ b/f\n"+linediff.Compare(c[0], c[1]).Unified())
			apply := exec.Command("git", "apply", "--unidiff-zero", "d")
			apply.Dir = dir
			apply.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
			if out, err := apply.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s\n%s", err, out, linediff.Compare(c[0], c[1]).Unified())
			}
			if got, _ := os.ReadFile(filepath.Join(dir, "f")); string(got) != c[1] {
				t.Errorf("became %q", got)
			}
		})
	}
}

func TestHugeTextsAreComparedByTheirUniqueLines(t *testing.T) {
	var a, b strings.Builder
	const n = 60_000
	for i := range n {
		fmt.Fprintf(&a, "%d\nold %d\n", i, i)
		fmt.Fprintf(&b, "%d\nnew %d\n", i, i)
	}
	if d := linediff.Compare(a.String(), b.String()); d.Added != n || d.Removed != n {
		t.Errorf("%d added, %d removed", d.Added, d.Removed)
	}
}

func TestEqualTextsHaveNoDifference(t *testing.T) {
	for _, text := range []string{"", "a", "a\n"} {
		if d := linediff.Compare(text, text); d.Added+d.Removed != 0 || d.Unified() != "" {
			t.Errorf("%q: %+v", text, d)
		}
	}
}
