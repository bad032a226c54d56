package keys

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Response is a parsed response of an agent. Parse never returns nil for Commands and Warnings, so
// that both are arrays in JSON.
type Response struct {
	Analysis     string       `json:"analysis"`
	Plan         string       `json:"plan"`
	Commands     []Keystrokes `json:"commands"`      // empty if Error is set
	TaskComplete bool         `json:"task_complete"` // false if Error is set
	Error        string       `json:"error"`
	Warnings     []string     `json:"warnings"`
}

// Keystrokes is an input of the agent and the seconds to wait after it. Duration is finite but
// otherwise unchecked, so it can be negative or a year.
type Keystrokes struct {
	Keys     string  `json:"keystrokes"`
	Duration float64 `json:"duration"`
}

// Format is the format of an agent's responses.
type Format string

// The formats.
const (
	Auto Format = "auto" // JSON or XML, detected from the response
	JSON Format = "json"
	XML  Format = "xml"
)

// Formats returns the names of the formats, the default first.
func Formats() []string { return []string{string(Auto), string(JSON), string(XML)} }

// Parse parses a response in linear time, whatever its text. It also returns the format of the
// response, JSON or XML.
func Parse(f Format, text string) (Response, Format) {
	text = strings.TrimPrefix(text, "\uFEFF") // drop a byte order mark
	if !utf8.ValidString(text) {
		text = string([]rune(text)) // U+FFFD for each byte that is invalid
	}
	switch f {
	case JSON:
		return withoutNilLists(parseJSON(text)), JSON
	case XML:
		return withoutNilLists(parseXML(text)), XML
	case Auto:
	}
	return parseAuto(text)
}

// parseAuto uses the format whose opening comes first, unless only the other format can be parsed.
// The thoughts of a model are not part of its response.
func parseAuto(text string) (Response, Format) {
	text = skipThoughts(text)
	first, second := JSON, XML
	if tag := strings.Index(text, openResponse); tag >= 0 {
		if brace := strings.IndexByte(text[:tag], '{'); brace < 0 {
			first, second = XML, JSON
		}
	}
	r, _ := Parse(first, text)
	if r.Error == "" {
		return r, first
	}
	if other, _ := Parse(second, text); other.Error == "" {
		return other, second
	}
	return r, first
}

// skipThoughts removes <think>…</think> from the beginning of a text.
func skipThoughts(text string) string {
	thoughts, ok := strings.CutPrefix(strings.TrimSpace(text), "<think>")
	if !ok {
		return text
	}
	if _, rest, ok := strings.Cut(thoughts, "</think>"); ok {
		return rest
	}
	return text
}

// withoutNilLists replaces nil lists by empty ones.
func withoutNilLists(r Response) Response {
	if r.Commands == nil {
		r.Commands = []Keystrokes{}
	}
	if r.Warnings == nil {
		r.Warnings = []string{}
	}
	return r
}

// warn adds a warning.
func (r *Response) warn(format string, args ...any) {
	r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...))
}

// defaultDuration is the wait after keystrokes without a usable duration, in seconds.
const defaultDuration = 1.0

// parseSeconds parses a decimal number. Infinity, NaN and hexadecimal numbers are invalid.
func parseSeconds(s string) (seconds float64, ok bool) {
	if strings.Trim(s, "0123456789+-.eE") != "" {
		return defaultDuration, false
	}
	seconds, err := strconv.ParseFloat(s, 64)
	if err != nil { // includes numbers that are too large for a float64
		return defaultDuration, false
	}
	return seconds, true
}

// checkNewline adds a warning if command n, counted from 1, does not end its line and another
// command follows.
func (r *Response) checkNewline(n int, keystrokes string, last bool) {
	if last || keystrokes == "" || strings.HasSuffix(keystrokes, "\n") || IsKey(keystrokes) {
		return
	}
	r.warn("Command %d should end with newline when followed by another command. "+
		"Otherwise the two commands will be concatenated together on the same line.", n)
}

// checkOrder adds a warning if the required parts are not in the expected order.
func (r *Response) checkOrder(what string, found []string) {
	var expected []string
	for _, name := range required {
		if slices.Contains(found, name) {
			expected = append(expected, name)
		}
	}
	if !slices.Equal(found, expected) {
		r.warn("%s appear in wrong order. Found: %s, expected: %s",
			what, strings.Join(found, " → "), strings.Join(expected, " → "))
	}
}

// required are the names of the required parts of a response, in order.
var required = []string{"analysis", "plan", "commands"}
