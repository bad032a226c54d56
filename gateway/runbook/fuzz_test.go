package runbook_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"nanobot/gateway/runbook"
	"nanobot/internal/fuzztest"
)

func FuzzParse(f *testing.F) {
	seeds := []string{
		"# Deploy\n\nintro\n\n## Build\n\nrun it\n\n" + makeTest + "\n\n## Ask\n\n~~~\n{\"challenge\":{\"type\":\"user_input\",\"user_input\":{\"prompt\":\"Go?\",\"approvals\":2},\"required\":false}}\n~~~\n",
		"# A\n## B\n- **PROOF OF WORK:** timeout 500ms make test\n> x\n## C\n1. a\n\n   ```JSON\n   {\"challenge\":{\"type\":\"comment\",\"comment\":{\"min_length\":5}}}\n   ```",
		"# A\r\n````\n## no\n```\n````\n<!--\n## no\n-->\n    ## no\n## D ##\n\t```\n{\"challenge\": {\"type\": \"mcp\", \"mcp\": {\"tool_name\": \"t\", \"expected_result\": null}}}",
	}
	for _, s := range append(seeds, fuzztest.Mutate(seeds, 700)...) {
		f.Add(s)
	}
	f.Fuzz(checkText)
}

// checkText checks the properties that every runbook has.
func checkText(t *testing.T, text string) {
	book, errors, warnings := runbook.Parse(text)
	lines := strings.Count(text, "\n") + 1
	for _, p := range append(errors, warnings...) {
		if p.Line < 1 || p.Line > lines || p.Message == "" || !utf8.ValidString(p.Message+p.Step) {
			t.Fatalf("problem %+v in %d lines", p, lines)
		}
	}
	if len(errors) > 0 {
		return
	}
	if book.Label == "" || len(book.Steps) == 0 || !utf8.ValidString(book.Text) {
		t.Fatalf("no error, and %+v", book)
	}
	again, _, _ := runbook.Parse(book.Text)
	if !reflect.DeepEqual(again, book) {
		t.Fatalf("read again: %+v, before %+v", again, book)
	}
	for i, s := range book.Steps {
		if s.Index != i+1 || s.Line < 1 || s.Line > lines || s.Body != strings.TrimSpace(s.Body) || (s.Definition == nil) != (s.Challenge == nil) {
			t.Fatalf("step %+v", s)
		}
		if !strings.Contains(strings.ReplaceAll(book.Text, "\r\n", "\n"), s.Body) && !strings.Contains(strings.ToLower(book.Text), "proof") {
			t.Fatalf("%q is not in the text", s.Body)
		}
		if s.Definition == nil {
			continue
		}
		var d map[string]any
		if err := json.Unmarshal(s.Definition, &d); err != nil || d["required"] != s.Challenge.Required {
			t.Fatalf("definition %s: %v", s.Definition, err)
		}
	}
}
