package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/config"
	"nanobot/internal/words"
)

// wordsBegin is the line before the generated part of docs/words.md.
const wordsBegin = "<!-- Generated from the catalogue. Write it with: go test ./cmd/nanobot -run TestTheWordsPageListsTheCatalogue -update -->\n"

func TestTheWordsPageListsTheCatalogue(t *testing.T) {
	t.Parallel()
	page := filepath.Join("..", "..", "docs", "words.md")
	text, err := os.ReadFile(page)
	must(t, err)
	before, rest, begins := strings.Cut(string(text), wordsBegin)
	_, after, ends := strings.Cut(rest, configurationEnd)
	if !begins || !ends {
		t.Fatalf("%s has no generated part", page)
	}
	want := before + wordsBegin + catalogueTable() + configurationEnd + after
	switch {
	case want == string(text):
	case *update:
		must(t, os.WriteFile(page, []byte(want), 0o644))
	default:
		t.Errorf("%s differs from the catalogue; write it with -update", page)
	}
}

func catalogueTable() string {
	cell := strings.NewReplacer("|", "\\|", "\n", "⏎")
	var b strings.Builder
	b.WriteString("| name | English | German |\n| --- | --- | --- |\n")
	for _, k := range words.Keys() {
		fmt.Fprintf(&b, "| `%s` |", k)
		for _, l := range words.Languages() {
			fmt.Fprintf(&b, " `%s` |", cell.Replace(words.Template(k, l)))
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestTheConfigKnowsTheLanguagesOfTheCatalogue(t *testing.T) {
	t.Parallel()
	schema, err := config.Schema(extensions())
	must(t, err)
	for _, l := range words.Languages() {
		if !strings.Contains(string(schema), fmt.Sprintf("%q", string(l))) {
			t.Errorf("gateway.language does not accept %q", l)
		}
	}
}
