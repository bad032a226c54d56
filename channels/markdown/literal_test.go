package markdown_test

import (
	"strings"
	"testing"

	"nanobot/channels"
	"nanobot/channels/markdown"
	"nanobot/internal/words"
)

func TestALiteralTextHasNoMarks(t *testing.T) {
	const source = "# x\n__init__ *a* `b` &amp; \\_\n\n\n  - item  with blanks\n<b>https://example.org/a_b_c</b>"
	got := layout.As(channels.Literal).Text(source + " \n\n")
	if got.Text != source || len(got.Marks) != 0 {
		t.Errorf("got %q with marks %v", got.Text, got.Marks)
	}
}

func TestCodeIsOneBlockWhateverItContains(t *testing.T) {
	got := layout.As(channels.Code).Text("\n \n  a\n```\n~~~\n\n    b  \n\n")
	if want := "  a\n```\n~~~\n\n    b"; got.Text != want || len(got.Marks) != 1 || got.Marks[0] != (markdown.Mark{Kind: markdown.CodeBlock, End: len(want)}) {
		t.Errorf("got %q with marks %v", got.Text, got.Marks)
	}
}

func TestALongBlockOfCodeIsSplitIntoBlocksAtLineEnds(t *testing.T) {
	source := strings.TrimSpace(strings.Repeat("a  ``` b\n", 100))
	parts := layout.As(channels.Code).Text(source).Split(100, runes)
	lines := 0
	for _, p := range parts {
		if len(p.Marks) != 1 || p.Marks[0].Kind != markdown.CodeBlock || p.Marks[0].End != len(p.Text) {
			t.Errorf("the part %q has marks %v", p.Text, p.Marks)
		}
		lines += 1 + strings.Count(p.Text, "\n")
	}
	if len(parts) < 9 || lines != 100 {
		t.Errorf("%d lines in %d parts", lines, len(parts))
	}
}

func TestAddressesInALiteralTextAreLinks(t *testing.T) {
	for source, want := range map[string]string{
		"see https://a.example/x_y?z=1.":          "https://a.example/x_y?z=1",
		"(http://b.example/c)":                    "http://b.example/c",
		"[text](https://c.example) <https://d.e>": "https://c.example https://d.e",
		"xhttps://e.example javascript:x //f":     "",
	} {
		got := &autoLinks{}
		markdown.Walk(source, channels.Literal, got)
		if strings.Join(got.urls, " ") != want {
			t.Errorf("%q has the links %q", source, got.urls)
		}
	}
}

func TestAFileWithALiteralTextIsNoMarkdown(t *testing.T) {
	const source = "# Title\n\n- a\n- b\n\n```\nc\n```"
	for format, want := range map[channels.Format]string{channels.Markdown: "answer.md", channels.Literal: "answer.txt", channels.Code: "answer.txt"} {
		if doc := markdown.Document(source, format); doc.Name != want || doc.Content != source {
			t.Errorf("%q becomes %s", format, doc.Name)
		}
	}
}

func TestAnExcerptOfALiteralTextHasNoClosingFence(t *testing.T) {
	source := "```\n" + strings.Repeat("some words\n", 100)
	if got := markdown.Excerpt(source, channels.Literal, 300, words.Words{}); strings.Count(got, "```") != 1 {
		t.Errorf("got %q", got)
	}
}
