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
	Score      float64  `json:"score"`
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

// kairosSearch finds runbooks by words in their labels and texts. Without words it lists all.
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
			URI: uri, Label: b.Steps[0].Label, ChainLabel: b.Label, Score: score, Role: "match", Tags: []string{},
			NextAction: fmt.Sprintf("call kairos_begin with %s to execute this protocol", uri),
		})
	}
	slices.SortStableFunc(choices, func(a, b searchChoice) int { return cmp.Compare(b.Score, a.Score) })
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
		r.NextAction = "call kairos_search with other words, or with an empty query to list all"
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
// in the runbook's label, and less if it is only a prefix of a word.
func (b libraryEntry) score(words []string) float64 {
	if len(words) == 0 {
		return 1
	}
	var steps strings.Builder
	for _, s := range b.Steps {
		steps.WriteString(s.Label + "\n")
	}
	places := []struct {
		words  []string
		weight float64
	}{{splitWords(b.Label), 1}, {splitWords(steps.String()), 0.8}, {splitWords(b.Text), 0.5}}
	sum := 0.0
	for _, w := range words {
		best := 0.0
		for _, p := range places {
			best = max(best, p.weight*matchWord(w, p.words))
		}
		sum += best
	}
	return math.Round(sum/float64(len(words))*1000) / 1000
}

// matchWord returns 1 if a word is in the list, and less if it is only a prefix of one.
func matchWord(word string, among []string) float64 {
	best := 0.0
	for _, w := range among {
		if w == word {
			return 1
		}
		if strings.HasPrefix(w, word) {
			best = 0.7
		}
	}
	return best
}
