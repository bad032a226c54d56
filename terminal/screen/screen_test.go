package screen_test

import (
	"strings"
	"testing"

	"nanobot/terminal/screen"
)

func write(t *testing.T, s *screen.Screen, text string) {
	t.Helper()
	if n, err := s.Write([]byte(text)); n != len(text) || err != nil {
		t.Fatalf("Write = %d, %v", n, err)
	}
}

func TestAResizeWrapsLinesAnew(t *testing.T) {
	s := screen.New(10, 4)
	write(t, s, "abcdefghijklmno\r\nxyz\r\n日本語日本語\x1b[31mred")
	s.Resize(5, 4)
	got := s.Buffer()
	want := "abcde\nfghij\nklmno\nxyz\n日本\n語日\n本語r\ned"
	if got != want {
		t.Errorf("at 5 columns:\n%s\nwant\n%s", got, want)
	}
	s.Resize(20, 4)
	if got, want := s.Buffer(), "abcdefghijklmno\nxyz\n日本語日本語red"; got != want {
		t.Errorf("at 20 columns:\n%s\nwant\n%s", got, want)
	}
	write(t, s, "!")
	if !strings.HasSuffix(s.Text(), "red!") {
		t.Errorf("the cursor is not behind the text:\n%s", s.Text())
	}
}
