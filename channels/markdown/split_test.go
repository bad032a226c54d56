package markdown_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"nanobot/channels"
	"nanobot/channels/channelstest"
	"nanobot/channels/markdown"
	"nanobot/internal/fuzztest"
	"nanobot/internal/killtest"
	"nanobot/internal/lineartest"
)

// layout has links that can be tapped if they have a scheme.
var layout = markdown.Layout{Target: func(destination string) string {
	if strings.Contains(destination, "://") {
		return destination
	}
	return ""
}}

func TestPartsEndAtTheBestSeam(t *testing.T) {
	family := "👩‍👩‍👧‍👦"
	for _, tt := range []struct {
		name, source string
		limit        int
		want         []string
	}{
		{"nothing", "", 10, nil},
		{"only white space", " \n\t ", 1, nil},
		{"an empty line before an item", "aaaa aaaa a\n\nbbbb\n- h\n  cc dd", 23, []string{"aaaa aaaa a", "bbbb\n• h\n  cc dd"}},
		{"a heading before the end of a line", "aaaa aaaa a\n# h\nbbbb\ncccc dddd", 19, []string{"aaaa aaaa a", "h\nbbbb\ncccc dddd"}},
		{"an item before the end of a line", "aaaa aaaa a\n- b\n  bbbb\n  cccc dddd", 25, []string{"aaaa aaaa a", "• b\n  bbbb\n  cccc dddd"}},
		{"the end of a line before that of a sentence", "aaaa aaaa\nbb. cccc cccc", 18, []string{"aaaa aaaa", "bb. cccc cccc"}},
		{"the end of a sentence before that of a word", "aaa aaa. bbbb cccc cccc", 15, []string{"aaa aaa.", "bbbb cccc cccc"}},
		{"a sentence in quotes", "aaa \"aaa.\" bbbb cccc cccc", 17, []string{"aaa \"aaa.\"", "bbbb cccc cccc"}},
		{"the end of a word before its middle", "aaaa aaaa bbbbbbbbbb", 14, []string{"aaaa aaaa", "bbbbbbbbbb"}},
		{"a character where there is no space", "aaaaaaaaaa", 4, []string{"aaaa", "aaaa", "aa"}},
		{"no seam in the first half", "a\n\nbbbb bbbb bbbb cccc", 18, []string{"a\n\nbbbb bbbb bbbb", "cccc"}},
		{"a heading keeps with its text", "aaaa aaaa aaaa\nbb\n## h\n\ncccc cccc cc", 26, []string{"aaaa aaaa aaaa\nbb", "h\n\ncccc cccc cc"}},
		{"Chinese is cut behind its full stop", "敏捷的狐狸。跳过了懒狗", 9, []string{"敏捷的狐狸。", "跳过了懒狗"}},
		{"a no-break space holds words together", "aaaa aa\u00a0bb", 8, []string{"aaaa", "aa\u00a0bb"}},
		{"white space longer than a part is one seam", "a" + strings.Repeat(" ", 50) + "b", 5, []string{"a", "b"}},
		{"one character a part", "a bc\n\nd", 1, []string{"a", "b", "c", "d"}},
		{"a limit of nothing counts as one", "ab", 0, []string{"a", "b"}},
		{"joined emoji", family + family, 10, []string{family, family}},
		{"a cluster too long for any part", family, 4, []string{"👩‍👩‍", "👧‍👦"}},
		{"flags", "🇩🇪🇫🇷", 3, []string{"🇩🇪", "🇫🇷"}},
		{"combining marks", "aae\u0301", 3, []string{"aa", "e\u0301"}},
		{"words before a cluster too long for any part", "aa " + family, 4, []string{"aa", "👩‍👩‍", "👧‍👦"}},
		{"a URL", "see https://a.b/c?d=e. Next", 20, []string{"see", "https://a.b/c?d=e.", "Next"}},
		{"a link", "aaaa aaa [b b](https://a.org) cc", 10, []string{"aaaa aaa", "b b cc"}},
		{"code in a line", "aaaa aaa `b b` cc", 10, []string{"aaaa aaa", "b b cc"}},
		{
			"a link and its warning", "aaaa aaaa aaaa aaaa [b.example](https://evil.example) cc", 48,
			[]string{"aaaa aaaa aaaa aaaa", "b.example (leads to evil.example) cc"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			whole := layout.Text(tt.source)
			var got []string
			for _, p := range whole.Split(tt.limit, markdown.Cost{Words: channels.Runes}) {
				got = append(got, p.Text)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("\n got %q\nwant %q", got, tt.want)
			}
		})
	}
}

