package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
	tables := schemaTables{root: &root, paths: map[*jsonschema.Schema]string{}}
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
	paths  map[*jsonschema.Schema]string // of the sections that have a table
}

// addSection adds the table of a section, and those of the sections in it. prefix is the path of
// the section's keys.
func (s *schemaTables) addSection(heading, description string, section *jsonschema.Schema, prefix string) {
	var table strings.Builder
	fmt.Fprintf(&table, "\n### %s\n\n", heading)
	if more := pageOfSection(prefix); description+more != "" {
		fmt.Fprintf(&table, "%s\n\n", strings.TrimSpace(description+more))
	}
	table.WriteString("| key | value | meaning |\n| --- | --- | --- |\n")
	s.paths[section] = strings.TrimSuffix(prefix, ".")
	position := len(s.tables)
	s.tables = append(s.tables, "")
	rows := 0
	for p := section.Properties.Oldest(); p != nil; p = p.Next() {
		path := prefix + p.Key
		if below := s.resolve(p.Value); below.Properties != nil && below.Properties.Len() > 0 && s.paths[below] == "" {
			s.addSection("`"+path+"`", p.Value.Description, below, path+".")
			continue
		}
		rows++
		meaning, fallback := splitDefault(p.Value.Description)
		if p.Value.Default != nil && fallback == "" {
			fallback = jsonCode(p.Value.Default)
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", path, s.valueOf(p.Value, fallback), escapeCell(meaning))
		s.addItems(path, p.Value)
	}
	if rows > 0 {
		s.tables[position] = table.String()
	}
}

// pageOfSection returns a link to the page that has the name of a section, if there is one.
func pageOfSection(prefix string) string {
	path := strings.Split(prefix, ".")
	page := path[max(0, len(path)-2)] + ".md"
	if _, err := os.Stat(filepath.Join("..", "..", "docs", page)); err != nil {
		return ""
	}
	return fmt.Sprintf(" See [%s](%[1]s).", page)
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

// valueOf describes the values that a key takes, with the default in bold.
func (s *schemaTables) valueOf(value *jsonschema.Schema, fallback string) string {
	value = s.resolve(value)
	if path := s.paths[value]; path != "" {
		return "as `" + path + "`"
	}
	var alternatives []string
	switch {
	case len(value.Enum) > 0:
		for _, e := range value.Enum {
			alternatives = append(alternatives, jsonCode(e))
		}
	case value.Type == "integer":
		alternatives = []string{bounds(value)}
	case value.Type == "array" && s.resolve(value.Items).Properties != nil:
		alternatives = []string{"objects"}
	case value.Type == "array":
		alternatives = []string{"strings"}
	case value.Type == "boolean":
		alternatives = []string{"`true`", "`false`"}
	case value.Type == "" && value.OneOf[0].Type == "string":
		alternatives = []string{"string or strings"}
	case value.Type == "":
		alternatives = []string{"`true`", "`false`", "strings"}
	default:
		alternatives = []string{value.Type}
	}
	i := slices.IndexFunc(alternatives, func(a string) bool { return strings.Trim(a, "`\"") == strings.Trim(fallback, "`\"") })
	switch {
	case fallback == "" || fallback == "`[]`" || fallback == "`{}`":
	case i >= 0:
		alternatives[i] = "**" + alternatives[i] + "**"
	case alternatives[0] == "string" || alternatives[0] == "number":
		return "**" + fallback + "**"
	default:
		alternatives = append(alternatives, "**"+fallback+"**")
	}
	return strings.Join(alternatives, ", ")
}

// bounds describes the values of a whole number.
func bounds(value *jsonschema.Schema) string {
	switch {
	case len(value.Maximum) <= 5:
		return fmt.Sprintf("%s–%s", value.Minimum, value.Maximum)
	case value.Minimum == "0": // a larger maximum is only there to keep arithmetic from overflowing
		return "number"
	}
	return fmt.Sprintf("≥ %s", value.Minimum)
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
