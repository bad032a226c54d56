package config_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"nanobot/config"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

func TestTheSchemaIsDraft2020AndTheSameEveryTime(t *testing.T) {
	first := musttest.Get(config.Schema(extensions()))(t)
	for range 5 {
		if again, _ := config.Schema(extensions()); !bytes.Equal(first, again) {
			t.Fatal("differs from one call to the next")
		}
	}
	var s struct {
		Schema string `json:"$schema"`
	}
	if err := json.Unmarshal(first, &s); err != nil || s.Schema != "https://json-schema.org/draft/2020-12/schema" {
		t.Error(s, err)
	}
	if !bytes.HasPrefix(first, []byte("{\n  \"$schema\"")) || !bytes.HasSuffix(first, []byte("}\n")) {
		t.Error("is not indented text")
	}
	compilePublishedSchema(t) // validates it against the meta-schema
}

// walkSchemas calls f for each subschema of the published schema.
func walkSchemas(t *testing.T, f func(path string, s map[string]any)) {
	t.Helper()
	b := musttest.Get(config.Schema(extensions()))(t)
	var root map[string]any
	musttest.Do(t, json.Unmarshal(b, &root))
	seen := 0
	var visit func(path string, s map[string]any)
	visit = func(path string, s map[string]any) {
		seen++
		f(path, s)
		for _, group := range []string{"properties", "$defs"} {
			members, _ := s[group].(map[string]any)
			for name, member := range members {
				visit(path+"/"+name, member.(map[string]any))
			}
		}
	}
	visit("", root)
	if seen < 40 {
		t.Fatalf("only %d schemas", seen)
	}
}

// TestTheSchemaHasOnlyKeywordsThatLoadChecks guards schemacheck.go, which knows no others.
func TestTheSchemaHasOnlyKeywordsThatLoadChecks(t *testing.T) {
	known := []string{
		"$schema", "$defs", "$ref", "title", "description", "default", "type", "properties", "additionalProperties", "required", "items", "minItems",
		"enum", "minimum", "maximum", "minLength", "oneOf",
	}
	walkSchemas(t, func(path string, s map[string]any) {
		for keyword := range s {
			if !slices.Contains(known, keyword) {
				t.Errorf("%s has %s", path, keyword)
			}
		}
		if s["enum"] != nil && s["type"] != "string" || s["minLength"] != nil && s["minLength"] != 1.0 {
			t.Errorf("%s has an enum of other values than strings, or a length: %v", path, s)
		}
		for _, below := range []string{"items", "additionalProperties"} {
			if inner, ok := s[below].(map[string]any); ok && inner["$ref"] == nil && inner["type"] == nil && inner["oneOf"] == nil {
				t.Errorf("%s: %s is %v", path, below, inner)
			}
		}
	})
}

func TestEveryKeyOfTheSchemaIsDescribedAndClosed(t *testing.T) {
	var required []string
	walkSchemas(t, func(path string, s map[string]any) {
		name := path[strings.LastIndex(path, "/")+1:]
		_, isSection := s["properties"]
		if isSection && s["additionalProperties"] != false {
			t.Errorf("%s lets unknown keys pass", path)
		}
		if description, _ := s["description"].(string); !isSection && name != "Selection" && name != "Values" && !strings.HasSuffix(description, ".") {
			t.Errorf("%s is described as %q", path, description)
		}
		if list, _ := s["required"].([]any); list != nil {
			for _, key := range list {
				required = append(required, key.(string))
			}
		}
		if s["type"] == "integer" && (s["minimum"] == nil || s["maximum"] == nil) {
			t.Errorf("%s has no bounds", path)
		}
	})
	slices.Sort(required)
	wanttest.EqualSlices(t, "required:", required, []string{"agent", "apiKeys", "chat", "chat", "per", "secret"})
}

func TestTheSchemaKnowsTheDefaults(t *testing.T) {
	want := map[string]string{
		"/$defs/Terminal/timeout": "120", "/$defs/Terminal/protocol": `"plain"`, "/$defs/Terminal/env": "{}",
		"/$defs/Terminal/revealErrors": "true", "/$defs/Terminal/passMedia": "true", "/$defs/Gateway/ratePerMinute": "0",
		"/$defs/channels.telegram/apiBase": `"https://api.telegram.org"`, "/$defs/channels.telegram/allowFrom": "[]",
		"/$defs/channels.web/enabled": "false", "/$defs/Log/level": `"info"`, "/$defs/Terminal/maxLine": "16777216",
		"/$defs/Terminal/enabled": "null", "/$defs/terminal.acp/idle": "900", "/$defs/Terminal": "null", "/$defs/Provider/apiKeys": "null", "/terminal": "null",
	}
	walkSchemas(t, func(path string, s map[string]any) {
		path = strings.Replace(path, "/Terminal", "/$defs/Terminal", 1)
		for _, def := range []string{"Gateway", "channels.telegram", "channels.web", "terminal.acp", "Log", "Provider"} {
			path = strings.Replace(path, "/"+def, "/$defs/"+def, 1)
		}
		got, _ := json.Marshal(s["default"])
		if expected, ok := want[path]; ok {
			delete(want, path)
			if string(got) != expected {
				t.Errorf("%s: default %s, want %s", path, got, expected)
			}
		}
	})
	if len(want) > 0 {
		t.Errorf("not found: %v", want)
	}
}
