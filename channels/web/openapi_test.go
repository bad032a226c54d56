package web_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// What is answered is held against the description in cmd/nanobot, where there is a whole daemon.
func TestTheOpenAPIDocumentListsExactlyTheRoutes(t *testing.T) {
	r := newFixture(t)
	var doc struct {
		Paths map[string]map[string]json.RawMessage
	}
	r.getJSON("ann", "/api/openapi.json", &doc)
	var ops []string
	for path, item := range doc.Paths {
		for method, raw := range item {
			var op struct{ Tags []string }
			if method != "parameters" && json.Unmarshal(raw, &op) == nil && slices.Contains(op.Tags, "chat") {
				ops = append(ops, strings.ToUpper(method)+" "+path)
			}
		}
	}
	slices.Sort(ops)
	served := slices.DeleteFunc(r.ch.Routes(), func(p string) bool { return p == "GET /" || p == "GET /api/" })
	if !slices.Equal(ops, served) {
		t.Errorf("described are %q, served are %q", ops, served)
	}
}
