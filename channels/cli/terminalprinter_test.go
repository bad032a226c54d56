package cli_test

import (
	"strings"
	"testing"

	"nanobot/channels"
	"nanobot/channels/cli"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// over is the sequence that overwrites the last line of a terminal.
const over = "\r\x1b[K"

// printAll returns the output of a TerminalPrinter for some messages and a Clear at the end.
func printAll(t *testing.T, p *cli.TerminalPrinter, messages ...channels.Outgoing) string {
	t.Helper()
	var out strings.Builder
	p.Out = &out
	if p.Width == nil {
		p.Width = func() int { return 80 }
	}
	for _, o := range messages {
		musttest.Do(t, p.Show(o))
	}
	musttest.Do(t, p.Clear())
	return out.String()
}

func progress(text string) channels.Outgoing {
	return channels.Outgoing{Kind: channels.Progress, Text: text}
}

func answer(text string) channels.Outgoing {
	return channels.Outgoing{Kind: channels.Answer, Text: text}
}

func TestProgressIsOverwrittenOnOneLine(t *testing.T) {
	got := printAll(t, &cli.TerminalPrinter{}, progress("one"), progress("two"), answer("done"))
	wanttest.Equal(t, "got", got, over+"one"+over+"two"+over+"done\n")
}

func TestProgressIsRemovedWhenTheTurnEnds(t *testing.T) {
	wanttest.Equal(t, "got", printAll(t, &cli.TerminalPrinter{}, progress("one")), over+"one"+over)
}

func TestWithoutProgressNoLineIsErased(t *testing.T) {
	wanttest.Equal(t, "got", printAll(t, &cli.TerminalPrinter{}, answer("one"), answer("two")), "one\ntwo\n")
}

func TestProgressMayScrollLikeAnyMessage(t *testing.T) {
	got := printAll(t, &cli.TerminalPrinter{Lines: true}, progress("one"), progress("two"), answer("done"))
	wanttest.Equal(t, "got", got, "one\ntwo\ndone\n")
}

func draft(text string) channels.Outgoing {
	return channels.Outgoing{Kind: channels.Draft, Text: text}
}

func TestTheEndOfAnUnfinishedAnswerIsShownOnOneLine(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		width int
		want  string
	}{
		"what fits is whole":               {"abcde", 6, "abcde"},
		"the last line":                    {"one\n\ntwo  three\n \n", 80, "two three"},
		"its end":                          {"abcdefgh", 6, "…efgh"},
		"wide characters take two columns": {"日本語日本語", 6, "…本語"},
		"no half character":                {"日本語日本語", 7, "…本語"},
		"an accent stays with its letter":  {"e\u0301e\u0301e\u0301e\u0301", 4, "…e\u0301e\u0301"},
		"in no space there is a dot":       {"abc", 1, "…"},
	} {
		got := printAll(t, &cli.TerminalPrinter{Width: func() int { return c.width }}, draft(c.text), answer("done"))
		if got != over+c.want+over+"done\n" {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	wanttest.Equal(t, "without a line that can be overwritten:", printAll(t, &cli.TerminalPrinter{Lines: true}, draft("half"), answer("done")), "done\n")
}

func TestProgressFitsIntoTheWidth(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		width int
		want  string
	}{
		"what fits is whole":                  {"abcde", 6, "abcde"},
		"what does not is cut":                {"abcdefgh", 6, "abcd…"},
		"many lines become one":               {"a\n b\t\tc\r\n", 80, "a b c"},
		"wide characters take two columns":    {"日本語日本語", 6, "日本…"},
		"half a wide character does not fit":  {"日本語日本語", 7, "日本…"},
		"an emoji of many runes is one":       {"👨‍👩‍👧‍👦👍🏽👍🏽👍🏽", 6, "👨‍👩‍👧‍👦👍🏽…"},
		"accents take no column":              {"e\u0301e\u0301e\u0301e\u0301e\u0301", 6, "e\u0301e\u0301e\u0301e\u0301e\u0301"},
		"an accent stays with its letter":     {"e\u0301e\u0301e\u0301e\u0301", 4, "e\u0301e\u0301…"},
		"in no space there is at least a dot": {"abc", 1, "…"},
	} {
		t.Run(name, func(t *testing.T) {
			got := printAll(t, &cli.TerminalPrinter{Width: func() int { return c.width }}, progress(c.text))
			wanttest.Equal(t, "got", got, over+c.want+over)
		})
	}
}
