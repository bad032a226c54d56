package config

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"
)

// checkSchema, called on the root, validates types, bounds, enumerations and keys against the
// schema.
func (n typeNode) checkSchema(schema *jsonschema.Schema, value any) []Problem {
	all := schemaChecker{n, schema.Definitions}.check(schema, nil, value)
	for i, p := range all {
		if got, found := valueAt(value, p.Path); p.want != "" && found && !n.hidesValue(p.Path) {
			all[i].Hint = n.suggestSpelling(p, got)
		}
	}
	return all
}

// schemaChecker checks values against the part of JSON Schema that the schema of the config uses. A
// general validator takes a third of the daemon's start only to prepare itself.
type schemaChecker struct {
	root        typeNode
	definitions jsonschema.Definitions
}

// check returns the problems of the value at path.
func (c schemaChecker) check(s *jsonschema.Schema, path []string, value any) []Problem {
	s = c.resolve(s)
	f := Problem{Path: path}
	if len(s.OneOf) > 0 {
		return c.checkForms(s.OneOf, path, value)
	}
	if s.Type != "" && !hasType(s.Type, value) {
		f.want, f.Text = s.Type, "must be "+describeType(s.Type)
		if at, found := c.root.descend(path); found && at.unit != "" {
			f.Text += " of " + at.unit
		}
		return []Problem{f}
	}
	switch v := value.(type) {
	case map[string]any:
		return c.checkObject(s, path, v)
	case []any:
		return c.checkList(s, path, v)
	case string:
		if s.MinLength != nil && v == "" {
			f.Text = "must not be empty"
		}
	default:
		f.Text = boundsProblem(s, value)
	}
	if len(s.Enum) > 0 && !slices.Contains(s.Enum, value) {
		f.Text, f.Hint = "must be "+quotedAlternatives(s.Enum), suggestAlternative(value, s.Enum)
	}
	if f.Text == "" {
		return nil
	}
	return []Problem{f}
}

func (c schemaChecker) checkObject(s *jsonschema.Schema, path []string, object map[string]any) []Problem {
	var all []Problem
	for _, key := range s.Required {
		if _, found := object[key]; !found {
			all = append(all, Problem{Path: joinPath(path, key), Text: "must be set", missing: true})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		at := joinPath(path, key)
		below := s.AdditionalProperties
		if s.Properties != nil {
			below = cmp.Or(s.Properties.Value(key), below)
		}
		switch below {
		case nil:
		case jsonschema.FalseSchema:
			all = append(all, Problem{Path: at, Text: "unknown key", Hint: c.root.suggestKey(path, key), AboutKey: true})
		default:
			all = append(all, c.check(below, at, object[key])...)
		}
	}
	return all
}

func (c schemaChecker) checkList(s *jsonschema.Schema, path []string, list []any) []Problem {
	if s.MinItems != nil && uint64(len(list)) < *s.MinItems {
		return []Problem{{Path: path, Text: fmt.Sprintf("must have at least %d entry", *s.MinItems)}}
	}
	var all []Problem
	for i, item := range list {
		if s.Items != nil {
			all = append(all, c.check(s.Items, joinPath(path, strconv.Itoa(i)), item)...)
		}
	}
	return all
}

// resolve returns the definition that a schema refers to, or the schema itself.
func (c schemaChecker) resolve(s *jsonschema.Schema) *jsonschema.Schema {
	if name, ok := strings.CutPrefix(s.Ref, definitionPrefix); ok {
		return c.definitions[name]
	}
	return s
}

// checkForms returns the problems of a value that has the type of one of the forms, or lists the
// forms.
func (c schemaChecker) checkForms(forms []*jsonschema.Schema, path []string, value any) []Problem {
	var types []string
	for _, form := range forms {
		form = c.resolve(form)
		if hasType(form.Type, value) {
			return c.check(form, path, value)
		}
		types = append(types, describeType(form.Type))
	}
	return []Problem{{Path: path, Text: "must be " + strings.Join(types, ", or ")}}
}

// hasType reports whether a value of JSON has a type of JSON Schema.
func hasType(name string, value any) bool {
	switch v := value.(type) {
	case bool:
		return name == "boolean"
	case string:
		return name == "string"
	case []any:
		return name == "array"
	case map[string]any:
		return name == "object"
	case int, int64:
		return name == "integer" || name == "number"
	case float64:
		return name == "number" || name == "integer" && v == math.Trunc(v)
	}
	return false
}

// boundsProblem describes how a number violates its bounds; "": it does not, or is none.
func boundsProblem(s *jsonschema.Schema, value any) string {
	number, err := strconv.ParseFloat(fmt.Sprint(value), 64)
	if err != nil {
		return ""
	}
	if least, err := s.Minimum.Float64(); err == nil && number < least {
		return "must be at least " + s.Minimum.String()
	}
	if most, err := s.Maximum.Float64(); err == nil && number > most {
		return "must be at most " + s.Maximum.String()
	}
	return ""
}

// typeDescriptions describe the types of JSON for people.
var typeDescriptions = map[string]string{
	"boolean": "true or false", "integer": "a whole number", "number": "a number", "string": "a string in quotes",
	"array": "a list", "object": "an object",
}

func describeType(t string) string {
	if word := typeDescriptions[t]; word != "" {
		return word
	}
	return t
}

func quotedAlternatives(want []any) string {
	if len(want) == 0 {
		return "another one"
	}
	words := make([]string, len(want))
	for i, w := range want {
		words[i] = fmt.Sprintf("%q", w)
	}
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

func suggestAlternative(got any, want []any) string {
	s, _ := got.(string)
	words := make([]string, len(want))
	for i, w := range want {
		words[i] = fmt.Sprint(w)
	}
	return suggest(s, words)
}
