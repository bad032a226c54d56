package entities_test

import (
	"slices"
	"testing"

	"nanobot/channels"
	"nanobot/channels/telegram/entities"
	"nanobot/internal/fuzztest"
)

var seeds = []string{
	"# A *b* `c`\n\n- [x] d\n  1. e\n     > f\n\n```go\ng\n```\n",
	"|a|b|\n|:-:|-:|\n|**c**|`d\\|e`|\n", "> a\n> > b\n>\n> ```\n> c\n> ```\n\n---\n",
	"***a** b* ~~c~~ ||d|| [e *f*](https://g.org) ![h](i) <https://j.org> <b>k</b> &amp; \\*l",
	"[a][1] [1]\n\n[1]: https://b.org \"t\"\n", "    code\n\n\tcode\n", "这是**“粗体”。**文字 👩‍👩‍👧‍👦 e\u0301 🇩🇪🇫🇷",
	"a\r\nb\u202ec\x00\xff\u2028d", "**a** *b***c**_d_***e***", "- - - a\n- > - b\n\n  c\n", "*a `b` ||c `d` [e](f.g)||*",
	"a\n=\nb\n-\n<div>\nc\n</div>\n<!-- d -->", "**a***b*", "~~a *b~~ c*", "000\u0600 0", "_0_***0* 0**", "* 0\n\n\t  0", "* **a**\n  **b**\n* \n",
}

func FuzzRender(f *testing.F) {
	for _, s := range append(slices.Clone(seeds), fuzztest.Mutate(seeds, 2000)...) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, markdown string) {
		got := read(markdown)
		if wrong := check(got); wrong != "" {
			t.Errorf("%q became %+v: %s", markdown, got, wrong)
		}
		if visible(markdown) && got.Text == "" {
			t.Errorf("%q became nothing", markdown)
		}
	})
}

func FuzzSplit(f *testing.F) {
	for i, s := range seeds {
		f.Add(s, uint8(3*i+1), i%3 == 0)
	}
	for i, s := range fuzztest.Mutate(seeds, 2001) {
		f.Add(s, uint8(i), i%3 == 0)
	}
	f.Fuzz(func(t *testing.T, text string, limit uint8, plain bool) {
		whole := entities.Read(text, channels.Markdown)
		if plain {
			whole.Marks = nil
		}
		// Short limits find more, and zero counts as one.
		parts := entities.Split(whole, int(limit%64))
		if wrong := checkParts(entities.Write(whole), max(1, int(limit%64)), parts); wrong != "" {
			t.Errorf("%q cut at %d: %s\n%+v", text, limit%64, wrong, parts)
		}
	})
}
