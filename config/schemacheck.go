package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// checkSchema, called on the root, validates types, bounds, enumerations and keys against the
// schema.
func (n typeNode) checkSchema(schema *jsonschema.Schema, value any) []Problem {
	var invalid *jsonschema.ValidationError
	if !errors.As(schema.Validate(value), &invalid) {
		return nil
	}
	all := n.translateError(invalid)
	for i, p := range all {
		if got, found := valueAt(value, p.Path); p.want != "" && found && !n.hidesValue(p.Path) {
			all[i].Hint = n.suggestSpelling(p, got)
		}
	}
	return all
}

// translateError converts the validator's tree of errors to problems.
func (n typeNode) translateError(e *jsonschema.ValidationError) []Problem {
	f := Problem{Path: e.InstanceLocation}
	switch k := e.ErrorKind.(type) {
	case *kind.AdditionalProperties:
		return n.unknownKeyProblems(e.InstanceLocation, k.Properties)
	case *kind.Required:
		return missingKeyProblems(e.InstanceLocation, k.Missing)
	case *kind.OneOf:
		return n.translateOneOf(e)
	case *kind.Type:
		f.want = k.Want[0]
		f.Text = "must be " + describeType(f.want)
		if at, found := n.descend(f.Path); found && at.unit != "" {
			f.Text += " of " + at.unit
		}
	case *kind.Enum:
		f.Text = "must be " + quotedAlternatives(k.Want)
		f.Hint = suggestAlternative(k.Got, k.Want)
	case *kind.Minimum:
		f.Text = "must be at least " + k.Want.RatString()
	case *kind.Maximum:
		f.Text = "must be at most " + k.Want.RatString()
	case *kind.MinLength:
		f.Text = "must not be empty"
	case *kind.MinItems:
		f.Text = "must have at least " + strconv.Itoa(k.Want) + " entry"
	default:
		var all []Problem
		for _, cause := range e.Causes {
			all = append(all, n.translateError(cause)...)
		}
		if all == nil {
			f.Text = "is not allowed by the schema"
			all = []Problem{f}
		}
		return all
	}
	return []Problem{f}
}

func (n typeNode) unknownKeyProblems(path, keys []string) []Problem {
	var all []Problem
	for _, key := range keys {
		all = append(all, Problem{
			Path: joinPath(path, key), Text: "unknown key", Hint: n.suggestKey(path, key),
			AboutKey: true,
		})
	}
	return all
}

func missingKeyProblems(path, keys []string) []Problem {
	var all []Problem
	for _, key := range keys {
		all = append(all, Problem{Path: joinPath(path, key), Text: "must be set", missing: true})
	}
	return all
}

// translateOneOf lists the forms that a value may have, or returns the problems inside the form
// that it has.
func (n typeNode) translateOneOf(e *jsonschema.ValidationError) []Problem {
	var inside []Problem
	var forms []string
	for _, cause := range e.Causes {
		for _, f := range n.translateError(cause) {
			if len(f.Path) > len(e.InstanceLocation) {
				inside = append(inside, f)
			}
			forms = append(forms, strings.TrimPrefix(f.Text, "must be "))
		}
	}
	if inside != nil {
		return inside
	}
	return []Problem{{Path: e.InstanceLocation, Text: "must be " + strings.Join(forms, ", or ")}}
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
	return suggest(s, words)
}
