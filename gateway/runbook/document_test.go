package runbook_test

import (
	"slices"
	"strings"
	"testing"

	"nanobot/gateway/runbook"
)

// outlineOf returns the labels of runbooks with those of their steps.
func outlineOf(books []runbook.Runbook) (all []string) {
	for _, b := range books {
		text := b.Label + ":"
		for _, s := range b.Steps {
			text += " " + s.Label
		}
		all = append(all, text)
	}
	return all
}

func TestEachH1OfADocumentBeginsARunbook(t *testing.T) {
	for text, want := range map[string][]string{
		"# A\n## One\n## Two\n":                                               {"A: One Two"},
		"hi\n# A\n## One\n# B\n\ntext\n# C\n## Two\n":                         {"A: One", "B: B", "C: Two"},
		"\ufeff# A\r\n## One\r\n# B\r\n":                                      {"A: One", "B: B"},
		"# A\n```\n# no\n```\n# B\n":                                          {"A: A", "B: B"},
		"Restart the server.\nThen wait.":                                     {"Restart the server.: Restart the server."},
		"\n---\n> * `make` it\n":                                              {"make` it: make` it"},
		"### Deep\n\n#### Deeper\n":                                           {"Deep: Deep"},
		strings.Repeat("é", 200):                                              {strings.Repeat("é", 80) + "…: " + strings.Repeat("é", 80) + "…"},
		"Do it.\n\n" + makeTest:                                               {"Do it.: Do it."},
		"## One\n# A\n## Two\n# B\n":                                          {"A: One Two", "B: B"},
		"# A\n" + makeTest + "\n# B\n" + makeTest + "\n# C\nPROOF OF WORK: x": {"A: A", "B: B", "C: C"},
	} {
		books, errors, warnings := runbook.ParseDocument(text)
		if got := outlineOf(books); len(errors)+len(warnings) > 0 || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %+v, %+v", text, got, errors, warnings)
		}
		for _, b := range books {
			again, errors, _ := runbook.ParseDocument(b.Text)
			if len(errors) > 0 || !slices.Equal(outlineOf(again), outlineOf([]runbook.Runbook{b})) {
				t.Errorf("%q: parsed again %q, %+v", text, outlineOf(again), errors)
			}
		}
	}
	books, _, _ := runbook.ParseDocument("Do it.\n\n" + makeTest)
	if s := books[0].Steps[0]; s.Body != "Do it." || s.Challenge == nil || s.Challenge.Command != "make test" {
		t.Errorf("the step is %+v", s)
	}
}

func TestProblemsOfADocumentHaveItsLines(t *testing.T) {
	magic := "```json\n{\"challenge\":{\"type\":\"magic\"}}\n```\n"
	ignored := "```yaml\nchallenge: {}\n```\n"
	for text, want := range map[string]struct{ mistakes, doubts []int }{
		"# A\n" + magic + "# B\n" + magic:       {[]int{2, 6}, nil},
		"# A\n" + ignored + "\n# B\n" + ignored: {nil, []int{2, 7}},
		"x\n" + magic:                           {[]int{2}, nil},
		ignored:                                 {nil, []int{1}},
		"## Step\n":                             {[]int{1}, nil},
		"---\n":                                 {[]int{1}, nil},
		"# A\n\n# B\n\n# A\n":                   {[]int{5}, nil},
		"# A\n\n#\n":                            {[]int{3}, nil},
		"# A\n# B\n" + strings.Repeat("> ", 20): {[]int{3}, nil},
	} {
		_, errors, warnings := runbook.ParseDocument(text)
		lines := func(problems []runbook.Problem) (all []int) {
			for _, p := range problems {
				all = append(all, p.Line)
			}
			return all
		}
		if !slices.Equal(lines(errors), want.mistakes) || !slices.Equal(lines(warnings), want.doubts) {
			t.Errorf("%q: %+v, %+v", text, errors, warnings)
		}
	}
}
