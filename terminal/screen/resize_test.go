package screen_test

import (
	"fmt"
	"strings"
	"testing"

	"nanobot/internal/wanttest"
	"nanobot/terminal/screen"
)

func TestAResizeWrapsLinesAgain(t *testing.T) {
	s := screen.New(10, 4)
	writeText(t, s, "abcdefghijklmno\r\nxyz\r\n日本語日本語\x1b[31mred")
	s.Resize(5, 4)
	if got, want := s.Buffer(), "abcde\nfghij\nklmno\nxyz\n日本\n語日\n本語r\ned"; got != want {
		t.Errorf("at 5 columns:\n%s\nwant\n%s", got, want)
	}
	wanttest.Equal(t, "the colour is", s.Snapshot().Lines[2][1].Style.Foreground, screen.Palette(1))
	s.Resize(20, 4)
	if got, want := s.Buffer(), "abcdefghijklmno\nxyz\n日本語日本語red"; got != want {
		t.Errorf("at 20 columns:\n%s\nwant\n%s", got, want)
	}
	writeText(t, s, "!")
	if !strings.HasSuffix(s.Text(), "red!") {
		t.Errorf("the cursor is not behind the text:\n%s", s.Text())
	}
}

func TestAResizeKeepsTheLineOfTheCursor(t *testing.T) {
	numbers := "1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7\r\n8"
	for name, c := range map[string]struct {
		output         string
		cols, rows     int
		text, position string
	}{
		"smaller, at the end": {numbers, 10, 2, "7\n8", "1,1"},
		"larger, at the end":  {numbers, 10, 7, "2\n3\n4\n5\n6\n7\n8", "1,6"},
		"larger, with room":   {"1\r\n2", 10, 7, "1\n2", "1,1"},
		"smaller, with room":  {"1\r\n2", 10, 3, "1\n2", "1,1"},
		"smaller, at the top": {numbers + "\x1b[H", 10, 2, "5\n6", "0,0"},
		"after a clear":       {numbers + "\x1b[H\x1b[2J$ ", 12, 8, "$", "2,0"},
		"behind the last column": {
			strings.Repeat("x", 9) + "y", 12, 4, "xxxxxxxxxy", "10,0",
		},
		"beyond the text": {"ab\x1b[1;9H", 5, 4, "ab", "4,0"},
		"inside a wrapped line": {
			strings.Repeat("x", 10) + "abcdef\x1b[2;3H", 4, 4, "xxxx\nxxxx\nxxab\ncdef", "0,3",
		},
		"between wide characters": {"日本語日\x1b[1;5H", 3, 4, "日\n本\n語\n日", "0,2"},
		"with blanks that were written": {
			"ab" + strings.Repeat(" ", 8) + "cd", 20, 4, "ab        cd", "12,0",
		},
		"with marks": {
			"e\u0301o\u0308 日\u0301", 3, 4, "e\u0301o\u0308\n日\u0301", "2,1",
		},
		"with a line whose end is erased": {
			strings.Repeat("x", 12) + "\x1b[1;3H\x1b[K", 20, 4, "xx\nxx", "2,0",
		},
	} {
		s := screen.New(10, 4)
		writeText(t, s, c.output)
		s.Resize(c.cols, c.rows)
		wanttest.Equal(t, name+":", s.Text(), c.text)
		wanttest.Equal(t, name+": cursor at", cursorPosition(s), c.position)
		checkSnapshot(t, s)
	}
}

func TestAResizeCutsTheAlternateScreen(t *testing.T) {
	s := screen.New(10, 4)
	writeText(t, s, "0123456789ab\r\n$ \x1b[?1049h\x1b[H1aaaaaaaa\r\n2bbbbbbb日\r\n3\r\n4")
	s.Resize(9, 3)
	wanttest.Equal(t, "alternate screen:", s.Text(), "2bbbbbbb\n3\n4")
	s.Resize(12, 5)
	wanttest.Equal(t, "larger:", s.Text(), "2bbbbbbb\n3\n4")
	writeText(t, s, "\x1b[?1049lx")
	wanttest.Equal(t, "main screen:", s.Text(), "0123456789ab\n$ x")
	checkSnapshot(t, s)
}

// TestAResizeOnTheAlternateScreenLosesNothing shows the alternate screen without saving the cursor.
func TestAResizeOnTheAlternateScreenLosesNothing(t *testing.T) {
	s := screen.New(10, 4)
	writeText(t, s, "1\r\n2\r\n3\r\n4\x1b[?47h\x1b[H")
	s.Resize(10, 2)
	writeText(t, s, "\x1b[?47l")
	wanttest.Equal(t, "got", s.Buffer(), "1\n2\n3\n4")
}

func TestAResizeExtendsTabStops(t *testing.T) {
	s := screen.New(10, 4)
	writeText(t, s, "\x1b[3g\x1b[1;4H\x1bH\r")
	s.Resize(30, 4)
	writeText(t, s, "\ta\tb")
	wanttest.Equal(t, "got", s.Text(), "   a            b")
}

// TestResizesLookAsInTmux only shrinks and grows screens that are full, because tmux keeps blank
// lines at the bottom and may lose the cursor's line.
func TestResizesLookAsInTmux(t *testing.T) {
	o := newOracle(t)
	var text strings.Builder
	for i := range 60 {
		fmt.Fprintf(&text, "\x1b[3%dm%d: %s\r\n", i%8, i, strings.Repeat("wörter ", i%17))
	}
	text.WriteString("$ prompt")
	p := o.pane(40, 10)
	if d := p.write([]byte(text.String())); d != "" {
		t.Fatal(d)
	}
	sizes := [][2]int{{30, 10}, {55, 10}, {55, 20}, {21, 20}, {21, 7}, {100, 7}, {40, 10}}
	for _, size := range sizes {
		cols, rows := fmt.Sprint(size[0]), fmt.Sprint(size[1])
		o.run(nil, "resize-window", "-t", p.id, "-x", cols, "-y", rows)
		p.screen.Resize(size[0], size[1])
		if d := p.compare(nil); d != "" {
			t.Fatalf("%v: %s", size, d)
		}
	}
}
