package screen_test

import (
	"strings"
	"testing"

	"nanobot/internal/wanttest"
	"nanobot/terminal/screen"
)

func TestQueriesAreAnswered(t *testing.T) {
	for query, want := range map[string]string{
		"\x1b[c":                               "\x1b[?1;2c",
		"\x1b[0c":                              "\x1b[?1;2c",
		"\x1b[1c":                              "",
		"\x1bZ":                                "\x1b[?1;2c",
		"\x1b[>c":                              "\x1b[>84;0;0c",
		"\x1b[5n":                              "\x1b[0n",
		"ab\r\nc\x1b[6n":                       "\x1b[2;2R",
		"ab\x1b[?6n":                           "\x1b[?1;3R",
		strings.Repeat("x", 20) + "\x1b[6n":    "\x1b[1;20R",
		"\x1b[2;4r\x1b[?6h\x1b[2;3H\x1b[6n":    "\x1b[2;3R",
		"\x1b[?25$p":                           "\x1b[?25;1$y",
		"\x1b[?25l\x1b[?25$p":                  "\x1b[?25;2$y",
		"\x1b[?2004$p\x1b[?2004h\x1b[?2004$p":  "\x1b[?2004;2$y\x1b[?2004;1$y",
		"\x1b[?1049h\x1b[?1049$p\x1b[?1$p":     "\x1b[?1049;1$y\x1b[?1;2$y",
		"\x1b[?6$p\x1b[?7$p\x1b[?66$p":         "\x1b[?6;2$y\x1b[?7;1$y\x1b[?66;2$y",
		"\x1b[?9999$p":                         "\x1b[?9999;0$y",
		"\x1b[4h\x1b[4$p\x1b[20$p\x1b[3$p":     "\x1b[4;1$y\x1b[20;2$y\x1b[3;0$y",
		"\x1b[18t":                             "\x1b[8;5;20t",
		"\x1b[19t":                             "\x1b[9;5;20t",
		"\x1b]11;?\a":                          "\x1b]11;rgb:1e1e/1e1e/1e1e\a",
		"\x1b]10;?\x1b\\":                      "\x1b]10;rgb:d4d4/d4d4/d4d4\x1b\\",
		"\x1b]4;1;?\a":                         "\x1b]4;1;rgb:cdcd/0000/0000\a",
		"\x1b]4;256;?\a\x1b]11;red\a\x1b]11\a": "",
		"\x1b[?u\x1b[>q\x1b[?4m":               "", // kitty's keyboard, XTVERSION, XTQMODKEYS
		"\x1bP$qm\x1b\\\x1bP+q544e\x1b\\":      "", // DECRQSS, XTGETTCAP
	} {
		s := screenAfter(t, query)
		wanttest.Equal(t, query+":", string(s.TakeReplies()), want)
		if got := s.TakeReplies(); got != nil {
			t.Errorf("%q: %q is answered twice", query, got)
		}
	}
}

func TestRepliesThatAreNotTakenAreLimited(t *testing.T) {
	s := screen.New(20, 5)
	writeText(t, s, strings.Repeat("\x1b[6n", 10_000))
	if n := len(s.TakeReplies()); n > 4096 || n < 4000 {
		t.Errorf("%d bytes of replies", n)
	}
	writeText(t, s, "\x1b[5n")
	wanttest.Equal(t, "afterwards:", string(s.TakeReplies()), "\x1b[0n")
}

func TestATitleIsNotShown(t *testing.T) {
	for _, output := range []string{
		"\x1b]0;both\a", "\x1b]2;größe\x1b\\", "\x1b]1;icon\a", "\x1b]2;\xff\a", "\x1b]2;a\r\nb\tc\a",
		"\x1b]2;one\a\x1b[22;0t\x1b]2;two\a\x1b[23;2t", "\x1b]2;cut\x18", "\x1b]2;cut\x1b[m", "\x1b]2;cut\x1bx\x1b\\",
		"\x1b]x;y\a\x1b]\a\x1b];\a\x1b]2\a", "\x1b]11;?\x18", "\x1b]2;" + strings.Repeat("x", 1<<16) + "\a",
	} {
		s := screenAfter(t, output+"x")
		if got := s.Text(); got != "x" {
			t.Errorf("%.40q is shown as %.40q", output, got)
		}
		if replies := s.TakeReplies(); replies != nil {
			t.Errorf("%.40q is answered by %q", output, replies)
		}
	}
}
