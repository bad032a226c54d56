package discord_test

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"nanobot/channels"
	"nanobot/channels/channelstest"
	"nanobot/channels/discord"
	"nanobot/channels/markdown"
	"nanobot/internal/fuzztest"
	"nanobot/internal/lineartest"
	"nanobot/internal/wanttest"
)

func TestTextThatDiscordWouldFormatIsEscaped(t *testing.T) {
	for text, want := range map[string]string{
		"2*3*4 and 2 * 3":            `2\*3\*4 and 2 \* 3`,
		"snake_case and __init__.py": `snake_case and \_\_init\_\_.py`,
		"a ~~ b ~ c || d | e":        `a \~\~ b ~ c \|\| d | e`,
		"a ` b":                      "a \\` b",
		`C:\dir \_x C:\日本`:           `C:\\dir \\\_x C:\\日本`,
		"a_b_é":                      `a_b\_é`,
		"# a\n#b\n#### c\n- d\n-# e": `\# a` + "\n#b\n#### c\n" + `\- d` + "\n" + `\-# e`,
		"> a\n>b\n1. c\n 2) d\n1.5":  `\> a` + "\n" + `\>b` + "\n" + `1\. c` + "\n " + `2\) d` + "\n1.5",
		"[a] and [b](c)":             `\[a] and \[b](c)`,
		"[a] alone":                  "[a] alone",
		"https://a.org/\u00a0[b](c)": "https://a.org/\u00a0" + `\[b](c)`,
		"https://a.org/_b_*c*~~d~~":  "https://a.org/_b_*c*~~d~~",
		"<@42> <#1> <:x:2> @here":    "<@42> <#1> <:x:2> @here",
	} {
		wanttest.Equal(t, text+": is written as", discord.Write(markdown.Plain(text)), want)
	}
}

func TestFormattingIsWrittenInDiscordsSigns(t *testing.T) {
	for source, want := range map[string]string{
		"***a***":                          "**_a_**",
		"a*b*c **d *e***":                  "a\\*b\\*c **d _e_**",
		"# a **b**":                        "# a b",
		"#### a **b** c":                   "**a b c**",
		"- # a":                            "- **a**",
		"> # a\n> b":                       "> # a\n> b",
		"> a\n>\n> ```go\n> b\n> ```\n> c": "> a\n> \n> ```go\n> b\n> ```\n> c",
		"> a\n\nb":                         "> a\n\nb",
		"`a`` b`":                          "`a\u1fef\u1fef b`",
		"``a`b``":                          "``a`b``",
		"~~~\n```\n~~~":                    "```\n\u1fef\u1fef\u1fef\n```",
		"[a \\[b\\]](https://c.org)":       "a [b] (https://c.org)",
		"[a](https://b.org/c_(d))":         "[a](<https://b.org/c_(d)>)",
		"[a](mailto:b@c.org)":              "a (mailto:b@c.org)",
		"||a|| ~~b~~":                      "||a|| ~~b~~",
		"1. a\n2. b\n   - c":               "1. a\n2. b\n   - c",
		"[a](https://b.org/" + longText(600) + ") c": "a (https://b.org/" + longText(600) + ") c",
	} {
		wanttest.Equal(t, source+": is written as", discord.Write(discord.Read(source)), want)
	}
}

func longText(n int) string { return strings.Repeat("x", n) }

var writeSeeds = []string{
	"# A *b* `c`\n\n- [x] d\n  1. e\n     > f\n\n```go\ng\n```\n", "|a|b|\n|:-:|-:|\n|**c**|`d\\|e`|\n", "> a\n> > b\n>\n> ```\n> c\n> ```\n\n---\n",
	"***a** b* ~~c~~ ||d|| [e *f*](https://g.org) ![h](i) <https://j.org> <b>k</b> &amp; \\*l", "a\n- b\n# c\n> d\n1. e", "**a** *b***c**_d_***e***",
	"* **a**\n  **b**\n* \n", "[a](https://b.org) \\[c](d) `e` ``f ` g``", "\\# a\n\\> b\n\\- c\n1\\. d", "a_b_c __d__ *e*_f_",
}

// Discord shows the words of a text, and none of its own signs are taken from the text.
func FuzzWrite(f *testing.F) {
	for i, s := range append(slices.Clone(writeSeeds), fuzztest.Mutate(writeSeeds, 1500)...) {
		f.Add(s, uint16(i))
	}
	f.Fuzz(func(t *testing.T, source string, limit uint16) {
		whole := discord.Read(source)
		most := 700 + int(limit%200)
		for i, part := range discord.Split(whole, most) {
			if n := channels.Runes(part); n > most {
				t.Errorf("%q: part %d has %d of %d characters", source, i, n, most)
			}
		}
		if noAddress.MatchString(whole.Text) {
			return
		}
		written := discord.Write(whole)
		if got, want := withoutBlanks(shownByDiscord(written)), withoutBlanks(expectedText(whole)); got != want {
			t.Errorf("%q is written as\n%s\nwhich is shown as\n%s\nand should be\n%s", source, written, got, want)
		}
	})
}

// noAddress matches a text that starts like an address and is none: it is not known how Discord
// shows it.
var noAddress = regexp.MustCompile(`://(?:[^0-9A-Za-z]|$)|://\S*[^0-9A-Za-z/]+(?:\s|$)`)

// textCollector is a visitor that collects the text that people should see.
type textCollector struct {
	text string
	out  strings.Builder
}

func expectedText(t markdown.Text) string {
	w := &textCollector{text: t.Text}
	t.Visit(w)
	return w.out.String()
}

func (*textCollector) Begin(markdown.Mark) {}

func (w *textCollector) End(m markdown.Mark) {
	if m.Kind == markdown.Link && strings.ContainsAny(w.text[m.Start:m.End], "[]") {
		w.out.WriteString("(" + m.URL + ")") // Discord takes no brackets in the label of a link
	}
}

func (w *textCollector) Text(s string, _ int) { w.out.WriteString(s) }

// withoutBlanks removes white space and unifies backticks.
func withoutBlanks(s string) string {
	return strings.Join(strings.Fields(strings.NewReplacer("\u1fef", "`", "\u200b", "").Replace(s)), "")
}

func TestALongTextFullOfSignsFitsItsMessages(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	words := []string{"**a** ", "_b_ ", "`c` ", "\n- d ", "\n> e ", "\n\n# f\n", "[g](https://h.org/" + longText(100) + ") ", "\\* ", "\\_ ", "\n\\# ", "\n\\> ", "\n```\ni\n```\n", "word "}
	for range 100 {
		var b strings.Builder
		for b.Len() < 8000 {
			b.WriteString(words[r.IntN(len(words))])
		}
		for _, part := range discord.Split(discord.Read(b.String()), 2000) {
			if n := channels.Runes(part); n > 2000 {
				t.Fatalf("%d characters: %q", n, part)
			}
		}
	}
}

func TestATextIsWrittenInLinearTime(t *testing.T) {
	for _, name := range []string{"prose", "code", "links", "items", "deep emphasis", "closers", "asterisks", "brackets", "backslashes", "quote lines", "URLs"} {
		lineartest.Check(t, name, 32<<10, func(n int) { discord.Split(discord.Read(channelstest.PathologicalMarkdown[name](n)), 2000) })
	}
}
