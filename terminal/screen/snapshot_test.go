package screen_test

import (
	"fmt"
	"testing"

	"nanobot/internal/musttest"
	"nanobot/terminal/screen"
)

func TestTheCharacterAtAVisibleCursorIsARunOfItsOwn(t *testing.T) {
	for _, c := range []struct{ name, written, want string }{
		{"behind the text", "ab", `["ab" " " "   "]`},
		{"on a letter", "abc\x1b[2D", `["a" "b" "c   "]`},
		{"on the first", "abc\r", `["a" "bc   "]`},
		{"on a wide one", "a日b\x1b[1;2H", `["a" "日" "b  "]`},
		{"on the second half of a wide one", "a日b\x1b[1;3H", `["a" "日" "b  "]`},
		{"hidden", "ab\x1b[?25l", `["ab    "]`},
	} {
		s := screen.New(6, 2)
		musttest.Get(s.Write([]byte(c.written)))(t)
		var texts []string
		for _, run := range s.Snapshot().Lines[0] {
			texts = append(texts, run.Text)
		}
		if got := fmt.Sprintf("%q", texts); got != c.want {
			t.Errorf("cursor %s: %s instead of %s", c.name, got, c.want)
		}
	}
}
