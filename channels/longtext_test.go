package channels_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"nanobot/channels"
)

const moreInFile = "… (the whole answer is in the file)"

func TestATextOfAFewBubblesGoesOutAsText(t *testing.T) {
	text := strings.Repeat("A sentence. ", 100)
	parts, doc := channels.Parts(text, 400, channels.UTF16, 4)
	if doc != nil || len(parts) < 3 || len(parts) > 4 {
		t.Errorf("got %d parts and document %v", len(parts), doc)
	}
	if parts, doc := channels.Parts(" \n", 400, channels.UTF16, 4); parts != nil || doc != nil {
		t.Errorf("nothing to say, but got %q and %v", parts, doc)
	}
}

func TestALongTextGoesOutAsADocumentWithItsBeginning(t *testing.T) {
	text := "First paragraph.\n\n" + strings.Repeat("A sentence of the second paragraph. ", 1000)
	parts, doc := channels.Parts(text, 4096, channels.UTF16, 4)
	if len(parts) != 1 || doc == nil {
		t.Fatalf("got %d parts and document %v", len(parts), doc)
	}
	begin, ok := strings.CutSuffix(parts[0], "\n\n"+moreInFile)
	if !ok || !strings.HasPrefix(text, begin) || !strings.HasSuffix(begin, "paragraph.") || len(begin) < 500 {
		t.Errorf("beginning %q", parts[0])
	}
	if n := channels.UTF16(parts[0]); n > 1024 {
		t.Errorf("the beginning measures %d, too long for a caption", n)
	}
	want := channels.File{Name: "answer.txt", Kind: channels.Document, Size: int64(len(text)), Content: text}
	if *doc != want {
		t.Errorf("document %s of %d bytes", doc.Name, doc.Size)
	}
}

func TestTextsThatCountAsFewButCutIntoManyAreLongToo(t *testing.T) {
	// Two words and the seam between them are 102, so each of the seven is a part.
	text := strings.Repeat(strings.Repeat("x", 50)+"\n\n", 7)
	if channels.Runes(text) > 400 {
		t.Fatal("the text would be long by its measure alone")
	}
	if parts, doc := channels.Parts(text, 100, channels.Runes, 4); len(parts) != 1 || doc == nil {
		t.Errorf("got %d parts and document %v", len(parts), doc)
	}
}

func TestTheBeginningClosesItsFence(t *testing.T) {
	text := "```go\n" + strings.Repeat("x := 1\n", 5000) + "```"
	parts, doc := channels.Parts(text, 2000, channels.Runes, 4)
	if doc == nil || !strings.HasSuffix(parts[0], "x := 1\n```\n\n"+moreInFile) {
		t.Errorf("beginning ends with %q", parts[0][len(parts[0])-60:])
	}
}

func TestTheDocumentIsNamedForWhatItHolds(t *testing.T) {
	filler := strings.Repeat("\n2024-01-02 12:00:00 INFO a line of a log: 2 ** 3 ** 4, see https://example.org/", 20)
	for _, tt := range []struct{ text, name string }{
		{filler, "answer.txt"},
		{"* * *\n*****" + filler, "answer.md"},
		{"****** x ******" + filler, "answer.txt"},
		{"#!/bin/sh" + filler, "answer.txt"},
		{"# Heading" + filler, "answer.md"},
		{"- item" + filler, "answer.md"},
		{"a **bold** word" + filler, "answer.md"},
		{"a `code` word" + filler, "answer.md"},
		{"a [link](b)" + filler, "answer.md"},
		{"|a|b|\n|-|-|" + filler, "answer.md"},
		{filler + "\n```\nx\n```", "answer.md"},
	} {
		_, doc := channels.Parts(tt.text, 100, channels.Runes, 4)
		if doc == nil || doc.Name != tt.name {
			t.Errorf("%.20q: document %+.60v, want %s", tt.text, doc, tt.name)
		}
	}
}

func TestTheDocumentSurvivesBeingStored(t *testing.T) {
	_, doc := channels.Parts(strings.Repeat("\xff x", 500), 100, channels.Runes, 4)
	if !utf8.ValidString(doc.Content) || doc.Size != int64(len(doc.Content)) {
		t.Errorf("size %d of %.20q", doc.Size, doc.Content)
	}
}

func TestTheBeginningFitsWhateverTheLimit(t *testing.T) {
	for _, text := range []string{strings.Repeat("Some 👍 words. ", 200), strings.Repeat("\n", 50) + strings.Repeat(" ", 5000) + strings.Repeat("x", 5000)} {
		for limit := 1; limit < 300; limit++ {
			parts, doc := channels.Parts(text, limit, channels.UTF16, 4)
			if len(parts) != 1 || doc == nil || strings.TrimSpace(parts[0]) == "" || channels.UTF16(parts[0]) > limit {
				t.Fatalf("limit %d: got %q", limit, parts)
			}
			if !strings.Contains(parts[0], "…") {
				t.Fatalf("limit %d: no mark in %q", limit, parts)
			}
		}
	}
}
