package screen_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"nanobot/internal/wanttest"
	"nanobot/terminal/screen"
)

func writeText(t testing.TB, s *screen.Screen, text string) {
	t.Helper()
	if n, err := s.Write([]byte(text)); n != len(text) || err != nil {
		t.Fatalf("Write = %d, %v", n, err)
	}
}

// after returns a small screen on which text was written.
func screenAfter(t testing.TB, text string) *screen.Screen {
	t.Helper()
	s := screen.New(20, 5)
	writeText(t, s, text)
	return s
}

func cursorPosition(s *screen.Screen) string {
	col, row, _ := s.Cursor()
	return fmt.Sprintf("%d,%d", col, row)
}

func TestTextHasNoTrailingBlanks(t *testing.T) {
	s := screenAfter(t, "a  \r\n\r\n b \x1b[41m   \x1b[m\r\n   ")
	wanttest.Equal(t, "Text =", s.Text(), "a\n\n b")
	wanttest.Equal(t, "a blank screen is", screenAfter(t, "").Text(), "")
}

// These are cases that the comparison with tmux leaves out, because tmux differs or has no answer.
func TestOutputIsInterpreted(t *testing.T) {
	for name, c := range map[string]struct{ output, text, cursor string }{
		"a character behind the last column wraps": {
			strings.Repeat("x", 20) + "y", strings.Repeat("x", 20) + "\ny", "1,1",
		},
		"the cursor waits in the last column": {
			strings.Repeat("x", 20), strings.Repeat("x", 20), "19,0",
		},
		"a backspace at the end erases the last": {
			strings.Repeat("x", 20) + "\b \b", strings.Repeat("x", 19), "19,0",
		},
		"EL at the end erases nothing": {
			strings.Repeat("x", 20) + "\x1b[K", strings.Repeat("x", 20), "19,0",
		},
		"a backspace follows a wrapped line": {
			strings.Repeat("x", 21) + "\b\b", strings.Repeat("x", 20) + "\nx", "19,0",
		},
		"without autowrap the last column is replaced": {
			"\x1b[?7l" + strings.Repeat("x", 20) + "yz", strings.Repeat("x", 19) + "z", "19,0",
		},
		"CHT goes to the next tab stops": {
			"\x1b[2Ix", strings.Repeat(" ", 16) + "x", "17,0",
		},
		"cleared tab stops are skipped": {
			"\x1b[3g\tx", strings.Repeat(" ", 19) + "x", "19,0",
		},
		"IL outside of the scroll region does nothing": {
			"\x1b[2;3r\x1b[5;1Hlast\x1b[L", "\n\n\n\nlast", "4,4",
		},
		"DL outside of the scroll region does nothing": {"first\x1b[2;3r\x1b[M", "first", "0,0"},
		"IL above the scroll region does nothing":      {"first\x1b[2;3r\x1b[L", "first", "0,0"},
		"ASCII over the end of a wide character":       {"日本\x1b[1;2Hx", " x本", "2,0"},
		"ASCII over the start of a wide character":     {"日本\x1b[1;3Hx", "日x", "3,0"},
		"an erased line continues no other": {
			strings.Repeat("x", 21) + "\r\x1b[2K\b", strings.Repeat("x", 20), "0,1",
		},
		"a deleted line continues no other": {
			strings.Repeat("x", 21) + "\r\x1b[M\b", strings.Repeat("x", 20), "0,1",
		},
		"an inserted line continues no other": {
			strings.Repeat("x", 21) + "\r\x1b[L\b", strings.Repeat("x", 20) + "\n\nx", "0,1",
		},
		"joiners are kept":                             {"👩\u200d👧", "👩\u200d👧", "4,0"},
		"hyperlinks are text":                          {"\x1b]8;;http://x/\x1b\\link\x1b]8;;\a", "link", "4,0"},
		"DECSTBM homes into the region in origin mode": {"\x1b[?6h\x1b[2;4rx", "\nx", "1,1"},
		"a region of one line is refused": {
			"\x1b[3;3r\x1b[9;1Hx", "\n\n\n\nx", "1,4",
		},
		"ICH shifts": {"abcdef\x1b[1;2H\x1b[99@", "a", "1,0"},
		"insert mode shifts on the next line too": {
			"\r\nb\x1b[1;1H" + strings.Repeat("x", 20) + "\x1b[4hy",
			strings.Repeat("x", 20) + "\nyb", "1,1",
		},
		"LNM adds a carriage return": {"\x1b[20hab\nc", "ab\nc", "1,1"},
		"mode 1048 saves the cursor": {
			"ab\x1b[?1048h\x1b[3;3H\x1b[?1048lc", "abc", "3,0",
		},
		"DECSTR resets the region and origin mode": {
			"\x1b[2;3r\x1b[?6h\x1b[!p\x1b[5;1Hx", "\n\n\n\nx", "1,4",
		},
		"RIS leaves the alternate screen": {"ab\x1b[?1049hcd\x1bcx", "x", "1,0"},
		"DECCOLM does not clear":          {"ab\x1b[?3hc\x1b[?3ld", "abcd", "4,0"},
		"DECALN fills the screen": {
			"\x1b#8", strings.TrimSuffix(strings.Repeat(strings.Repeat("E", 20)+"\n", 5), "\n"), "0,0",
		},
		"REP repeats a wide character":               {"日\x1b[2b", "日日日", "6,0"},
		"REP needs a character before it":            {"a\r\x1b[3b", "a", "0,0"},
		"half of a wide character cannot be erased":  {"日本\x1b[1;2H\x1b[X", "  本", "1,0"},
		"half of a wide character cannot be shifted": {"日本\x1b[1;2H\x1b[@", "   本", "1,0"},
		"half of a wide character cannot be removed": {"日本x\x1b[1;2H\x1b[P", " 本x", "1,0"},
		"a wide character does not fit one column": {
			strings.Repeat("x", 19) + "日", strings.Repeat("x", 19) + "\n日", "2,1",
		},
		"an emoji may have a variation selector":   {"❤\ufe0fx", "❤\ufe0fx", "2,0"},
		"direction marks are dropped":              {"a\u202eb\u200ec", "abc", "3,0"},
		"a mark at the start of a line is dropped": {"\u0301a", "a", "1,0"},
		"bytes that are no UTF-8 are replaced": {
			"a\xffb\xc0\xafc", "a\ufffdb\ufffd\ufffdc", "6,0",
		},
		"a character that is cut short is one": {
			"\xe2\x82A\xf0\x9f\x98\r\n", "\ufffdA\ufffd", "0,1",
		},
		"surrogates are replaced": {
			"\xed\xa0\x80", "\ufffd\ufffd\ufffd", "3,0",
		},
		"C1 controls are ignored":        {"a\u009b31mb", "a31mb", "5,0"},
		"line drawing by SO":             {"\x1b)0\x0elqk\x0fq", "┌─┐q", "4,0"},
		"other character sets are ASCII": {"\x1b(0q\x1b(Aq\x1b*0q", "─qq", "3,0"},
		"private sequences are no others": {
			"ab\x1b7cd\x1b[?u\x1b[>1u\x1b[<u\x1b[=1u\x1b[>4;1m\x1b[?4m", "abcd", "4,0",
		},
		"unknown sequences are ignored": {
			"\x1b[1;2;3 p\x1b[?1;2S\x1b%G\x1b F\x1b#3\x1b[>0q\x1b[1\"qok", "ok", "2,0",
		},
		"sequences that make no sense are ignored": {
			"\x1b[1?h\x1b[ 1q\x1b[?1 1h\x1b[1!2pok", "ok", "2,0",
		},
		"controls work inside of sequences":             {"ab\x1b[1\r;2\nHx", "ax", "2,0"},
		"highlight mouse tracking does not scroll":      {"ab\x1b[1;2;3;4;5T", "ab", "2,0"},
		"selective erase erases":                        {"abc\x1b[1;2H\x1b[?0K", "a", "1,0"},
		"SU goes to the scrollback and SD brings blank": {"a\r\nb\x1b[S\x1b[T", "\nb", "1,1"},
	} {
		s := screenAfter(t, c.output)
		wanttest.Equal(t, name+":", s.Text(), c.text)
		wanttest.Equal(t, name+": cursor at", cursorPosition(s), c.cursor)
	}
}

