package cli_test

import (
	"regexp"
	"strings"
	"testing"

	"nanobot/channels"
	"nanobot/channels/channelstest"
	"nanobot/channels/cli"
	"nanobot/internal/lineartest"
	"nanobot/internal/wanttest"
)

func TestMarkdownIsRenderedOnATerminal(t *testing.T) {
	for source, want := range map[string]string{
		"**b** *i* ~~s~~ `c` ||x||":            "\x1b[1mb\x1b[0m \x1b[3mi\x1b[0m \x1b[9ms\x1b[0m \x1b[36mc\x1b[0m ||x||\n",
		"**a *b* c**":                          "\x1b[1ma \x1b[0m\x1b[1;3mb\x1b[0m\x1b[1m c\x1b[0m\n",
		"# one\n### three":                     "\x1b[1;4mone\x1b[0m\n\x1b[1mthree\x1b[0m\n",
		"**two\nlines**":                       "\x1b[1mtwo\x1b[0m\n\x1b[1mlines\x1b[0m\n",
		"> **a\n> b**\n>\n> c\n\nd":            "│ \x1b[1ma\x1b[0m\n│ \x1b[1mb\x1b[0m\n│\n│ c\n\nd\n",
		"> ```\n> a\n>\n>   b\n> ```":          "│ \x1b[36ma\x1b[0m\n│\n│ \x1b[36m  b\x1b[0m\n",
		"- a\n  - [x] b\n\n7. c":               "• a\n  ☑ b\n\n7. c\n",
		"[a](https://b.example) https://c.org": "a (https://b.example) https://c.org\n",
		"a&#x1b;[31mb&#x9b;31mc&#7;d":          "a [31mb 31mc d\n",
		"a&#x202e;b":                           "ab\n",
		"\n\n  a\n\n\nb\n\n":                   "a\n\n\nb\n",
		"***":                                  "———\n",
		"a\r\nb":                               "a\nb\n",
	} {
		wanttest.Equal(t, source+": is shown as", printAll(t, &cli.TerminalPrinter{Style: true}, answer(source)), want)
	}
}

func TestATerminalWithoutStylesShowsTheLayout(t *testing.T) {
	source := "# a\n\n**b** and `c`\n\n```go\nd()\n\ne()\n```\n\n> f\n> ```\n> g\n> ```"
	wanttest.Equal(t, "got", printAll(t, &cli.TerminalPrinter{}, answer(source)), "a\n\nb and `c`\n\n    d()\n\n    e()\n\n│ f\n│     g\n")
}

func TestATableIsAsWideAsTheTerminal(t *testing.T) {
	table := "|a|b|\n|-|-|\n|" + strings.Repeat("x", 30) + "|" + strings.Repeat("y", 30) + "|"
	grid, record := strings.Repeat("x", 30)+" | "+strings.Repeat("y", 30), "• b: "+strings.Repeat("y", 30)
	for _, c := range []struct {
		width int
		style bool
		want  string
	}{{63, true, grid}, {62, true, record}, {67, false, "    " + grid}, {66, false, record}, {1, false, record}} {
		got := printAll(t, &cli.TerminalPrinter{Style: c.style, Width: func() int { return c.width }}, answer(table))
		if !strings.Contains(got, c.want) {
			t.Errorf("with %d columns and style %t it is shown as %q", c.width, c.style, got)
		}
	}
}

func TestTheColumnsOfATableLineUp(t *testing.T) {
	const table = "| name | 数 | note |\n| :-- | --: | --- |\n| 日本語 | 7 | **bold** and `code` |\n| e\u0301te\u0301 | 1200 | 👍🏽 |"
	const want = "name   |   数 | note\n-------+------+--------------\n日本語 |    7 | bold and code\ne\u0301te\u0301    | 1200 | 👍🏽\n"
	plain := regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(printAll(t, &cli.TerminalPrinter{Style: true}, answer(table)), "")
	if plain != want {
		t.Errorf("shown is\n%s\nwant\n%s", plain, want)
	}
}

func TestTextWithControlCharactersIsNotRendered(t *testing.T) {
	for _, text := range []string{"\x1b[31m# red\x1b[0m **x**", "10%\r**20%**", "a\b*b*", "\u009b31m*a*"} {
		wanttest.Equal(t, text+": is printed as", printAll(t, &cli.TerminalPrinter{Style: true}, answer(text)), text+"\n")
	}
}

func TestAScreenIsNotReadAsMarkdown(t *testing.T) {
	rows := [][]channels.ScreenRun{{{Text: "# ls *.go", Width: 9}}, {{Text: "> **x**", Width: 7}}}
	plan, err := cli.New(cli.Options{ChatID: "local"}).Plan(channels.Message{
		Kind: channels.Answer, Text: "The *end*:", Screen: &channels.Screen{Cols: 9, Rows: rows},
	})
	if err != nil || len(plan) != 1 {
		t.Fatalf("planned %v, %v", plan, err)
	}
	wanttest.Equal(t, "got", printAll(t, &cli.TerminalPrinter{Style: true}, plan...), "The \x1b[3mend\x1b[0m:\n# ls *.go\n> **x**\n")
}

// whole matches a line in which every style that is opened is closed.
var whole = regexp.MustCompile(`^([^\x1b]|\x1b\[[1-9][0-9;]*m[^\x1b]+\x1b\[0m)*$`)

func TestEveryLineClosesItsStyles(t *testing.T) {
	for name, text := range channelstest.PathologicalMarkdown {
		for line := range strings.Lines(printAll(t, &cli.TerminalPrinter{Style: true}, answer(text(4<<10)))) {
			if !whole.MatchString(strings.TrimSuffix(line, "\n")) {
				t.Errorf("%s: %.200q", name, line)
				break
			}
		}
	}
}

func TestMarkdownIsRenderedInLinearTime(t *testing.T) {
	for _, name := range []string{"code", "deep emphasis", "items", "quote lines"} {
		lineartest.Check(t, name, 32<<10, func(n int) {
			printAll(t, &cli.TerminalPrinter{Style: true}, answer(channelstest.PathologicalMarkdown[name](n)))
		})
	}
}
