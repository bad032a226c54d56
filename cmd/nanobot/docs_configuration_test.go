package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"

	"nanobot/config"
	"nanobot/internal/musttest"
)

// The generated part of docs/configuration.md is between these two lines.
const (
	configurationBegin = "<!-- Generated from the JSON Schema. Write it with: go test ./cmd/nanobot -run TestTheConfigurationPageIsGeneratedFromTheSchema -update -->\n"
	configurationEnd   = "<!-- end of the generated part -->\n"
)

func TestTheConfigurationPageIsGeneratedFromTheSchema(t *testing.T) {
	t.Parallel()
	page := filepath.Join("..", "..", "docs", "configuration.md")
	text := musttest.Get(os.ReadFile(page))(t)
	before, rest, begins := strings.Cut(string(text), configurationBegin)
	_, after, ends := strings.Cut(rest, configurationEnd)
	if !begins || !ends {
		t.Fatalf("%s has no generated part", page)
	}
	schema := musttest.Get(config.Schema(extensions()))(t)
	want := before + configurationBegin + configurationTables(t, schema) + configurationEnd + after
	switch {
	case want == string(text):
	case *update:
		musttest.Do(t, os.WriteFile(page, []byte(want), 0o644))
	default:
		t.Errorf("%s differs from the schema; write it with -update", page)
	}
}

// configurationTables returns one table for each section of the config.
func configurationTables(t *testing.T, schema []byte) string {
	t.Helper()
	var root jsonschema.Schema
	musttest.Do(t, json.Unmarshal(schema, &root))
	tables := schemaTables{root: &root}
	tables.addSection("Top level", "", &root, "")
	for _, table := range tables.tables {
		tables.WriteString(table)
	}
	return tables.String()
}

// schemaTables renders the sections of a schema, each after the section that contains it.
type schemaTables struct {
	strings.Builder
	root   *jsonschema.Schema
	tables []string
}

// addSection adds the table of a section, and those of the sections in it. prefix is the path of
// the section's keys.
func (s *schemaTables) addSection(heading, description string, section *jsonschema.Schema, prefix string) {
	var table strings.Builder
	fmt.Fprintf(&table, "\n### %s\n\n", heading)
	if description != "" {
		fmt.Fprintf(&table, "%s\n\n", description)
	}
	table.WriteString("| key | value | default | meaning |\n| --- | --- | --- | --- |\n")
	position := len(s.tables)
	s.tables = append(s.tables, "")
	rows := 0
	for p := section.Properties.Oldest(); p != nil; p = p.Next() {
		path := prefix + p.Key
		if below := s.resolve(p.Value); below.Properties != nil && below.Properties.Len() > 0 {
			s.addSection("`"+path+"`", p.Value.Description, below, path+".")
			continue
		}
		rows++
		meaning, fallback := splitDefault(p.Value.Description)
		if p.Value.Default != nil && fallback == "" {
			fallback = jsonCode(p.Value.Default)
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s |\n", path, s.valueOf(p.Value), fallback, escapeCell(meaning))
		s.addItems(path, p.Value)
	}
	if rows > 0 {
		s.tables[position] = table.String()
	}
}

// addItems adds the table of a section whose keys the user names, such as terminal.providers, or of
// the elements of a list.
func (s *schemaTables) addItems(path string, value *jsonschema.Schema) {
	items, element := value.AdditionalProperties, ".NAME"
	if value.Items != nil {
		items, element = value.Items, "[]"
	}
	if items == nil {
		return
	}
	below := s.resolve(items)
	if below.Properties == nil || below.Properties.Len() == 0 || path == "agents" { // agents are as terminal
		return
	}
	s.addSection("`"+path+element+"`", "", below, path+element+".")
}

// resolve returns the definition that a schema, or its first form, refers to, or the schema itself.
func (s *schemaTables) resolve(value *jsonschema.Schema) *jsonschema.Schema {
	if len(value.OneOf) > 0 && value.OneOf[0].Ref != "" {
		value = value.OneOf[0]
	}
	if name, referred := strings.CutPrefix(value.Ref, "#/$defs/"); referred {
		return s.root.Definitions[name]
	}
	return value
}

// valueOf describes the values that a key takes.
func (s *schemaTables) valueOf(value *jsonschema.Schema) string {
	value = s.resolve(value)
	if len(value.Enum) > 0 {
		var codes []string
		for _, e := range value.Enum {
			codes = append(codes, jsonCode(e))
		}
		return strings.Join(codes, ", ")
	}
	switch value.Type {
	case "integer":
		if len(value.Maximum) > 5 { // only there to keep arithmetic from overflowing
			return fmt.Sprintf("number, at least %s", value.Minimum)
		}
		return fmt.Sprintf("%s to %s", value.Minimum, value.Maximum)
	case "array":
		if s.resolve(value.Items).Properties != nil {
			return "list of objects"
		}
		return "list of strings"
	case "boolean":
		return "`true`, `false`"
	case "":
		if value.OneOf[0].Type == "string" {
			return "string, list of strings"
		}
		return "`true`, `false`, list of strings"
	}
	return value.Type
}

// splitDefault cuts the sentence that begins with "Default:" off a description.
func splitDefault(description string) (meaning, fallback string) {
	meaning, rest, found := strings.Cut(description, " Default: ")
	if !found {
		return description, ""
	}
	fallback, rest, _ = strings.Cut(rest, ". ")
	if rest != "" {
		meaning += " " + rest
	}
	return meaning, strings.TrimSuffix(fallback, ".")
}

// jsonCode returns a value as it stands in a config file; an empty value is not shown.
func jsonCode(value any) string {
	b, err := json.Marshal(value)
	switch {
	case err != nil:
		return err.Error()
	case string(b) == `""`:
		return ""
	}
	return "`" + string(b) + "`"
}

// escapeCell escapes a text for a cell of a table.
func escapeCell(text string) string {
	return strings.NewReplacer("|", `\|`, "*", `\*`, "_", `\_`, "<", `\<`).Replace(text)
}
