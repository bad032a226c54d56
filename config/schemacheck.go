package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// fault is a mistake without a position. sources.locate turns it into a Mistake.
type fault struct {
	path      []string // the key that is wrong
	cause     []string // the key that causes the fault; its position is used if path is not set anywhere
	text      string
	hint      string
	aboutKey  bool // the key itself is wrong, not its value
	missing   bool // the key is missing
	hideValue bool // the value may contain a secret
}

// checkSchema, called on the root, validates types, bounds, enumerations and keys against the
// schema.
func (n typeNode) checkSchema(schema *jsonschema.Schema, value any) []fault {
	var invalid *jsonschema.ValidationError
	if !errors.As(schema.Validate(value), &invalid) {
		return nil
	}
	return n.translateError(invalid)
}

// translateError converts the validator's tree of errors to faults.
func (n typeNode) translateError(e *jsonschema.ValidationError) []fault {
	f := fault{path: e.InstanceLocation}
	switch k := e.ErrorKind.(type) {
	case *kind.AdditionalProperties:
		return n.unknownKeyFaults(e.InstanceLocation, k.Properties)
	case *kind.Required:
		return missingKeyFaults(e.InstanceLocation, k.Missing)
	case *kind.OneOf:
		return n.translateOneOf(e)
	case *kind.Type:
		f.text = "must be " + describeType(k.Want[0])
	case *kind.Enum:
		f.text = "must be " + quotedAlternatives(k.Want)
		f.hint = suggestAlternative(k.Got, k.Want)
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
			all = append(all, n.translateError(cause)...)
		}
		if all == nil {
			f.text = "is not allowed by the schema"
			all = []fault{f}
		}
		return all
	}
	return []fault{f}
}

func (n typeNode) unknownKeyFaults(path, keys []string) []fault {
	var all []fault
	for _, key := range keys {
		all = append(all, fault{path: joinPath(path, key), text: "unknown key", hint: n.suggestKey(path, key), aboutKey: true})
	}
	return all
}

func missingKeyFaults(path, keys []string) []fault {
	var all []fault
	for _, key := range keys {
		all = append(all, fault{path: joinPath(path, key), text: "must be set", missing: true})
	}
	return all
}

// translateOneOf lists the forms that a value may have, or returns the faults inside the form that
// it has.
func (n typeNode) translateOneOf(e *jsonschema.ValidationError) []fault {
	var inside []fault
	var forms []string
	for _, cause := range e.Causes {
		for _, f := range n.translateError(cause) {
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

// typeDescriptions describe the types of JSON for people.
var typeDescriptions = map[string]string{
	"boolean": "true or false", "integer": "a whole number", "string": "a string in quotes",
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
	if near := ClosestMatch(s, words); near != "" {
		return didYouMean(near)
	}
	return ""
}
