package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// fault is a mistake that has not been located yet.
type fault struct {
	path      []string // the key it is about
	cause     []string // the key that makes it one, pointed at when path is not set anywhere
	text      string
	hint      string
	aboutKey  bool // the key is wrong, not its value
	missing   bool // the key is not there
	hideValue bool // the value may hold a secret
}

// shape, of the root, checks types, bounds, words and keys against the schema.
func (p place) shape(schema *jsonschema.Schema, value any) []fault {
	var invalid *jsonschema.ValidationError
	if !errors.As(schema.Validate(value), &invalid) {
		return nil
	}
	return p.translate(invalid)
}

// translate turns the checker's tree of errors into words.
func (p place) translate(e *jsonschema.ValidationError) []fault {
	f := fault{path: e.InstanceLocation}
	switch k := e.ErrorKind.(type) {
	case *kind.AdditionalProperties:
		return p.unknownKeys(e.InstanceLocation, k.Properties)
	case *kind.Required:
		return missingKeys(e.InstanceLocation, k.Missing)
	case *kind.OneOf:
		return p.translateOneOf(e)
	case *kind.Type:
		f.text = "must be " + typeWord(k.Want[0])
	case *kind.Enum:
		f.text = "must be " + alternatives(k.Want)
		f.hint = suggestWord(k.Got, k.Want)
	case *kind.Minimum:
		f.text = "must be at least " + k.Want.RatString()
	case *kind.Maximum:
		f.text = "must be at most " + k.Want.RatString()
	case *kind.MinLength:
		f.text = "must not be empty"
	case *kind.MinItems:
		f.text = "must have at least " + strconv.Itoa(k.Want) + " entry"
	default:
		var all []fault
		for _, cause := range e.Causes {
			all = append(all, p.translate(cause)...)
		}
		if all == nil {
			f.text = "is not what the schema allows"
			all = []fault{f}
		}
		return all
	}
	return []fault{f}
}

func (p place) unknownKeys(path, keys []string) []fault {
	var all []fault
	for _, key := range keys {
		all = append(all, fault{path: join(path, key), text: "unknown key", hint: p.suggestKey(path, key), aboutKey: true})
	}
	return all
}

func missingKeys(path, keys []string) []fault {
	var all []fault
	for _, key := range keys {
		all = append(all, fault{path: join(path, key), text: "must be set", missing: true})
	}
	return all
}

// translateOneOf names the forms that a value may have, or what is wrong inside the one it has.
func (p place) translateOneOf(e *jsonschema.ValidationError) []fault {
	var inside []fault
	var forms []string
	for _, cause := range e.Causes {
		for _, f := range p.translate(cause) {
			if len(f.path) > len(e.InstanceLocation) {
				inside = append(inside, f)
			}
			forms = append(forms, strings.TrimPrefix(f.text, "must be "))
		}
	}
	if inside != nil {
		return inside
	}
	return []fault{{path: e.InstanceLocation, text: "must be " + strings.Join(forms, ", or ")}}
}

// typeWords name JSON's types for people.
var typeWords = map[string]string{
	"boolean": "true or false", "integer": "a whole number", "string": "a string in quotes",
	"array": "a list", "object": "an object",
}

func typeWord(t string) string {
	if word := typeWords[t]; word != "" {
		return word
	}
	return t
}

func alternatives(want []any) string {
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

func suggestWord(got any, want []any) string {
	s, _ := got.(string)
	words := make([]string, len(want))
	for i, w := range want {
		words[i] = fmt.Sprint(w)
	}
	if near := ClosestMatch(s, words); near != "" {
		return didYouMean(near)
	}
	return ""
}
