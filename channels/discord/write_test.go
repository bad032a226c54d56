package discord_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"

	"nanobot/channels"
	"nanobot/channels/channelstest"
	"nanobot/channels/discord"
	"nanobot/channels/markdown"
	"nanobot/internal/fuzztest"
	"nanobot/internal/lineartest"
)

func TestWordsThatDiscordWouldFormatAreWrittenSoThatItDoesNot(t *testing.T) {
	for text, want := range map[string]string{
		"2*3*4 and 2 * 3":            `2\*3\*4 and 2 * 3`,
		"snake_case and __init__.py": `snake_case and \_\_init\_\_.py`,
		"a ~~ b ~ c || d | e":        `a \~\~ b ~ c \|\| d | e`,
		"a ` b":                      "a \\` b",
		`C:\dir \_x`:                 `C:\dir \\\_x`,
		"# a\n#b\n#### c\n- d\n-# e": `\# a` + "\n#b\n#### c\n" + `\- d` + "\n" + `\-# e`,
		"> a\n>b\n1. c\n 2) d\n1.5":  `\> a` + "\n" + `\>b` + "\n" + `1\. c` + "\n " + `2\) d` + "\n1.5",
		"[a] and [b](c)":             `\[a] and \[b](c)`,
		"[a] alone":                  "[a] alone",
		"https://a.org/_b_*c*~~d~~":  "https://a.org/_b_*c*~~d~~",
		"<@42> <#1> <:x:2> @here":    "<@42> <#1> <:x:2> @here",
	} {
		if got := discord.Write(markdown.Plain(text)); got != want {
			t.Errorf("%q is written as %q, want %q", text, got, want)
		}
	}
}

func TestFormattingIsWrittenInDiscordsSigns(t *testing.T) {
	for source, want := range map[string]string{
		"***a***":                                "**_a_**",
		"a*b*c **d *e***":                        "a\\*b\\*c **d *e***",
		"# a **b**":                              "# a b",
		"#### a **b** c":                         "**a b c**",
		"- # a":                                  "- **a**",
		"> # a\n> b":                             "> # a\n> b",
		"> a\n>\n> ```go\n> b\n> ```\n> c":       "> a\n> \n> ```go\n> b\n> ```\n> c",
		"> a\n\nb":                               "> a\n\nb",
		"`a`` b`":                                "`a\u1fef\u1fef b`",
		"``a`b``":                                "`` a`b ``",
		"~~~\n```\n~~~":                          "```\n\u1fef\u1fef\u1fef\n```",
		"[a \\[b\\]](https://c.org)":             "a [b] (https://c.org)",
		"[a](https://b.org/c_(d))":               "[a](<https://b.org/c_(d)>)",
		"[a](mailto:b@c.org)":                    "a (mailto:b@c.org)",
		"||a|| ~~b~~":                            "||a|| ~~b~~",
		"1. a\n2. b\n   - c":                     "1. a\n2. b\n   - c",
		"[a](https://b.org/" + long(600) + ") c": "a (https://b.org/" + long(600) + ") c",
	} {
		if got := discord.Write(discord.Read(source)); got != want {
			t.Errorf("%q is written as %q, want %q", source, got, want)
		}
	}
}

func long(n int) string { return strings.Repeat("x", n) }

var writeSeeds = []string{
	"# A *b* `c`\n\n- [x] d\n  1. e\n     > f\n\n```go\ng\n```\n", "|a|b|\n|:-:|-:|\n|**c**|`d\\|e`|\n", "> a\n> > b\n>\n> ```\n> c\n> ```\n\n---\n",
	"***a** b* ~~c~~ ||d|| [e *f*](https://g.org) ![h](i) <https://j.org> <b>k</b> &amp; \\*l", "a\n- b\n# c\n> d\n1. e", "**a** *b***c**_d_***e***",
	"* **a**\n  **b**\n* \n", "[a](https://b.org) \\[c](d) `e` ``f ` g``", "\\# a\n\\> b\n\\- c\n1\\. d", "a_b_c __d__ *e*_f_",
}

// What is written is read as the same words, by the rules of Markdown that Discord shares.
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
		again := discord.Read(discord.Write(whole))
		if a, b := letters(whole.Text), letters(again.Text); a != b && !strings.Contains(whole.Text, "(leads to ") {
			t.Errorf("%q is written as %q, which reads %q instead of %q", source, discord.Write(whole), again.Text, whole.Text)
		}
	})
}

// letters leaves out all that numbers lists, is a sign of Markdown, or may be in the box of a task.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) && r != 'x' && r != 'X' {
			return r
		}
		return -1
	}, s)
}

func TestALongTextFullOfSignsFitsItsMessages(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	words := []string{"**a** ", "_b_ ", "`c` ", "\n- d ", "\n> e ", "\n\n# f\n", "[g](https://h.org/" + long(100) + ") ", "\\* ", "\\_ ", "\n\\# ", "\n\\> ", "\n```\ni\n```\n", "word "}
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
		lineartest.Check(t, name, 128<<10, func(n int) { discord.Split(discord.Read(channelstest.Nasty[name](n)), 2000) })
	}
}
