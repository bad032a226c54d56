package terminal_test

import (
	"strconv"
	"strings"
	"testing"

	"nanobot/internal/words"
	"nanobot/terminal"
)

func TestAnExcerptShowsBothEndsAndFoldsBlanks(t *testing.T) {
	long := strings.Repeat("x", 500)
	for name, c := range map[string]struct {
		text, want string
		whole      bool
	}{
		"short":                {"ls -l\n", "ls -l", true},
		"a few blanks":         {"if a\nthen\n\n    b\nfi", "if a\nthen\n\n    b\nfi", true},
		"long":                 {"begin " + long + " end", "begin " + long[:44] + "…\n(410 more bytes)\n…" + long[:46] + " end", false},
		"many spaces":          {"ls" + strings.Repeat(" ", 3000) + "; rm x", "ls (3000 blank characters) ; rm x", false},
		"many tabs":            {"ls" + strings.Repeat("\t", 3000) + "; rm x", "ls (3000 blank characters) ; rm x", false},
		"many lines":           {"ls" + strings.Repeat("\n", 3000) + "rm x", "ls\n(3000 blank characters)\nrm x", false},
		"lines of blanks":      {"ls" + strings.Repeat(" \t\n", 1000) + "  rm x", "ls\n(3002 blank characters)\nrm x", false},
		"signs without a look": {"ls\u2800\u3164\u202erm", "ls<U+2800><U+3164><U+202E>rm", true},
		"blanks of other kinds, which are long when they are visible": {
			strings.Repeat("\u00a0", 1000) + "; rm x", strings.Repeat("<U+00A0>", 6) + "<U…\n(7906 more bytes)\n…0A0>" + strings.Repeat("<U+00A0>", 5) + "; rm x", false,
		},
	} {
		if shown, whole := terminal.Excerpt(words.Words{}, c.text, 100); shown != c.want || whole != c.whole {
			t.Errorf("%s: %v %q\nnot %v %q", name, whole, shown, c.whole, c.want)
		}
	}
}

func TestAnAuditedCommandIsWholeUpToALimit(t *testing.T) {
	for _, text := range []string{"ls \"a\"\n\x1b[2J", strings.Repeat("x", 4<<10-2)} {
		if got, err := strconv.Unquote(terminal.AuditQuote(text)); err != nil || got != text {
			t.Errorf("%.80q is %.80q", text, got)
		}
	}
	got := terminal.AuditQuote("begin" + strings.Repeat("ä\n", 1<<20) + "end")
	if len(got) > 4<<10+100 || !strings.HasPrefix(got, `"begin`) || !strings.HasSuffix(got, `end"`) || !strings.Contains(got, "more bytes") || strings.ContainsAny(got, "\n\uFFFD") {
		t.Errorf("%d bytes: %.80s", len(got), got)
	}
}
