package keys

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	addedBraces = "AUTO-CORRECTED: Fixed incomplete JSON by adding missing closing brace" +
		" - please fix this in future responses"
	extracted = "AUTO-CORRECTED: Extracted JSON from mixed content - please fix this in future responses"
)

// Of JSON that is invalid an error quotes all, or the beginning if it has maxQuoted characters.
const (
	maxQuoted   = 200
	quotedStart = 100
)

// parseJSON reads a response in JSON and repairs one that cannot be read. A repair that does not
// help leaves the first result as it was.
func parseJSON(text string) Response {
	first := readJSON(text)
	if first.Error == "" {
		return first
	}
	// This changes nothing for a text in which an object ends, whatever is wrong with it.
	if lacking := strings.Count(text, "{") - strings.Count(text, "}"); lacking > 0 {
		if r := readJSON(text + strings.Repeat("}", lacking)); r.Error == "" {
			return corrected(r, addedBraces)
		}
	}
	for piece := range pieces(text) {
		if !json.Valid([]byte(piece)) {
			continue
		}
		if r := readJSON(piece); r.Error == "" {
			return corrected(r, extracted)
		}
		break
	}
	return first
}

func corrected(r Response, warning string) Response {
	r.Warnings = slices.Insert(r.Warnings, 0, warning)
	return r
}

// readJSON reads the first object of a text.
func readJSON(text string) (r Response) {
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
		r.Error = invalidJSON(err, text[start:end])
		return r
	}
	r.Error = r.readFields(splitObject(value(text[start:end])))
	return r
}

// invalidJSON is the error of a text that is not JSON.
func invalidJSON(reason error, text string) string {
	if utf8.RuneCountInString(text) < maxQuoted {
		return fmt.Sprintf("Invalid JSON: %v | Content: %s", reason, text)
	}
	n := 0
	for i := range text {
		if n == quotedStart {
			text = text[:i]
			break
		}
		n++
	}
	return fmt.Sprintf("Invalid JSON: %v | Content preview: %s...", reason, text)
}

// readFields reads the response from the fields of its object and returns the error, or "".
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
	problem := r.readCommands(commands.split())
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

// readComplete reads the field task_complete, which is "" if it is absent.
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

// readCommands reads the commands up to the first that is wrong, and returns what is wrong with it.
func (r *Response) readCommands(list []value) (problem string) {
	for i, v := range list {
		n := i + 1
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

// object is a JSON object with its keys in order. Of a repeated key the last value counts, at the
// first place.
type object struct {
	keys   []string
	values map[string]value
}

// splitObject returns the fields of an object in valid JSON.
func splitObject(valid value) object {
	parts := valid.split()
	o := object{values: make(map[string]value, len(parts)/2)}
	for i := 0; i+1 < len(parts); i += 2 {
		key := parts[i].text()
		if _, ok := o.values[key]; !ok {
			o.keys = append(o.keys, key)
		}
		o.values[key] = parts[i+1]
	}
	return o
}

// value is a JSON value as it was written; "" is one that is absent.
type value string

// split returns the elements of a list, or the keys and the values of an object by turns.
func (v value) split() []value {
	var parts []value
	depth, start, inString := 0, 0, false
	for i := 0; i < len(v); i++ {
		switch c := v[i]; {
		case c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			if depth++; depth == 1 {
				start = i + 1
			}
		case depth == 1 && strings.IndexByte(",:}]", c) >= 0:
			if part := strings.Trim(string(v[start:i]), blanks); part != "" {
				parts = append(parts, value(part))
			}
			start = i + 1
			fallthrough
		default:
			if c == '}' || c == ']' {
				depth--
			}
		}
	}
	return parts
}

// kind returns the first byte of a value, '0' for all numbers, and 0 for one that is absent.
func (v value) kind() byte {
	switch {
	case v == "":
		return 0
	case v[0] == '-' || v[0] >= '0' && v[0] <= '9':
		return '0'
	}
	return v[0]
}

// text returns the content of a string and other values as they were written. Null is empty.
func (v value) text() string {
	if v.kind() == '"' && strings.IndexByte(string(v), '\\') < 0 {
		return string(v[1 : len(v)-1])
	}
	var s string
	if v.kind() == '"' && json.Unmarshal([]byte(v), &s) == nil || v.kind() == 'n' {
		return s
	}
	return string(v)
}
