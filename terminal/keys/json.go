package keys

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	warnBracesAdded = "AUTO-CORRECTED: Fixed incomplete JSON by adding missing closing brace" +
		" - please fix this in future responses"
	warnExtracted = "AUTO-CORRECTED: Extracted JSON from mixed content - please fix this in future responses"
)

// An error quotes invalid JSON completely if it is shorter than maxQuoted characters, else its
// first quotedStart characters.
const (
	maxQuoted   = 200
	quotedStart = 100
)

// parseJSON parses a response in JSON and tries to repair an invalid one. If no repair helps, it
// returns the first result.
func parseJSON(text string) Response {
	first := readObject(text)
	if first.Error == "" {
		return first
	}
	// This has no effect on a text that contains a complete object.
	if lacking := strings.Count(text, "{") - strings.Count(text, "}"); lacking > 0 {
		if r := readObject(text + strings.Repeat("}", lacking)); r.Error == "" {
			return withWarning(r, warnBracesAdded)
		}
	}
	for piece := range findPieces(text) {
		if !json.Valid([]byte(piece)) {
			continue
		}
		if r := readObject(piece); r.Error == "" {
			return withWarning(r, warnExtracted)
		}
		break
	}
	return first
}

func withWarning(r Response, warning string) Response {
	r.Warnings = slices.Insert(r.Warnings, 0, warning)
	return r
}

// readObject parses the first object of a text.
func readObject(text string) (r Response) {
	start, end, ok := findObject(text)
	if !ok {
		r.warn("No valid JSON object found")
		r.Error = "No valid JSON found in response"
		return r
	}
	if strings.TrimSpace(text[:start]) != "" {
		r.warn("Extra text detected before JSON object")
	}
	if strings.TrimSpace(text[end:]) != "" {
		r.warn("Extra text detected after JSON object")
	}
	if err := json.Unmarshal([]byte(text[start:end]), &json.RawMessage{}); err != nil {
		r.Error = invalidJSONError(err, text[start:end])
		return r
	}
	r.Error = r.readFields(splitObject(value(text[start:end])))
	return r
}

// invalidJSONError returns the error for a text that is not JSON.
func invalidJSONError(reason error, text string) string {
	if utf8.RuneCountInString(text) < maxQuoted {
		return fmt.Sprintf("Invalid JSON: %v | Content: %s", reason, text)
	}
	start := []rune(text[:min(len(text), quotedStart*utf8.UTFMax)])[:quotedStart]
	return fmt.Sprintf("Invalid JSON: %v | Content preview: %s...", reason, string(start))
}

// readFields sets the response from the fields of its object and returns the error, or "".
func (r *Response) readFields(fields object) string {
	var missing []string
	for _, name := range required {
		if _, ok := fields.values[name]; !ok {
			missing = append(missing, name)
		}
	}
	r.Analysis, r.Plan = fields.values["analysis"].text(), fields.values["plan"].text()
	if len(missing) > 0 {
		return "Missing required fields: " + strings.Join(missing, ", ")
	}
	for _, name := range []string{"analysis", "plan"} {
		if fields.values[name].kind() != '"' {
			r.warn("Field '%s' should be a string", name)
		}
	}
	commands := fields.values["commands"]
	if commands.kind() != '[' {
		return "Field 'commands' must be an array"
	}
	r.checkOrder("Fields", slices.DeleteFunc(slices.Clone(fields.keys), func(name string) bool {
		return !slices.Contains(required, name)
	}))
	r.TaskComplete = r.readComplete(fields.values["task_complete"])
	var list []json.RawMessage
	_ = json.Unmarshal([]byte(commands), &list) // it is valid
	problem := r.readCommands(list)
	if problem == "" {
		return ""
	}
	r.Commands = nil
	if r.TaskComplete {
		r.warn("%s", problem)
		return ""
	}
	return problem
}

// readComplete parses the field task_complete, which is "" if absent.
func (r *Response) readComplete(v value) bool {
	switch v.kind() {
	case 0, 'n', 'f':
		return false
	case 't':
		return true
	case '"':
		return slices.Contains([]string{"true", "1", "yes"}, strings.ToLower(v.text()))
	}
	r.warn("Field 'task_complete' should be a boolean or string")
	digits, _, _ := strings.Cut(strings.ToLower(string(v)), "e")
	return v.kind() == '0' && strings.ContainsAny(digits, "123456789")
}

// readCommands parses the commands up to the first invalid one, and returns what is wrong with it.
func (r *Response) readCommands(list []json.RawMessage) (problem string) {
	for i, raw := range list {
		n, v := i+1, value(raw)
		if v.kind() != '{' {
			return fmt.Sprintf("Command %d must be an object", n)
		}
		fields := splitObject(v)
		keystrokes, ok := fields.values["keystrokes"]
		switch {
		case !ok:
			return fmt.Sprintf("Command %d missing required 'keystrokes' field", n)
		case keystrokes.kind() != '"':
			return fmt.Sprintf("Command %d 'keystrokes' must be a string", n)
		}
		k := Keystrokes{Keys: keystrokes.text(), Duration: defaultDuration}
		switch seconds, ok := fields.values["duration"]; {
		case !ok:
			r.warn("Command %d: Missing duration field, using default 1.0", n)
		default:
			if k.Duration, ok = parseSeconds(string(seconds)); !ok {
				r.warn("Command %d: Invalid duration value, using default 1.0", n)
			}
		}
		unknown := slices.DeleteFunc(fields.keys, func(name string) bool {
			return name == "keystrokes" || name == "duration"
		})
		if len(unknown) > 0 {
			r.warn("Command %d: Unknown fields: %s", n, strings.Join(unknown, ", "))
		}
		r.checkNewline(n, k.Keys, n == len(list))
		r.Commands = append(r.Commands, k)
	}
	return ""
}

// object is a JSON object with its keys in order. A repeated key has its last value at its first
// position.
type object struct {
	keys   []string
	values map[string]value
}

// splitObject returns the fields of an object in valid JSON.
func splitObject(valid value) object {
	o := object{values: map[string]value{}}
	fields := json.NewDecoder(strings.NewReader(string(valid)))
	_, _ = fields.Token() // the opening brace
	for fields.More() {
		key, _ := fields.Token()
		name, _ := key.(string)
		var v json.RawMessage
		_ = fields.Decode(&v)
		if _, ok := o.values[name]; !ok {
			o.keys = append(o.keys, name)
		}
		o.values[name] = value(v)
	}
	return o
}

// value is the source text of a JSON value; "" if absent.
type value string

// kind returns the first byte of a value, '0' for all numbers, and 0 if absent.
func (v value) kind() byte {
	switch {
	case v == "":
		return 0
	case v[0] == '-' || v[0] >= '0' && v[0] <= '9':
		return '0'
	}
	return v[0]
}

// text returns the content of a string, "" for null, and the source text of other values.
func (v value) text() string {
	var s string
	if v.kind() == '"' && json.Unmarshal([]byte(v), &s) == nil || v.kind() == 'n' {
		return s
	}
	return string(v)
}
