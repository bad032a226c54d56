package tools

import (
	"encoding/json"
	"fmt"
	"strings"
)

// arguments are those of a call. One that is null is absent.
type arguments map[string]json.RawMessage

// readArguments reads the arguments of a call, which may have none.
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

// read reads an argument into a value, which stays as it is if the argument is absent. Kind says
// what it must be.
func (a arguments) read(name, kind string, into any) error {
	raw, ok := a[name]
	if !ok {
		return nil
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return &failure{Code: invalidArgument, Message: fmt.Sprintf("%s must be %s.", name, kind)}
	}
	return nil
}

// text returns an argument that is a string of at most limit bytes, or "".
func (a arguments) text(name string, limit int) (string, error) {
	var text string
	if err := a.read(name, "a string", &text); err != nil {
		return "", err
	}
	return text, checkLength(name, text, limit)
}

// required returns an argument that is a string which is not blank, of at most limit bytes.
func (a arguments) required(name string, limit int) (string, error) {
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

// flag returns an argument that is true or false.
func (a arguments) flag(name string) (bool, error) {
	var yes bool
	err := a.read(name, "true or false", &yes)
	return yes, err
}

// number returns an argument that is a number, or the default.
func (a arguments) number(name string, absent float64) (float64, error) {
	number := absent
	err := a.read(name, "a number", &number)
	return number, err
}
