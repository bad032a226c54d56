package config

import (
	"strings"

	generate "github.com/invopop/jsonschema"
)

// schemaPruner removes from a schema what the validation of some values does not need.
type schemaPruner struct {
	keys        map[string]bool // all keys of the values, at any depth
	definitions generate.Definitions
	needed      generate.Definitions
}

// pruneSchema removes the descriptions and definitions that the validation of values does not need,
// and lets keys that the values do not have be anything. The pruned schema finds the same problems.
func pruneSchema(s *generate.Schema, values []any) {
	p := schemaPruner{map[string]bool{}, s.Definitions, generate.Definitions{}}
	for _, v := range values {
		p.addKeys(v)
	}
	s.Definitions = nil
	p.prune(s)
	s.Definitions = p.needed
}

func (p schemaPruner) addKeys(value any) {
	switch v := value.(type) {
	case map[string]any:
		for key, below := range v {
			p.keys[key] = true
			p.addKeys(below)
		}
	case []any:
		for _, below := range v {
			p.addKeys(below)
		}
	}
}

func (p schemaPruner) prune(s *generate.Schema) {
	if s == nil || s == generate.TrueSchema || s == generate.FalseSchema { // these two are shared
		return
	}
	s.Title, s.Description, s.Default = "", "", nil
	if name, ok := strings.CutPrefix(s.Ref, definitionPrefix); ok && p.needed[name] == nil {
		p.needed[name] = p.definitions[name]
		p.prune(p.definitions[name])
	}
	for property := s.Properties.Oldest(); property != nil; property = property.Next() {
		if p.keys[property.Key] {
			p.prune(property.Value)
		} else {
			s.Properties.Set(property.Key, generate.TrueSchema)
		}
	}
	p.prune(s.Items)
	p.prune(s.AdditionalProperties)
	for _, form := range s.OneOf {
		p.prune(form)
	}
}
