package blocks_test

import (
	"fmt"
	"strings"
	"testing"

	"nanobot/internal/lineartest"
	"nanobot/terminal/blocks"
)

func TestLinesAreReplaced(t *testing.T) {
	for _, row := range []struct {
		content    string
		start, end int
		body, want string
	}{
		{"a\nb\nc\n", 2, 2, "x", "a\nx\nc\n"},
		{"a\nb\nc\n", 1, 1, "x", "x\nb\nc\n"},
		{"a\nb\nc\n", 3, 3, "x", "a\nb\nx\n"},
		{"a\nb\nc\n", 1, 3, "x", "x\n"},
		{"a\nb\nc\n", 2, 3, "x\ny\nz", "a\nx\ny\nz\n"},
		{"a\nb\nc\n", 2, 99, "x", "a\nx\n"},
		{"a\nb\nc\n", 2, 2147483647, "x", "a\nx\n"},
		{"a\nb\nc\n", 2, 2, "", "a\n\nc\n"},
		{"a\nb\nc\n", 1, 3, "", "\n"},
		{"a\nb\nc\n", 2, 2, "x\n", "a\nx\n\nc\n"},
		{"a\nb\nc\n", 2, 2, "\n", "a\n\n\nc\n"},
		{"a\nb\nc", 3, 3, "x", "a\nb\nx\n"},
		{"a\nb\nc", 1, 1, "x", "x\nb\nc\n"},
		{"a", 1, 1, "x\ny", "x\ny\n"},
		{"\n", 1, 1, "x", "x\n"},
		{"\n\n", 2, 2, "x", "\nx\n"},
		{"a\r\nb\r\nc\r\n", 2, 2, "x\ny", "a\r\nx\r\ny\r\nc\r\n"},
		{"a\r\nb\r\nc", 1, 1, "x", "x\r\nb\r\nc\r\n"},
		{"a\r\nb", 2, 2, "", "a\r\n\r\n"},
		{"a\rb\rc", 2, 2, "x\ny", "a\rx\ry\rc\r"},
		{"a\nb\r\nc\rd\r\n", 3, 3, "x", "a\nb\r\nx\nd\r\n"},
		{"a\r\nb\nc\n", 2, 2, "x\ny", "a\r\nx\r\ny\r\nc\n"},
		{"a\r\r\nb", 2, 2, "x", "a\rx\rb\r"},
		{"x\ny\rz\n", 3, 3, "", "x\ny\r\r\n"},
		{"a\rb\n\nc", 2, 2, "x", "a\rx\r\n\nc\r"},
		{"\xff\xfe\nb\x00\u2028\n", 2, 2, "\xff", "\xff\xfe\n\xff\n"},
		{"\ufeffa\nb\n", 2, 2, "x", "\ufeffa\nx\n"},
		{"a\u2028b\vc\u0085d\ne\n", 2, 2, "x", "a\u2028b\vc\u0085d\nx\n"},
	} {
		got, n, ok := blocks.ReplaceLines([]byte(row.content), row.start, row.end, row.body)
		if string(got) != row.want || !ok {
			t.Errorf("%q, %d-%d, %q: %q of %d lines, %v, want %q", row.content, row.start, row.end, row.body, got, n, ok, row.want)
		}
	}
}

func TestARangeOutsideOfTheContentIsInvalid(t *testing.T) {
	for content, lines := range map[string]int{
		"": 0, "a": 1, "\n": 1, "a\n": 1, "a\r\n": 1, "a\r": 1, "a\nb": 2, "a\n\n": 2, "a\r\n\r\n": 2, "\r\r": 2, "\n\r": 2, "\r\n\r": 2, "a\rb\r\nc\nd": 4,
	} {
		for _, r := range [][2]int{{0, 1}, {-1, 1}, {0, 0}, {1, 0}, {2, 1}, {1, -5}, {lines + 1, lines + 1}, {lines + 1, 99}, {2147483647, 2147483647}, {-2147483648, -2147483648}} {
			if got, n, ok := blocks.ReplaceLines([]byte(content), r[0], r[1], "x"); ok || n != lines || got != nil {
				t.Errorf("%q, %d-%d: %q of %d lines, %v, want an invalid range of %d lines", content, r[0], r[1], got, n, ok, lines)
			}
		}
	}
}

// TestLinesOutsideOfTheRangeStay replaces every range of a content, with each kind of newline.
func TestLinesOutsideOfTheRangeStay(t *testing.T) {
	for _, newline := range []string{"\n", "\r\n", "\r"} {
		content := []byte(strings.ReplaceAll("a\n\nb\n  c\n\n", "\n", newline))
		lines := []string{"a", "", "b", "  c", ""}
		for start := 1; start <= 5; start++ {
			for end := start; end <= 5; end++ {
				want := fmt.Sprint(strings.Join(append(append(append([]string{}, lines[:start-1]...), "x", "y"), lines[end:]...), newline), newline)
				if got, _, ok := blocks.ReplaceLines(content, start, end, "x\ny"); string(got) != want || !ok {
					t.Errorf("%d-%d: %q, want %q", start, end, got, want)
				}
			}
		}
	}
}

func TestReplacingLinesTakesLinearTime(t *testing.T) {
	for _, piece := range []string{"\n", "\r", "\r\n", "a", "a\n"} {
		lineartest.Check(t, piece, 1<<18, func(n int) {
			content := strings.Repeat(piece, n/len(piece))
			blocks.ReplaceLines([]byte(content), 1, 1, content)
		})
	}
}
