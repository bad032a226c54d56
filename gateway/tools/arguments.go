package tools

import (
	"encoding/json"
	"fmt"
	"strings"
)

// arguments are the arguments of a call. A null argument counts as missing.
type arguments map[string]json.RawMessage

// readArguments decodes the arguments of a call, which may be missing.
func readArguments(raw json.RawMessage) (arguments, error) {
	var a arguments
	if len(raw) == 0 {
		return a, nil
	}
	if err := json.Unmarshal(raw, &a); err != nil {
		return nil, &failure{Code: invalidArgument, Message: "The arguments must be an object."}
	}
	for name, value := range a {
		if string(value) == "null" {
			delete(a, name)
		}
	}
	return a, nil
}

// decode decodes an argument into a value, which is unchanged if the argument is missing. kind
// describes the expected type in the error.
func (a arguments) decode(name, kind string, into any) error {
	raw, ok := a[name]
	if !ok {
		return nil
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return &failure{Code: invalidArgument, Message: fmt.Sprintf("%s must be %s.", name, kind)}
	}
	return nil
}

// text returns a string argument of at most limit bytes, or "".
func (a arguments) text(name string, limit int) (string, error) {
	var text string
	if err := a.decode(name, "a string", &text); err != nil {
		return "", err
	}
	return text, checkLength(name, text, limit)
}

// requiredText returns a string argument that is not blank, of at most limit bytes.
func (a arguments) requiredText(name string, limit int) (string, error) {
	text, err := a.text(name, limit)
	if err == nil && strings.TrimSpace(text) == "" {
		err = &failure{Code: invalidArgument, Message: name + " is required, and must not be empty."}
	}
	return text, err
}

func checkLength(name, text string, limit int) error {
	if len(text) > limit {
		return &failure{Code: tooLarge, Message: fmt.Sprintf("%s has %d bytes, and at most %d are accepted. Shorten it.", name, len(text), limit)}
	}
	return nil
}

// flag returns a boolean argument.
func (a arguments) flag(name string) (bool, error) {
	var yes bool
	err := a.decode(name, "true or false", &yes)
	return yes, err
}

// number returns a numeric argument, or the default.
func (a arguments) number(name string, absent float64) (float64, error) {
	number := absent
	err := a.decode(name, "a number", &number)
	return number, err
}
