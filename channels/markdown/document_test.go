package markdown_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"nanobot/channels"
	"nanobot/channels/markdown"
	"nanobot/internal/words"
)

const moreInFile = "… (the whole answer is in the file)"

var runes = markdown.Cost{Words: channels.Runes}

func TestTheDocumentIsNamedForWhatItHolds(t *testing.T) {
	filler := strings.Repeat("\n2024-01-02 12:00:00 INFO a line of a log: 2 ** 3 ** 4, see https://example.org/", 20)
	for _, tt := range []struct{ text, name string }{
		{filler, "answer.txt"},
		{"****** x ******" + filler, "answer.txt"},
		{"#!/bin/sh" + filler, "answer.txt"},
		{"# Heading" + filler, "answer.md"},
		{"- item" + filler, "answer.md"},
		{"a **bold** word" + filler, "answer.md"},
		{"a `code` word" + filler, "answer.md"},
		{"a [link](b)" + filler, "answer.md"},
		{"|a|b|\n|-|-|\n" + filler, "answer.md"},
		{filler + "\n```\nx\n```", "answer.md"},
	} {
		if doc := markdown.Document(tt.text, channels.Markdown); doc.Name != tt.name || doc.Content != tt.text || doc.Size != int64(len(tt.text)) {
			t.Errorf("%.20q is a document %s of %d bytes, want %s", tt.text, doc.Name, doc.Size, tt.name)
		}
	}
}

func TestTheDocumentSurvivesBeingStored(t *testing.T) {
	doc := markdown.Document(strings.Repeat("\xff x", 500), channels.Markdown)
	if !utf8.ValidString(doc.Content) || doc.Size != int64(len(doc.Content)) {
		t.Errorf("size %d of %.20q", doc.Size, doc.Content)
	}
}

func TestTheBeginningOfALongTextEndsWell(t *testing.T) {
	text := "# First *paragraph*.\n\n" + strings.Repeat("A sentence of the second paragraph. ", 1000)
	got := notate(layout.Beginning(text, 1024, runes, words.Words{}))
	begin, ok := strings.CutSuffix(got, "\n\n"+moreInFile)
	if !ok || !strings.HasPrefix(begin, "<h1>First <i>paragraph</i>.</h>\n\nA sentence") || !strings.HasSuffix(begin, "paragraph.") || len(begin) < 500 {
		t.Errorf("beginning %q", got)
	}
}

func TestTheBeginningFitsWhateverTheLimit(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("Some 👍 words. ", 200), strings.Repeat("\n", 50) + strings.Repeat(" ", 5000) + strings.Repeat("x", 5000),
		"[" + strings.Repeat("a", 5000) + "](https://example.org)",
	} {
		for limit := 1; limit < 300; limit++ {
			got := layout.Beginning(text, limit, runes, words.Words{}).Text
			if strings.TrimSpace(got) == "" || channels.Runes(got) > limit || !strings.Contains(got, "…") {
				t.Fatalf("limit %d: got %q", limit, got)
			}
		}
	}
}
