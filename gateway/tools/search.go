package tools

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
)

// maxChoices limits the runbooks that a search with words returns.
const maxChoices = 50

type searchChoice struct {
	URI        string   `json:"uri"`
	Label      string   `json:"label"`
	ChainLabel string   `json:"chain_label"`
	Score      *float64 `json:"score"` // null if it is no match
	Role       string   `json:"role"`
	Tags       []string `json:"tags"`
	NextAction string   `json:"next_action"`
}

type searchResult struct {
	MustObey   bool           `json:"must_obey"`
	Message    string         `json:"message"`
	NextAction string         `json:"next_action"`
	Choices    []searchChoice `json:"choices"`
}

// kairosSearch finds runbooks by words in their labels, file names and texts. Without words it
// lists all.
func (s *session) kairosSearch(ctx context.Context, c call) (any, error) {
	query := c.args.text("query", 1<<10)
	if c.args.err != nil {
		return nil, c.args.err
	}
	books, err := s.allRunbooks(ctx)
	if err != nil {
		return nil, err
	}
	words := splitWords(query)
	choices := []searchChoice{}
	for _, b := range books {
		score := b.score(words)
		if score == 0 {
			continue
		}
		uri := b.stepURI(1)
		choices = append(choices, searchChoice{
			URI: uri, Label: b.Steps[0].Label, ChainLabel: b.Label, Score: &score, Role: "match", Tags: []string{},
			NextAction: fmt.Sprintf("call kairos_begin with %s to execute this protocol", uri),
		})
	}
	slices.SortStableFunc(choices, func(a, b searchChoice) int { return cmp.Compare(*b.Score, *a.Score) })
	if len(words) > 0 {
		choices = choices[:min(len(choices), maxChoices)]
	}
	return newSearchResult(choices), nil
}

func newSearchResult(choices []searchChoice) searchResult {
	r := searchResult{MustObey: true, Choices: choices}
	switch len(choices) {
	case 0:
		r.Message = "No runbook matches."
		r.NextAction = "call kairos_search with other words, or with an empty query to list all; if none fits, follow the " +
			"next_action of the choice"
		r.Choices = []searchChoice{{
			Label: "Store a new runbook", Role: "create", Tags: []string{},
			NextAction: "if the user wants a new runbook, call kairos_mint with its Markdown as markdown_doc",
		}}
	case 1:
		r.Message = "One runbook matches."
		r.NextAction = choices[0].NextAction
	default:
		r.Message = fmt.Sprintf("%d runbooks match.", len(choices))
		r.NextAction = "choose one of the choices and follow its next_action"
	}
	return r
}

// splitWords returns the words of a text in lower case.
func splitWords(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text),
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// score rates how well a runbook matches some words, from 0 (not at all) to 1. A word counts most
// in the runbook's label and file name, and less if only its stem or its beginning matches.
func (b libraryEntry) score(words []string) float64 {
	if len(words) == 0 {
		return 1
	}
	var steps strings.Builder
	for _, s := range b.Steps {
		steps.WriteString(s.Label + "\n")
	}
	places := []struct {
		words  wordSet
		weight float64
	}{{newWordSet(b.Label + " " + b.name), 1}, {newWordSet(steps.String()), 0.8}, {newWordSet(b.Text), 0.5}}
	sum := 0.0
	for _, w := range words {
		best := 0.0
		for _, p := range places {
			best = max(best, p.weight*p.words.match(w))
		}
		sum += best
	}
	return math.Round(sum/float64(len(words))*1000) / 1000
}

// wordSet has the words of a text and their stems.
type wordSet struct{ words, stems map[string]bool }

func newWordSet(text string) wordSet {
	s := wordSet{map[string]bool{}, map[string]bool{}}
	for _, w := range splitWords(text) {
		s.words[w], s.stems[stemOf(w)] = true, true
	}
	return s
}

// match returns 1 if a word is in the set, and less if only its stem is, or if it is a prefix of a
// word.
func (s wordSet) match(word string) float64 {
	if s.words[word] {
		return 1
	}
	if s.stems[stemOf(word)] {
		return 0.9
	}
	for w := range s.words {
		if strings.HasPrefix(w, word) {
			return 0.7
		}
	}
	return 0
}

// suffixes are endings of English and German words, longer ones before those that they end with.
var suffixes = []string{
	"ication", "ation", "ating", "ated", "ate", "ion", "ment", "ungen", "ung", "ing", "ied", "ed", "ie", "en", "er",
	"e",
}

// minStem is the length of the shortest stem.
const minStem = 3

// stemOf returns a word without its plural and its ending, such as deploy for deployments. It only
// has to be the same for most forms of a word.
func stemOf(word string) string {
	if stem := strings.TrimSuffix(word, "s"); len(stem) >= minStem && !strings.HasSuffix(stem, "s") {
		word = stem
	}
	for _, suffix := range suffixes {
		if stem, found := strings.CutSuffix(word, suffix); found && len(stem) >= minStem {
			word = stem
			break
		}
	}
	last := len(word) - 1
	switch {
	case last < minStem:
	case word[last] == word[last-1], word[last] == 'y' && !strings.ContainsRune("aeiou", rune(word[last-1])):
		word = word[:last] // running and run, verify and verification
	}
	return word
}
