package entities_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"nanobot/channels"
	"nanobot/channels/telegram/entities"
)

func TestPartsEndAtGoodSeams(t *testing.T) {
	for _, tt := range []struct {
		name, markdown string
		limit          int
		want           []string
	}{
		{"all fits", "a **b**", 10, []string{"a <bold>b</bold>"}},
		{"at an empty line", "one two 3\n\nthree four five", 16, []string{"one two 3", "three four five"}},
		{"at a line", "one two 3\nthree four five", 16, []string{"one two 3", "three four five"}},
		{"before an item", "- one two\n- three\n  four", 20, []string{"• one two", "• three\n  four"}},
		{"at a sentence", "One two. Three four", 16, []string{"One two.", "Three four"}},
		{"at a space", "one two three four", 16, []string{"one two three", "four"}},
		{"not in a word", "one twothreefourfive", 17, []string{"one", "twothreefourfive"}},
		{"in a word that is too long", "abcdefghij", 4, []string{"abcd", "efgh", "ij"}},
		{"at Chinese punctuation", "一二三，四五六七", 7, []string{"一二三，", "四五六七"}},
		{"not after a heading", "text text text\n\n# Head\nmore", 24, []string{"text text text", "<bold>Head</bold>\nmore"}},
		{"before code", "words and words\n```\ncode\n```", 18, []string{"words and words", "<pre>code</pre>"}},
		{"bold goes on", "**one two three**", 8, []string{"<bold>one two</bold>", "<bold>three</bold>"}},
		{
			"a link stays whole", "see it [one two](https://a.org) three", 12,
			[]string{"see it", "<text_link https://a.org>one two</text_link>", "three"},
		},
		{
			"a long link goes on", "[one two three](https://a.org)", 8,
			[]string{"<text_link https://a.org>one two</text_link>", "<text_link https://a.org>three</text_link>"},
		},
		{
			"code keeps its language and its indentation", "```go\nif xyz {\n\n\ty()\n}\n```", 12,
			[]string{"<pre go>if xyz {</pre>", "<pre go>\n\ty()\n}</pre>"},
		},
		{
			"a quote with code", "> one two\n> ```sh\n> ls\n> ```", 9,
			[]string{"<blockquote>one two</blockquote>", "<blockquote><pre sh>ls</pre></blockquote>"},
		},
		{"not in an emoji", "👩‍👩‍👧‍👦👩‍👩‍👧‍👦", 12, []string{"👩‍👩‍👧‍👦", "👩‍👩‍👧‍👦"}},
		{"an emoji of one rune has two units", "**👍👍👍**", 5, []string{"<bold>👍👍</bold>", "<bold>👍</bold>"}},
		{"a limit that nothing fits", "a👍", 0, []string{"a", "👍"}},
		{"a long indentation goes", "aaaa\n" + strings.Repeat(" ", 50) + "b", 8, []string{"aaaa", "b"}},
		{"blank", " ", 8, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			whole := entities.Read(tt.markdown, channels.Markdown)
			parts := entities.Split(whole, tt.limit)
			var got []string
			for _, p := range parts {
				got = append(got, notate(p))
			}
			if strings.Join(got, "¦") != strings.Join(tt.want, "¦") {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
			if wrong := checkParts(entities.Write(whole), max(tt.limit, 1), parts); wrong != "" {
				t.Error(wrong)
			}
		})
	}
}

func TestALinkOutlivesItalicsWhenThereAreTooManyEntities(t *testing.T) {
	parts := entities.Split(entities.Read(strings.Repeat("*a* `b` ", 100)+"[c](https://d.org)", channels.Markdown), 4096)
	if len(parts) != 1 || len(parts[0].Entities) != 100 {
		t.Fatalf("%d parts, the first with %d entities", len(parts), len(parts[0].Entities))
	}
	if last := parts[0].Entities[99]; last.Type != "text_link" {
		t.Errorf("the last is %+v", last)
	}
	if wrong := check(parts[0]); wrong != "" {
		t.Error(wrong)
	}
}

// words are what random Markdown is put together from.
var words = []string{
	"a", "word", "Sentence.", "**", "*", "_", "__", "~~", "||", "`", "``", "é", "e\u0301", "👩‍👩‍👧‍👦", "👍", "狐狸。", "🇩🇪",
	"[", "](https://example.org)", "![", "](x)", "<br>", "<b>", "&amp;", "\\", "|", "https://example.org/a_b",
	" ", " ", " ", "\n", "\n", "\n\n", "\n# ", "\n- ", "\n1. ", "\n  - ", "\n    ", "\n> ", "\n> > ", "\n- [x] ",
	"\n```go\n", "\n```\n", "\n|a|b|\n|-|-|\n|", "\n---\n", "\u00a0", "\t", "\u200b", "\r\n", "[1]", "\n[1]: https://e.org\n",
}

func TestRandomMarkdownKeepsThePromises(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var b strings.Builder
		for range r.IntN(80) {
			b.WriteString(words[r.IntN(len(words))])
		}
		whole := entities.Read(b.String(), channels.Markdown)
		if wrong := check(entities.Write(whole)); wrong != "" {
			t.Fatalf("%q: %s", b.String(), wrong)
		}
		limit := 1 + r.IntN(60)
		if wrong := checkParts(entities.Write(whole), limit, entities.Split(whole, limit)); wrong != "" {
			t.Fatalf("%q cut at %d: %s", b.String(), limit, wrong)
		}
	}
}

func TestNoWordIsLost(t *testing.T) {
	tokens := []string{
		" ", " ", "\n", "\n\n", "\n# ", "\n- ", "\n  1. ", "\n> ", "\n```\n", "\n    ", "\n|a|b|\n|-|-|\n|", "|", "\\|", "\n---\n", "\n===\n",
		"**", "*", "_", "~~", "||", "`word`", "[word](https://e.org)", "![word](x.png)", "[word]", "[word]: ", "<b>", "<br>", "<!-- ", "&lt;",
	}
	r := rand.New(rand.NewPCG(3, 4))
	for range 3000 {
		var b strings.Builder
		for range r.IntN(40) {
			b.WriteString("word" + tokens[r.IntN(len(tokens))])
		}
		got := read(b.String())
		if said, want := strings.Count(got.Text, "word"), strings.Count(b.String(), "word"); said < want {
			t.Fatalf("%q became %q: %d words instead of %d", b.String(), got.Text, said, want)
		}
	}
}
