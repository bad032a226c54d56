package runbook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
)

const (
	defaultTimeout   = 30 // seconds for a shell command
	defaultMinLength = 10 // characters of a comment
	defaultPrompt    = "Confirm completion"
	// maxApprovals is more people than any chat has approvers.
	maxApprovals = 100
)

// The reasons why a block that mentions a challenge is not one.
var (
	errBrokenJSON    = errors.New("its JSON cannot be read")
	errNoChallenge   = errors.New(`the object has no "challenge"`)
	errNoObject      = errors.New(`its "challenge" is no object`)
	errNoJSONObject  = errors.New("it is not a JSON object")
	errOtherLanguage = errors.New("its info string is not `json`")
	errYAML          = errors.New("it is YAML, and a challenge is JSON")
	errIndented      = errors.New("it is indented and not fenced")
	errNotLast       = errors.New("it is not the last thing in a step")
)

// object is a JSON object with case-sensitive names.
type object map[string]json.RawMessage

// readObject returns nil unless the text is one JSON object.
func readObject(text []byte) object {
	var o object
	if json.Unmarshal(text, &o) != nil {
		return nil
	}
	return o
}

// text returns a string field, or "".
func (o object) text(name string) string {
	var s string
	if json.Unmarshal(o[name], &s) != nil {
		return ""
	}
	return s
}

// number returns a numeric field, and whether there is one.
func (o object) number(name string) (float64, bool) {
	raw := bytes.TrimSpace(o[name])
	var f float64
	if len(raw) == 0 || raw[0] == 'n' || json.Unmarshal(raw, &f) != nil {
		return 0, false
	}
	return f, true
}

// isLiteral reports whether a field is a literal such as `true`.
func (o object) isLiteral(name, literal string) bool {
	return string(bytes.TrimSpace(o[name])) == literal
}

// extractChallenge returns the definition in a block's text, with an explicit `required`.
func extractChallenge(text []byte) (json.RawMessage, error) {
	if !json.Valid(text) {
		return nil, errBrokenJSON
	}
	outer := readObject(text)
	if outer == nil {
		return nil, errNoJSONObject
	}
	if _, ok := outer["challenge"]; !ok {
		return nil, errNoChallenge
	}
	inner := readObject(outer["challenge"])
	if inner == nil {
		return nil, errNoObject
	}
	return normalizeRequired(outer["challenge"], !inner.isLiteral("required", "false")), nil
}

// normalizeRequired returns a definition on one line with `required` true or false. Everything else
// stays as written, in the same order.
func normalizeRequired(definition []byte, required bool) json.RawMessage {
	decoder := json.NewDecoder(bytes.NewReader(definition))
	_, _ = decoder.Token() // the opening brace; the text is known to be an object
	out := bytes.NewBufferString("{")
	there := false
	for decoder.More() {
		name, _ := decoder.Token()
		var value json.RawMessage
		_ = decoder.Decode(&value)
		if name == "required" {
			there, value = true, strconv.AppendBool(nil, required)
		}
		out.Write(mustEncode(name))
		out.WriteByte(':')
		_ = json.Compact(out, value)
		out.WriteByte(',')
	}
	if there {
		out.Truncate(out.Len() - 1)
	} else {
		out.WriteString(`"required":` + strconv.FormatBool(required))
	}
	out.WriteByte('}')
	return out.Bytes()
}

// encode returns a value as JSON on one line, without HTML escapes.
func encode(v any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}

// mustEncode is encode for values that cannot fail.
func mustEncode(v any) []byte {
	b, err := encode(v)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", v, err))
	}
	return b
}

// readDefinition parses a definition and returns its errors.
func readDefinition(raw json.RawMessage) (Definition, []string) {
	o := readObject(raw)
	d := Definition{Type: Shell, Required: !o.isLiteral("required", "false")}
	if _, ok := o["type"]; ok {
		d.Type = o.text("type")
	}
	field := readObject(o[d.Type])
	var wrong definitionErrors
	switch d.Type {
	case Shell:
		d.Command = wrong.requireText(field, Shell, "cmd")
		d.TimeoutSeconds = wrong.readNumber(field, "timeout_seconds", defaultTimeout)
	case MCP:
		d.Tool = wrong.requireText(field, MCP, "tool_name")
		d.ExpectedResult = field["expected_result"]
	case UserInput:
		if d.Prompt = field.text("prompt"); d.Prompt == "" {
			d.Prompt = defaultPrompt
		}
		d.Approvals = wrong.readApprovals(field)
	case Comment:
		d.MinLength = wrong.readNumber(field, "min_length", defaultMinLength)
	default:
		wrong.add("the challenge has the unknown type %s. The types are shell, mcp, user_input and comment.", o["type"])
	}
	return d, wrong.list
}

// definitionErrors collects the errors of a definition.
type definitionErrors struct{ list []string }

func (m *definitionErrors) add(format string, args ...any) {
	m.list = append(m.list, fmt.Sprintf(format, args...))
}

func (m *definitionErrors) requireText(field object, kind, name string) string {
	s := field.text(name)
	if s == "" {
		m.add("the %s challenge needs `%s`, which is a text that is not empty.", kind, name)
	}
	return s
}

func (m *definitionErrors) readNumber(field object, name string, absent float64) float64 {
	raw, there := field[name]
	if !there {
		return absent
	}
	f, ok := field.number(name)
	switch {
	case !ok:
		m.add("`%s` is not a number (got %s).", name, raw)
	case f < 0:
		m.add("`%s` is negative (got %s).", name, raw)
	case f == 0:
		return absent
	}
	return f
}

func (m *definitionErrors) readApprovals(field object) int {
	raw, there := field["approvals"]
	if !there {
		return 1
	}
	f, ok := field.number("approvals")
	if !ok || f != math.Trunc(f) || f < 1 || f > maxApprovals {
		m.add("`approvals` must be a whole number from 1 to %d (got %s).", maxApprovals, raw)
		return 1
	}
	return int(f)
}
