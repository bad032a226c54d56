package rich

import (
	"bytes"
	"strconv"
	"strings"

	"nanobot/terminal"
)

// decode decodes one line as a frame. It reports false for plain text: a line that is not valid
// JSON, not an object, or has no type. Of a repeated key the last counts. Fields of a wrong type
// never make it fail.
func decode(line []byte, f *fields) (terminal.Frame, bool) {
	s := scanner{b: line}
	if !s.scanObject(f) || !f.typ.present() {
		return terminal.Frame{}, false
	}
	frame := terminal.Frame{Kind: f.typ.kind(), Text: f.text.text()}
	switch frame.Kind {
	case terminal.Message:
		frame.Media, frame.Silent, frame.Choices = f.media.list(), f.silent.isTrue(), f.buttons.list()
	case terminal.Error:
		frame.Code = f.code.text()
	case terminal.Log:
		frame.Level = f.level.text()
	case terminal.Progress, terminal.Partial:
	}
	return frame, true
}

// fields are the raw values of the known keys.
type fields struct {
	typ, text, media, silent, buttons, code, level, id, options, secret value
	input, output, cost, model                                          value // of a usage frame
}

// valueOf returns a pointer to the value of a key, or nil for an unknown key.
func (f *fields) valueOf(key []byte) *value {
	switch string(key) {
	case "type":
		return &f.typ
	case "text":
		return &f.text
	case "media":
		return &f.media
	case "silent":
		return &f.silent
	case "buttons":
		return &f.buttons
	case "code":
		return &f.code
	case "level":
		return &f.level
	case "id":
		return &f.id
	case "options":
		return &f.options
	case "secret":
		return &f.secret
	case "input_tokens":
		return &f.input
	case "output_tokens":
		return &f.output
	case "cost":
		return &f.cost
	case "model":
		return &f.model
	}
	return nil
}

// value is a raw JSON value.
type value []byte

func (v value) present() bool { return v != nil }

// text returns the content of a string, and other values as written; null and missing values are
// empty.
func (v value) text() string {
	switch {
	case len(v) == 0 || v[0] == 'n':
		return ""
	case v[0] == '"':
		return unquote(v[1 : len(v)-1])
	}
	return strings.ToValidUTF8(string(v), "\uFFFD")
}

// isTrue reports whether a value means true: the boolean, the same word as a string, or a number
// other than zero.
func (v value) isTrue() bool {
	switch text := v.text(); {
	case strings.EqualFold(text, "true"):
		return true
	default:
		n, err := strconv.ParseFloat(text, 64)
		return err == nil && n != 0
	}
}

// kind returns a frame's type, without an allocation for known types.
func (v value) kind() terminal.Kind {
	for _, k := range [...]terminal.Kind{
		terminal.Progress, terminal.Message, terminal.Error, terminal.Log, deltaKind,
		askKind, usageKind,
	} {
		if len(v) == len(k)+2 && v[0] == '"' && string(v[1:len(v)-1]) == string(k) {
			return k
		}
	}
	return terminal.Kind(v.text())
}

// list returns the texts of an array. A single value counts as a list of one.
func (v value) list() []string {
	if len(v) == 0 || v[0] == 'n' {
		return nil
	}
	if v[0] != '[' {
		return []string{v.text()}
	}
	var out []string
	s := scanner{b: v, i: 1}
	for s.skipSpace() != ']' {
		if s.b[s.i] == ',' {
			s.i++
			s.skipSpace()
		}
		start := s.i
		s.scanValue()
		out = append(out, value(s.b[start:s.i]).text())
	}
	return out
}

// isPlain reports whether a string contains no escape.
func isPlain(b []byte) bool { return bytes.IndexByte(b, '\\') < 0 }