func TestModesAreReported(t *testing.T) {
	s := screen.New(80, 24)
	state := func() string {
		_, _, visible := s.Cursor()
		keys := fmt.Sprint(s.ApplicationCursor(), s.ApplicationKeypad(), s.BracketedPaste())
		return fmt.Sprint(keys, " ", s.Alternate(), " ", visible)
	}
	for _, c := range []struct{ output, want string }{
		{"", "false false false false true"},
		{"\x1b[?1h", "true false false false true"},
		{"\x1b=", "true true false false true"},
		{"\x1b[?2004h", "true true true false true"},
		{"\x1b[?1049;25h", "true true true true true"},
		{"\x1b[?25l", "true true true true false"},
		{"\x1b>\x1b[?1l", "false false true true false"},
		{"\x1b[?66h\x1b[!p", "false false true true true"},
		{"\x1bc", "false false false false true"},
	} {
		writeText(t, s, c.output)
		if got := state(); got != c.want {
			t.Errorf("after %q: %s, want %s", c.output, got, c.want)
		}
	}
}

func TestTheAlternateScreenLeavesTheMainOneAlone(t *testing.T) {
	s := screenAfter(t, "$ vim\r\n\x1b[31m")
	writeText(t, s, "\x1b[?1049h\x1b[H\x1b[2J\x1b[m"+strings.Repeat("text\r\n", 20))
	if !s.Alternate() || !strings.HasPrefix(s.Text(), "text") {
		t.Errorf("alternate screen: %q", s.Text())
	}
	writeText(t, s, "\x1b[?1049lx")
	wanttest.Equal(t, "main screen:", s.Buffer(), "$ vim\nx")
	wanttest.Equal(t, "the colour is", s.Snapshot().Lines[1][0].Style.Foreground, screen.Palette(1))
}

