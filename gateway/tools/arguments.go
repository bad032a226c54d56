package tools

import (
	"encoding/json"
	"fmt"
	"strings"
)

// arguments are the arguments of a call. A null argument counts as missing. The first argument that
// cannot be used sets err, which a tool checks once it has read all of them.
type arguments struct {
	values map[string]json.RawMessage
	err    error
}

// readArguments decodes the arguments of a call, which may be missing.
func readArguments(raw json.RawMessage) *arguments {
	a := &arguments{}
	if len(raw) > 0 && json.Unmarshal(raw, &a.values) != nil {
		a.refuse("The arguments must be an object.")
	}
	for name, value := range a.values {
		if string(value) == "null" {
			delete(a.values, name)
		}
	}
	return a
}

// fail sets the error, unless there is one.
func (a *arguments) fail(code, format string, args ...any) {
	if a.err == nil {
		a.err = &failure{Code: code, Message: fmt.Sprintf(format, args...)}
	}
}

// refuse is fail with the code of an argument that has a wrong value.
func (a *arguments) refuse(format string, args ...any) { a.fail(invalidArgument, format, args...) }

// decode decodes an argument into a value, which is unchanged if the argument is missing. kind
// describes the expected type in the error.
func (a *arguments) decode(name, kind string, into any) {
	if raw, ok := a.values[name]; ok && json.Unmarshal(raw, into) != nil {
		a.refuse("%s must be %s.", name, kind)
	}
}

// text returns a string argument of at most limit bytes, or "".
func (a *arguments) text(name string, limit int) (text string) {
	a.decode(name, "a string", &text)
	a.checkLength(name, text, limit)
	return text
}

// requiredText returns a string argument that is not blank, of at most limit bytes.
func (a *arguments) requiredText(name string, limit int) string {
	text := a.text(name, limit)
	a.refuseBlank(name, text)
	return text
}

func (a *arguments) refuseBlank(name, text string) {
	if strings.TrimSpace(text) == "" {
		a.refuse("%s is required, and must not be empty.", name)
	}
}

func (a *arguments) checkLength(name, text string, limit int) {
	if len(text) > limit {
		a.fail(tooLarge, "%s has %d bytes, and at most %d are accepted. Shorten it.", name, len(text), limit)
	}
}

// flag returns a boolean argument.
func (a *arguments) flag(name string) (yes bool) {
	a.decode(name, "true or false", &yes)
	return yes
}

// number returns a numeric argument, or the default.
func (a *arguments) number(name string, absent float64) float64 {
	a.decode(name, "a number", &absent)
	return absent
}
