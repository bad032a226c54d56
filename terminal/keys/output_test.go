package keys_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"nanobot/terminal/keys"
)

func TestTheOutputIsTheNewPartOrElseTheScreen(t *testing.T) {
	const screen = "Current Terminal Screen:\nthe screen"
	fresh := func(s string) string { return "New Terminal Output:\n" + s }
	for name, steps := range map[string][]struct{ buffer, want string }{
		"the first time":                 {{"$", screen}},
		"the last line is repeated":      {{"hello\n$ ", screen}, {"hello\n$ ls\na b\n$ \n\n", fresh("\n$ ls\na b\n$")}},
		"nothing happened":               {{"hello\n$", screen}, {"hello\n$", fresh("\n$")}},
		"no line before":                 {{"$", screen}, {"$ ls\na", fresh("$ ls\na")}},
		"nothing before":                 {{" \n\n", screen}, {"\n$ ls\na", fresh("$ ls\na")}},
		"nothing at all":                 {{"", screen}, {"\n \n", screen}},
		"another screen":                 {{"hello\n$", screen}, {"bye\n$", screen}, {"bye\n$ ls", fresh("\n$ ls")}},
		"cleared":                        {{"hello\n$", screen}, {"", screen}, {"$ ls", fresh("$ ls")}},
		"blanks at both ends are spared": {{"\n\n hello\n$\n\n", screen}, {"hello\n$ ls", fresh("\n$ ls")}},
		"compared with the last time":    {{"a", screen}, {"a\nb", fresh("a\nb")}, {"a\nb\nc", fresh("\nb\nc")}},
	} {
		var o keys.Output
		for i, step := range steps {
			if got := o.Next(step.buffer, "the screen"); got != step.want {
				t.Errorf("%s, step %d: %q, want %q", name, i+1, got, step.want)
			}
		}
	}
}

func TestLongOutputIsCutInTheMiddle(t *testing.T) {
	const heading = "Current Terminal Screen:\n"
	show := func(screen string) string {
		var o keys.Output
		return o.Next("", screen)
	}
	cut := func(head string, omitted int, tail string) string {
		return fmt.Sprintf("%s\n[... output limited to 10000 bytes; %d interior bytes omitted ...]\n%s", head, omitted, tail)
	}
	fits := strings.Repeat("x", 10000-len(heading))
	if got := show(fits); got != heading+fits {
		t.Error("10,000 bytes are cut")
	}
	for name, row := range map[string]struct {
		screen string
		// bytes omitted before and after the cut so that no character is split
		before, after int
	}{
		"one byte too many":         {fits + "y", 0, 0},
		"a character at the first":  {strings.Repeat("x", 4998-len(heading)) + "狐" + strings.Repeat("y", 8000), 2, 0},
		"a character at the second": {strings.Repeat("x", 8000) + "狐" + strings.Repeat("y", 4998), 0, 2},
		"characters at both":        {strings.Repeat("x", 4997-len(heading)) + "🦊" + strings.Repeat("x", 10) + "🦊" + strings.Repeat("y", 4997), 3, 3},
		"only characters":           {strings.Repeat("é", 6000), 1, 0},
		"the cuts at boundaries":    {strings.Repeat("x", 5000-len(heading)) + "狐狐" + strings.Repeat("y", 5000), 0, 0},
	} {
		whole := heading + row.screen
		head, tail := 5000-row.before, len(whole)-5000+row.after
		want := cut(whole[:head], tail-head, whole[tail:])
		if got := show(row.screen); got != want {
			t.Errorf("%s: …%q…\nwant …%q…", name, got[4950:min(len(got), 5100)], want[4950:5100])
		}
		if !utf8.ValidString(want) {
			t.Errorf("%s: the row is wrong", name)
		}
	}
	var o keys.Output
	o.Next("", "")
	if got := o.Next(strings.Repeat("z\n", 9000), ""); !strings.HasPrefix(got, "New Terminal Output:\nz\n") || len(got) > 10100 {
		t.Error("new output is not cut")
	}
	if got := show(strings.Repeat("\x80", 20000)); len(got) > 10100 {
		t.Errorf("%d bytes of invalid UTF-8", len(got))
	}
}