func TestClearKeepsTheScreenInTheScrollback(t *testing.T) {
	s := screenAfter(t, "one\r\ntwo\r\n\x1b[H\x1b[2Jthree")
	wanttest.Equal(t, "Buffer =", s.Buffer(), "one\ntwo\nthree")
	writeText(t, s, "\x1b[H\x1b[2J\x1b[3J")
	wanttest.Equal(t, "after ED 3:", s.Buffer(), "")
}

func TestTheScrollbackHasTenThousandLines(t *testing.T) {
	s := screen.New(20, 5)
	for i := range 25_000 {
		writeText(t, s, fmt.Sprintf("%d\r\n", i))
	}
	lines := strings.Split(s.Buffer(), "\n")
	if len(lines) != 10_004 || lines[0] != "14996" || lines[10_003] != "24999" {
		t.Errorf("%d lines from %s to %s", len(lines), lines[0], lines[len(lines)-1])
	}
}

func TestASnapshotNeverChanges(t *testing.T) {
	s := screenAfter(t, "ab\x1b[1;38;2;1;2;3;48;5;4m日本\x1b[m")
	n := s.Snapshot()
	writeText(t, s, "\x1b]2;else\a\x1b[H\x1b[2Jother")
	want := []screen.Run{
		{Text: "ab", Width: 2},
		{Text: "日本", Width: 4, Style: screen.Style{
			Foreground: screen.TrueColor(1, 2, 3), Background: screen.Palette(4), Bold: true,
		}},
		{Text: " ", Width: 1}, // the cursor
		{Text: strings.Repeat(" ", 13), Width: 13},
	}
	if got := n.Lines[0]; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the first line is %v, want %v", got, want)
	}
	rest := *n
	rest.Lines = nil
	if !reflect.DeepEqual(rest, screen.Snapshot{
		Cols: 20, Rows: 5, CursorCol: 6, CursorVisible: true,
	}) {
		t.Errorf("the snapshot is %+v", n)
	}
}

func TestStylesAreSet(t *testing.T) {
	for output, want := range map[string]screen.Style{
		"\x1b[1;2;3;4;5;7;8;9m": {
			Bold: true, Faint: true, Italic: true, Underline: true,
			Blink: true, Reverse: true, Hidden: true, Strike: true,
		},
		"\x1b[1;4;31m\x1b[22;24m": {Foreground: screen.Palette(1)},
		"\x1b[38:2::10:20:30m":    {Foreground: screen.TrueColor(10, 20, 30)},
		"\x1b[38:2:10:20:30m":     {Foreground: screen.TrueColor(10, 20, 30)},
		"\x1b[48;2;10;20;30;1m":   {Background: screen.TrueColor(10, 20, 30), Bold: true},
		"\x1b[38:5:200;48:5:17m": {
			Foreground: screen.Palette(200), Background: screen.Palette(17),
		},
		"\x1b[97;100m": {
			Foreground: screen.Palette(15), Background: screen.Palette(8),
		},
		"\x1b[58:2::1:2:3;3m":         {Italic: true},
		"\x1b[58;5;1;3m":              {Italic: true},
		"\x1b[38;5;256;3m":            {Italic: true},
		"\x1b[38;9;3m":                {Strike: true, Italic: true},
		"\x1b[38m\x1b[38;5m":          {Foreground: screen.Palette(0)},
		"\x1b[4:3m":                   {Underline: true},
		"\x1b[4m\x1b[4:0m":            {},
		"\x1b[21m":                    {Underline: true},
		"\x1b[31m\x1b[;1m":            {Bold: true},
		"\x1b[31;42m\x1b[39;49m":      {},
		"\x1b[7m\x1b7\x1b[m\x1b8":     {Reverse: true},
		"\x1b[1m" + "\x1b[?1m\x1b[>m": {Bold: true},
	} {
		wanttest.Equal(t, output+":", screenAfter(t, output+"x").Snapshot().Lines[0][0].Style, want)
	}
}

func TestColorsHaveComponents(t *testing.T) {
	for c, want := range map[screen.Color]string{
		0:                         "0 0 0 false",
		screen.Palette(1):         "205 0 0 true",
		screen.Palette(16):        "0 0 0 true",
		screen.Palette(208):       "255 135 0 true",
		screen.Palette(232):       "8 8 8 true",
		screen.Palette(255):       "238 238 238 true",
		screen.TrueColor(1, 2, 3): "1 2 3 true",
		screen.TrueColor(0, 0, 0): "0 0 0 true",
	} {
		r, g, b, ok := c.RGB()
		if got := fmt.Sprint(r, g, b, ok); got != want {
			t.Errorf("%#x: %s, want %s", uint32(c), got, want)
		}
	}
}
