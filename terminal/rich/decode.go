package rich

import (
	"bytes"
	"strings"

	"nanobot/terminal"
)

// Decode reads one line as a frame. It reports false for a line that is plain text: not valid JSON,
// not an object, or without a type. Of a repeated key the last counts. Fields of a wrong type never
// make it fail.
func Decode(line []byte) (terminal.Frame, bool) {
	var f fields
	return decode(line, &f)
}

// decode is Decode for those who need more of the line than a frame holds.
func decode(line []byte, f *fields) (terminal.Frame, bool) {
	s := scanner{b: line}
	if !s.object(f) || !f.typ.there() {
		return terminal.Frame{}, false
	}
	frame := terminal.Frame{Kind: f.typ.kind(), Text: f.text.text()}
	switch frame.Kind {
	case terminal.Message:
		frame.Media = f.media.list()
	case terminal.Error:
		frame.Code = f.code.text()
	case terminal.Log:
		frame.Level = f.level.text()
	case terminal.Progress, terminal.Partial:
	}
	return frame, true
}

// fields are the values of the keys that mean something, as written.
type fields struct{ typ, text, media, code, level, id, options value }

// slot returns where the value of a key goes, or nil for a key without meaning.
func (f *fields) slot(key []byte) *value {
	switch string(key) {
	case "type":
		return &f.typ
	case "text":
		return &f.text
	case "media":
		return &f.media
	case "code":
		return &f.code
	case "level":
		return &f.level
	case "id":
		return &f.id
	case "options":
		return &f.options
	}
	return nil
}

// value is a JSON value as written.
type value []byte

func (v value) there() bool { return v != nil }

// text returns a string's content, and what is not a string as written; null and nothing are empty.
func (v value) text() string {
	switch {
	case len(v) == 0 || v[0] == 'n':
		return ""
	case v[0] == '"':
		return unquote(v[1 : len(v)-1])
	}
	return strings.ToValidUTF8(string(v), "\uFFFD")
}

// kind returns a frame's type, without an allocation for those we know.
func (v value) kind() terminal.Kind {
	for _, k := range [...]terminal.Kind{terminal.Progress, terminal.Message, terminal.Error, terminal.Log, askKind} {
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
	for s.space() != ']' {
		if s.b[s.i] == ',' {
			s.i++
			s.space()
		}
		start := s.i
		s.value()
		out = append(out, value(s.b[start:s.i]).text())
	}
	return out
}

// isPlain reports whether a string has no escape, so that it is its own content.
func isPlain(b []byte) bool { return bytes.IndexByte(b, '\\') < 0 }
