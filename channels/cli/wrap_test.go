package cli_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/rivo/uniseg"

	"nanobot/channels"
	"nanobot/channels/channelstest"
	"nanobot/channels/cli"
	"nanobot/internal/lineartest"
	"nanobot/internal/wanttest"
)

func atWidth(columns int, style bool) *cli.TerminalPrinter {
	return &cli.TerminalPrinter{Style: style, Width: func() int { return columns }}
}

func TestLinesAreWrappedBetweenWords(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"words":                         {"The quick brown fox jumps over the lazy dog.", "The quick brown fox\njumps over the lazy\ndog.\n"},
		"exactly as wide":               {"abcdefghij klmnopqrs tuvw", "abcdefghij klmnopqrs\ntuvw\n"},
		"the text of an item":           {"- The quick brown fox jumps", "• The quick brown\n  fox jumps\n"},
		"a number of two digits":        {"10. The quick brown fox jumps", "10. The quick brown\n    fox jumps\n"},
		"a task in an item":             {"- a\n  - [x] The quick brown fox", "• a\n  ☑ The quick brown\n    fox\n"},
		"a quotation":                   {"> The quick brown fox jumps", "│ The quick brown\n│ fox jumps\n"},
		"a long word stays whole":       {"See https://example.org/a/long/path?with=a&query of it", "See\nhttps://example.org/a/long/path?with=a&query\nof it\n"},
		"wide characters count two":     {"日本語日本語日本語日本語", "日本語日本語日本語日\n本語\n"},
		"no comma begins a line":        {"日本語日本語日本語日、本語", "日本語日本語日本語\n日、本語\n"},
		"wide characters among words":   {"abcdefghijklmnopqrs日本 abc", "abcdefghijklmnopqrs\n日本 abc\n"},
		"an emoji of many runes is one": {"aaaaaaaaaaaaaaaa 👨‍👩‍👧‍👦 b", "aaaaaaaaaaaaaaaa 👨‍👩‍👧‍👦\nb\n"},
		"accents take no column":        {"e\u0301e\u0301e\u0301e\u0301e\u0301 aaaaaaaaaaaaaa b", "e\u0301e\u0301e\u0301e\u0301e\u0301 aaaaaaaaaaaaaa\nb\n"},
		"code is not":                   {"```\nThe quick brown fox jumps over\n```", "    The quick brown fox jumps over\n"},
		"code in a quotation is not":    {"> ```\n> The quick brown fox jumps\n> ```", "│     The quick brown fox jumps\n"},
	} {
		wanttest.Equal(t, name+":", printAll(t, atWidth(20, false), answer(c.text)), c.want)
	}
}

func TestAStyleContinuesOnTheNextLine(t *testing.T) {
	got := printAll(t, atWidth(20, true), answer("The **quick brown fox jumps** over"))
	wanttest.Equal(t, "got", got, "The \x1b[1mquick brown fox\x1b[0m\n\x1b[1mjumps\x1b[0m over\n")
}

func TestTheLinesOfATableAreNotWrapped(t *testing.T) {
	table := "| name | note |\n|---|---|\n| a | " + strings.Repeat("word ", 6) + "|\n\n" + strings.Repeat("word ", 10)
	got := printAll(t, atWidth(44, true), answer(table))
	if !strings.Contains(got, "word word word word word word\x1b[0m\n") || !strings.Contains(got, "\n"+strings.TrimSpace(strings.Repeat("word ", 9))+"\nword\n") {
		t.Errorf("shown is\n%s", got)
	}
}

func TestPlainTextIsWrappedExceptColumnsAndColours(t *testing.T) {
	long := "The quick brown fox jumps"
	for name, c := range map[string]struct {
		in   channels.Outgoing
		want string
	}{
		"text":               {channels.Outgoing{Text: long + "\r\n\n  " + long, Format: channels.Literal}, "The quick brown fox\njumps\r\n\n  The quick brown\n  fox jumps\n"},
		"columns":            {channels.Outgoing{Text: "name  size  modified at", Format: channels.Literal}, "name  size  modified at\n"},
		"tabs":               {channels.Outgoing{Text: "name of it\tsize of it", Format: channels.Literal}, "name of it\tsize of it\n"},
		"code":               {channels.Outgoing{Text: long, Format: channels.Code}, long + "\n"},
		"control characters": {channels.Outgoing{Text: "\x1b[31m" + long, Format: channels.Literal}, "\x1b[31m" + long + "\n"},
	} {
		c.in.Kind = channels.Answer
		wanttest.Equal(t, name+":", printAll(t, atWidth(20, true), c.in), c.want)
	}
}

func TestANewWidthCountsForTheNextMessage(t *testing.T) {
	width := 20
	p := &cli.TerminalPrinter{Width: func() int { width += 10; return width - 10 }}
	long := "The quick brown fox jumps over"
	wanttest.Equal(t, "got", printAll(t, p, answer(long), answer(long)), "The quick brown fox\njumps over\n"+long+"\n")
	wanttest.Equal(t, "on a very narrow terminal got", printAll(t, atWidth(19, false), answer(long)), long+"\n")
}

func TestAPipeGetsLinesAsTheyAre(t *testing.T) {
	long := strings.Repeat("word ", 1000) + "end"
	var out strings.Builder
	if err := (cli.TextPrinter{Out: &out}).Show(answer(long)); err != nil || out.String() != long+"\n" {
		t.Errorf("got %q, %v", out.String(), err)
	}
}

// TestALongAnswerIsWholeAndFits prints much text of short words: no word is lost, and no line is
// wider than the terminal.
func TestALongAnswerIsWholeAndFits(t *testing.T) {
	text := strings.Repeat("Wörter und **fette Wörter**, 日本語 and `code`.\n\n- an item of some words, which goes on for a while and on\n\n", 2000)
	got := regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(printAll(t, atWidth(40, true), answer(text)), "")
	for line := range strings.Lines(got) {
		if uniseg.StringWidth(strings.TrimSuffix(line, "\n")) > 40 {
			t.Fatalf("%q is too wide", line)
		}
	}
	want := strings.Fields(strings.NewReplacer("**", "", "`", "", "- ", "• ").Replace(text))
	if found := strings.Fields(got); len(found) < len(want) || strings.Join(found, "") != strings.Join(want, "") {
		t.Errorf("%d words are shown of %d", len(found), len(want))
	}
}

func TestLinesAreWrappedInLinearTime(t *testing.T) {
	for name, text := range map[string]string{"words": "word ", "one word": "x", "wide": "日", "styles": "**a** b "} {
		lineartest.Check(t, name, 64<<10, func(n int) {
			printAll(t, atWidth(80, true), answer(strings.Repeat(text, n/len(text))))
		})
	}
}

func TestWrappedLinesCloseTheirStyles(t *testing.T) {
	for name, text := range channelstest.PathologicalMarkdown {
		for line := range strings.Lines(printAll(t, atWidth(30, true), answer(text(4<<10)))) {
			if !whole.MatchString(strings.TrimSuffix(line, "\n")) {
				t.Errorf("%s: %.200q", name, line)
				break
			}
		}
	}
}