func TestTheSignsOfFormattingAreCounted(t *testing.T) {
	for _, tt := range []struct {
		name, source string
		limit        int
		want         []string
	}{
		{"without any", "one two three", 13, []string{"one two three"}},
		{"bold", "one **two** three", 13, []string{"one <b>two</b>", "three"}},
		{"bold that goes on", "**one two three**", 12, []string{"<b>one two</b>", "<b>three</b>"}},
		{"a link", "one [two](https://a.org) three", 24, []string{"one <a https://a.org>two</a>", "three"}},
		{"lines of a quote", "> a\n> b\n> c", 10, []string{"<quote>a\nb</quote>", "<quote>c</quote>"}},
		{"lines without a quote", "a\nb\nc", 5, []string{"a\nb\nc"}},
		{"code that goes on", "```go\naaaa\nbbbb\n```", 12, []string{"<pre go>aaaa</pre>", "<pre go>bbbb</pre>"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			whole := layout.Text(tt.source)
			parts := whole.Split(tt.limit, signs)
			var got []string
			for _, p := range parts {
				got = append(got, notate(p))
				if n := costOf(p, signs); n > tt.limit {
					t.Errorf("%q costs %d", notate(p), n)
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("\n got %q\nwant %q", got, tt.want)
			}
		})
	}
}

var seeds = []string{
	"# A *b* `c`\n\n- [x] d\n  1. e\n     > f\n\n```go\ng\n```\n", "|a|b|\n|:-:|-:|\n|**c**|`d\\|e`|\n", "> a\n> > b\n>\n> ```\n> c\n> ```\n\n---\n",
	"***a** b* ~~c~~ ||d|| [e *f*](https://g.org) ![h](i) <https://j.org> <b>k</b> &amp; \\*l", "[a][1] [1]\n\n[1]: https://b.org \"t\"\n",
	"这是**“粗体”。**文字 👩‍👩‍👧‍👦 e\u0301 🇩🇪🇫🇷", "a\r\nb\u202ec\x00\xff\u2028d", "**a** *b***c**_d_***e***", "- - - a\n- > - b\n\n  c\n", ">>> a\n> b",
	"*a `b` ||c `d` [e](f.g)||*", "a\n=\nb\n-\n<div>\nc\n</div>\n<!-- d -->", "**a***b*", "~~a *b~~ c*", "* **a**\n  **b**\n* \n",
}

func FuzzSplit(f *testing.F) {
	for i, s := range append(slices.Clone(seeds), fuzztest.Mutate(seeds, 1500)...) {
		f.Add(s, uint8(i), i%2 == 0)
	}
	f.Fuzz(func(t *testing.T, source string, limit uint8, withSigns bool) {
		whole := layout.Text(source)
		if wrong := check(whole); wrong != "" {
			t.Fatalf("%q: %s", source, wrong)
		}
		if markdown.Visible(strings.ToValidUTF8(source, "\uFFFD")) && whole.Text == "" {
			t.Errorf("%q became nothing", source)
		}
		cost, most := markdown.Cost{Words: channels.Runes}, max(1, int(limit%64))
		if withSigns {
			cost, most = signs, 150+int(limit) // with room for some words beside the signs around them
		} else {
			whole.Marks = nil
		}
		if wrong := checkParts(whole, most, cost, whole.Split(most, cost)); wrong != "" {
			t.Errorf("%q cut at %d: %s", source, most, wrong)
		}
	})
}

// pieces are what random Markdown is put together from.
var pieces = []string{
	"a", "word", "Sentence.", "**", "*", "_", "__", "~~", "||", "`", "``", "e\u0301", "👩‍👩‍👧‍👦", "狐狸。", "[", "](https://example.org)", "![", "](x)",
	"<br>", "&amp;", "\\", "|", "https://example.org/a_b", " ", " ", " ", "\n", "\n", "\n\n", "\n# ", "\n- ", "\n1. ", "\n  - ", "\n    ", "\n> ", "\n> > ",
	"\n- [x] ", "\n```go\n", "\n```\n", "\n|a|b|\n|-|-|\n|", "\n---\n", "\u00a0", "\t", "\r\n", "[1]", "\n[1]: https://e.org\n",
}

// Each part is short enough whatever its formatting, if the limit leaves room for some words beside
// the signs around them.
func TestPartsOfRandomMarkdownFit(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	texts := killtest.Rounds(t, 1000, 50_000)
	for range texts {
		var b strings.Builder
		for range r.IntN(120) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		whole, limit := layout.Text(b.String()), 150+r.IntN(100)
		parts := whole.Split(limit, signs)
		if wrong := checkParts(whole, limit, signs, parts); wrong != "" {
			t.Fatalf("%q cut at %d: %s", b.String(), limit, wrong)
		}
		for _, p := range parts {
			if n := costOf(p, signs); n > limit {
				t.Fatalf("%q cut at %d has a part that costs %d: %q", b.String(), limit, n, notate(p))
			}
		}
	}
}

func TestEveryLineOfCodeStays(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	lines := []string{"", "", "  ", "x", "\tif x {", "    }", "# no heading", "- no item", "|a|b|", "|-|-|", "a. b. ", "[x](y", "`", "é👍"}
	for range 1000 {
		code := []string{"first"}
		for range 1 + r.IntN(60) {
			code = append(code, lines[r.IntN(len(lines))])
		}
		body := strings.Join(append(code, "last"), "\n")
		parts := layout.Text("~~~\n"+body+"\n~~~").Split(64+r.IntN(64), signs)
		var got []string
		for _, p := range parts {
			got = append(got, strings.TrimRight(p.Text, "\n"))
		}
		if a, b := withoutEmptyLines(strings.Join(got, "\n")), withoutEmptyLines(body); a != b {
			t.Fatalf("code changed\n got %q\nwant %q", a, b)
		}
	}
}

// withoutEmptyLines leaves out empty lines, and white space at the ends of lines, which may be a
// seam.
func withoutEmptyLines(s string) string {
	var lines []string
	for l := range strings.Lines(s) {
		if l = strings.TrimRight(l, " \t\n"); l != "" {
			lines = append(lines, l)
		}
	}
	return strings.Join(lines, "\n")
}

func TestNastyMarkdownTakesNoLongerThanItsLengthAllows(t *testing.T) {
	for name, text := range channelstest.PathologicalMarkdown {
		lineartest.Check(t, name, 64<<10, func(n int) { layout.Text(text(n)).Split(2000, signs) })
	}
}

// BenchmarkNasty reads and cuts what is about the longest text that any channel reads.
func BenchmarkNasty(b *testing.B) {
	for _, name := range slices.Sorted(maps.Keys(channelstest.PathologicalMarkdown)) {
		b.Run(name, func(b *testing.B) {
			source := channelstest.PathologicalMarkdown[name](256 << 10)
			b.SetBytes(int64(len(source)))
			for b.Loop() {
				layout.Text(source).Split(2000, signs)
			}
		})
	}
}

// BenchmarkAnswer reads and cuts an answer of the usual length.
func BenchmarkAnswer(b *testing.B) {
	source := channelstest.PathologicalMarkdown["prose"](4 << 10)
	b.SetBytes(int64(len(source)))
	b.ReportAllocs()
	for b.Loop() {
		layout.Text(source).Split(2000, signs)
	}
}
