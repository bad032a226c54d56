package screen_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"nanobot/internal/wanttest"
	"nanobot/terminal/screen"
)

func TestAControlStringEndsAtTheNextEscape(t *testing.T) {
	for _, start := range []string{"\x1b]0;", "\x1bP1;2q", "\x1b_", "\x1b^", "\x1bX", "\x1bk"} {
		for end, want := range map[string]string{
			"\x18":      "ok",
			"\x1a":      "ok",
			"\x1b[1;3H": "  ok",
			"\x1b\\":    "ok",
			"\x1bc":     "ok",
			"\x1b]2;":   "",
		} {
			s := screenAfter(t, start+"lost\r\n\xff日\x00\x7f"+end+"ok")
			if got := s.Text(); got != want {
				t.Errorf("%q, then %q: %q, want %q", start, end, got, want)
			}
		}
	}
}

func TestAControlStringThatIsNeverClosedIsBounded(t *testing.T) {
	for _, start := range []string{"\x1b]0;", "\x1bP", "\x1b_"} {
		s := screenAfter(t, start)
		part := strings.Repeat("x", 1<<16)
		before := heapBytes()
		for range 15 {
			writeText(t, s, part)
		}
		if grown := heapBytes() - before; grown > 1<<15 {
			t.Errorf("%q: the heap grew by %d bytes", start, grown)
		}
		wanttest.Equal(t, start+": a string of less than 1 MiB shows", s.Text(), "")
		writeText(t, s, part+"\r\nok")
		if got := s.Text(); !strings.HasSuffix(got, "\nok") {
			t.Errorf("%q: after 1 MiB there is %q", start, got)
		}
	}
}

func TestParametersAreBounded(t *testing.T) {
	huge := strings.Repeat("9", 100)
	for output, want := range map[string]string{
		"\x1b[" + huge + "C":                                "19,0",
		"\x1b[" + huge + ";" + huge + "H":                   "19,4",
		"\x1b[2;2H\x1b[" + huge + "A\x1b[" + huge + "D":     "0,0",
		"\x1b[" + strings.Repeat("1;", 1000) + "5H":         "0,0",
		"\x1b[" + strings.Repeat("1:", 1000) + "5m":         "0,0",
		"\x1b[" + strings.Repeat(" ", 1000) + "H":           "0,0",
		"\x1b" + strings.Repeat("(", 1000) + "0":            "0,0",
		"x\x1b[" + huge + "b":                               "19,0",
		"\x1b[" + huge + "L\x1b[" + huge + "M":              "0,0",
		"\x1b[" + huge + "S\x1b[" + huge + "T":              "0,0",
		"\x1b[" + huge + "@\x1b[" + huge + "P":              "0,0",
		"\x1b[" + huge + "X\x1b[" + huge + "I":              "19,0",
		"\x1b[5;5H\x1b[" + huge + "Z":                       "0,4",
		"\x1b[" + huge + "r\x1b[" + huge + ";" + huge + "r": "0,0",
	} {
		if got := cursorPosition(screenAfter(t, output)); got != want {
			t.Errorf("%.40q: the cursor is at %s, want %s", output, got, want)
		}
	}
}

func TestCombiningMarksAreBounded(t *testing.T) {
	s := screenAfter(t, "e"+strings.Repeat("\u0301", 10_000)+"x")
	got := s.Text()
	if len(got) > 40 || !strings.HasPrefix(got, "e\u0301") || !strings.HasSuffix(got, "x") {
		t.Errorf("%d bytes: %.60q", len(got), got)
	}
}

// TestShownCombiningMarksAreNotDropped overwrites characters with combining marks so often that
// clusters which are no longer shown are dropped.
func TestShownCombiningMarksAreNotDropped(t *testing.T) {
	s := screenAfter(t, "a\u0301\x1b[?1049hb\u0302\r\n")
	before := heapBytes()
	for i := range 20_000 {
		writeText(t, s, fmt.Sprintf("\r%c\u0308", 'c'+i%20))
	}
	if grown := heapBytes() - before; grown > 1<<18 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
	wanttest.Equal(t, "the alternate screen is", s.Text(), " b\u0302\nv\u0308")
	writeText(t, s, "\x1b[?1049l")
	wanttest.Equal(t, "the main screen is", s.Text(), "a\u0301")
}

func TestAScreenTakesLittleMemory(t *testing.T) {
	before := heapBytes()
	s := screen.New(160, 40)
	writeText(t, s, "\x1b[?1049h\x1b[?1049l")
	if n := heapBytes() - before; n > 2<<20 {
		t.Errorf("without scrollback: %d bytes", n)
	}
	// Every cell has another style than the one before, so that a line takes 16 times its text.
	line := strings.Repeat("\x1b[7mx\x1b[mx", 80)
	for range 7000 {
		writeText(t, s, line)
	}
	if n := heapBytes() - before; n > 20<<20 {
		t.Errorf("with the largest scrollback: %d bytes", n)
	}
	if n := strings.Count(s.Buffer(), "\n"); n < 3000 || n > 6900 {
		t.Errorf("%d lines are left", n)
	}
	runtime.KeepAlive(s)
}

func heapBytes() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

func TestAScreenCanHaveAnySize(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {1, 5}, {5, 1}, {2, 2}, {0, 0}, {-7, -1}, {5000, 5000}} {
		s := screen.New(size[0], size[1])
		writeText(t, s, "日本x\r\ne\u0301\t\x1b[5;5H\x1b[2;9r\x1b[L\x1b[M\x1b[@\x1b[P\x1b[b\x1b[2J日"+
			"\x1b#8\x1b[?7l日日\x1b[4h日\x1bM\x1bD\x1b[T\x1b[S")
		s.Resize(size[1], size[0])
		writeText(t, s, "日本x\x1b[c")
		cols, rows := s.Size()
		if cols < 1 || rows < 1 || cols > 1000 || rows > 1000 {
			t.Errorf("%v: %d×%d", size, cols, rows)
		}
		checkSnapshot(t, s)
	}
}
