package config

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/invopop/jsonschema"
)

// Selection selects all, none, or those in Names.
type Selection struct {
	All   bool
	Names []string
}

// Includes reports whether the selection has something that is known by one of these names.
func (s Selection) Includes(names ...string) bool {
	return s.All || slices.ContainsFunc(names, func(name string) bool { return slices.Contains(s.Names, name) })
}

// IsEmpty reports whether the selection has nothing.
func (s Selection) IsEmpty() bool { return !s.All && len(s.Names) == 0 }

// UnmarshalJSON decodes true, false or a list of names.
func (s *Selection) UnmarshalJSON(b []byte) error {
	*s = Selection{}
	if json.Unmarshal(b, &s.All) == nil || json.Unmarshal(b, &s.Names) == nil {
		return nil
	}
	return errors.New("must be true, false or a list of strings")
}

// MarshalJSON encodes the same three forms.
func (s Selection) MarshalJSON() ([]byte, error) {
	if len(s.Names) > 0 {
		return json.Marshal(s.Names)
	}
	return json.Marshal(s.All)
}

// JSONSchema describes the same three forms.
func (Selection) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{OneOf: []*jsonschema.Schema{
		{Type: "boolean"},
		{Type: "array", Items: &jsonschema.Schema{Type: "string"}},
	}}
}

// Values is a string or a list of strings.
type Values []string

// JSONSchema describes the two forms.
func (Values) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{OneOf: []*jsonschema.Schema{
		{Type: "string"},
		{Type: "array", Items: &jsonschema.Schema{Type: "string"}},
	}}
}
