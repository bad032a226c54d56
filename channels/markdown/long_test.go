package markdown_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"nanobot/channels"
	"nanobot/channels/markdown"
	"nanobot/internal/lineartest"
	"nanobot/internal/words"
)

const restInFile = "… (the whole answer is in the file)"

// reading is a renderer that collects the words in code and those outside.
type reading struct {
	code, words strings.Builder
	inCode      bool
}

func (r *reading) Begin(e markdown.Element) { r.inCode = r.inCode || e.Kind == markdown.CodeBlock }

func (r *reading) End(e markdown.Element) { r.inCode = r.inCode && e.Kind != markdown.CodeBlock }

func (r *reading) Text(s string) {
	if r.inCode {
		r.code.WriteString(s)
	} else {
		r.words.WriteString(s)
	}
}

func (*reading) Break(string) {}

func (*reading) Table(markdown.Table) {}

func TestAnExcerptClosesTheCodeThatItEndsIn(t *testing.T) {
	lines := func(prefix string) string { return strings.Repeat(prefix+"x := 1\n", 500) }
	for name, source := range map[string]string{
		"backticks":        "Before.\n\n```go\n" + lines(""),
		"tildes":           "~~~\n" + lines(""),
		"a longer fence":   "``````\n```\n" + lines(""),
		"an indented one":  "Before.\n\n  ```go\n" + lines("  "),
		"behind another":   "```\na\n```\n\n~~~~\n" + lines(""),
		"a quote":          "> ```go\n" + lines("> "),
		"a list":           "1. one\n2. two\n   ~~~\n" + lines("   "),
		"a list in quotes": "> > - ```\n" + lines("> >   "),
		"right behind":     "```go\n" + strings.Repeat("x", 5000),
		"empty lines":      "```go\n\n\n\n" + lines("\n"),
	} {
		got := markdown.Excerpt(source, channels.Markdown, 1000, words.Words{})
		r := &reading{}
		markdown.Walk(got, channels.Markdown, r)
		if !strings.HasSuffix(r.words.String(), restInFile) || strings.Contains(r.code.String(), restInFile) {
			t.Errorf("%s: what is said behind the code is in it: %q", name, got[len(got)-100:])
		}
		if strings.Count(r.code.String(), "x") < 50 {
			t.Errorf("%s: the code is lost: %q", name, got)
		}
		if n := utf8.RuneCountInString(got); n > 1000 {
			t.Errorf("%s: %d characters", name, n)
		}
	}
}

func TestAnExcerptEndsAtAGoodPlace(t *testing.T) {
	for source, want := range map[string]string{
		"First paragraph.\n\n" + strings.Repeat("A sentence of the second. ", 100): "First paragraph.\n\n" + strings.Repeat("A sentence of the second. ", 5) + "A sentence of the second.\n\n" + restInFile,
		"\n \n    indented\n    code\n\n" + strings.Repeat("a", 300):               "    indented\n    code\n\n" + strings.Repeat("a", 170) + "\n\n" + restInFile,
		"```\na\n```\n\n" + strings.Repeat("word ", 100):                           "```\na\n```\n\n" + strings.TrimSpace(strings.Repeat("word ", 36)) + "\n\n" + restInFile,
	} {
		if got := markdown.Excerpt(source, channels.Markdown, 230, words.Words{}); got != want {
			t.Errorf("%.20q: got %q, want %q", source, got, want)
		}
	}
}

func TestAnExcerptFitsWhateverTheLimit(t *testing.T) {
	for _, source := range []string{
		strings.Repeat("Some 👍 words. ", 200),
		strings.Repeat("\n", 50) + strings.Repeat(" ", 5000) + strings.Repeat("x", 5000),
		strings.Repeat("`", 60) + "\n" + strings.Repeat("x := 1\n", 500),
		strings.Repeat("`", 5000),
		strings.Repeat("~~~\n", 1001),
		strings.Repeat(" ", 40) + "x",
	} {
		for limit := 1; limit < 300; limit++ {
			got := markdown.Excerpt(source, channels.Markdown, limit, words.Words{})
			if utf8.RuneCountInString(got) > limit || !strings.Contains(got, "…") {
				t.Fatalf("%.20q, limit %d: got %q", source, limit, got)
			}
		}
	}
}

func TestAnExcerptTakesNoLongerThanItsLengthAllows(t *testing.T) {
	for name, unit := range map[string]string{"fences": "```\n", "quoted fences": "> ```\n", "open fences": "```a\n", "spaces": " ", "words": "word ", "one word": "x"} {
		lineartest.Check(t, name, 1<<17, func(n int) {
			markdown.Excerpt("a"+strings.Repeat(unit, n/len(unit)), channels.Markdown, n/8, words.Words{})
		})
	}
}
