package config

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// brackets returns the offsets of the brackets that are opened and never closed, and how deep the
// text nests. When it nests too deep to be parsed, the brackets that are open there are returned.
func brackets(text []byte) (open []int, depth int) {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			i = stringEnd(text, i) - 1
		case '/':
			i = commentEnd(text, i) - 1
		case '{', '[':
			open = append(open, i)
			if depth = max(depth, len(open)); depth > deepest {
				return open, depth
			}
		case '}', ']':
			open = open[:max(0, len(open)-1)]
		}
	}
	return open, depth
}

// stringEnd returns the offset after the string that begins at i, or the text's end.
func stringEnd(text []byte, i int) int {
	for i++; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// commentEnd returns the offset after the comment that begins at i, if one does, or i+1.
func commentEnd(text []byte, i int) int {
	for begin, end := range map[string]string{"//": "\n", "/*": "*/"} {
		if !bytes.HasPrefix(text[i:], []byte(begin)) {
			continue
		}
		if n := bytes.Index(text[i+2:], []byte(end)); n >= 0 {
			return i + 2 + n + len(end)
		}
		return len(text)
	}
	return i + 1
}

// explain turns the parser's error into an offset and words for somebody who does not know the
// grammar. No words: there is nothing but comments. It never quotes the text, which may be a
// secret.
func explain(text []byte, err error) (offset int, what string) {
	var line, column int
	if _, scanErr := fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &line, &column); scanErr != nil {
		return 0, "is not JSON"
	}
	for ; line > 1; line-- {
		offset += bytes.IndexByte(text[offset:], '\n') + 1
	}
	offset = min(offset+column-1, len(text))
	problem := errors.Unwrap(err).Error()
	has := func(part string) bool { return strings.Contains(problem, part) }
	switch {
	case has("parsing string"):
		return openString(text), "this string is never closed"
	case has("parsing comment"):
		return offset, "this comment is never closed"
	case has("unexpected EOF"):
		open, _ := brackets(text)
		if len(open) == 0 {
			return 0, ""
		}
		return open[len(open)-1], fmt.Sprintf("this %q is never closed", text[open[len(open)-1]:][:1])
	case has("after object name"):
		return offset, `a ":" is missing before this`
	case has("at start of object name"):
		return offset, "a key must be in double quotes"
	case has("after top-level value"):
		return offset, "nothing may follow the end of the configuration"
	case has("in line comment"):
		return offset, "a comment must not contain a line separator character"
	case has("expecting"):
		return offset, explainSeparator(text, offset)
	}
	return explainValue(text, offset)
}

// openString returns where the string begins that runs to the text's end.
func openString(text []byte) int {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			begin := i
			if i = stringEnd(text, i) - 1; i == len(text)-1 {
				return begin
			}
		case '/':
			i = commentEnd(text, i) - 1
		}
	}
	return 0
}

// explainSeparator explains what stands where a comma or a closing bracket should.
func explainSeparator(text []byte, at int) string {
	switch text[at] {
	case '}', ']':
		open, _ := brackets(text[:at])
		line := 1 + bytes.Count(text[:open[len(open)-1]], []byte("\n"))
		return fmt.Sprintf("%q cannot close the %q of line %d", text[at:at+1], text[open[len(open)-1]:][:1], line)
	case '#':
		return "a comment begins with // and not with #"
	case ':':
		return `a ":" is not expected here`
	}
	return "a comma is missing before this"
}

// words are what other languages call JSON's values.
var words = map[string]string{
	"true": "true", "yes": "true", "on": "true", "false": "false", "no": "false", "off": "false",
	"null": "null", "none": "null", "nil": "null", "undefined": "null",
}

// explainValue explains what stands where a value or a key should.
func explainValue(text []byte, at int) (int, string) {
	end := at
	for end < len(text) && !bytes.ContainsAny(text[end:end+1], " \t\r\n,:{}[]\"'/#") {
		end++
	}
	word := strings.ToLower(string(text[at:end]))
	switch next := bytes.TrimLeft(text[end:], " \t\r\n"); {
	case text[at] == '"':
		return explainString(text, at)
	case text[at] == '\'':
		return at, "must be in double quotes, not in single ones"
	case text[at] == '#':
		return at, "a comment begins with // and not with #"
	case bytes.ContainsAny(text[at:at+1], ",}]:/"):
		return at, fmt.Sprintf("a value is missing before this %q", text[at:at+1])
	case len(next) > 0 && next[0] == ':':
		return at, "a key must be in double quotes"
	case words[word] != "":
		return at, "must be written " + words[word]
	case strings.ContainsAny(string(text[at]), "+-.0123456789"):
		return at, "is not a number that JSON knows"
	}
	return at, "text must be in double quotes"
}

// explainString finds what is wrong inside a string.
func explainString(text []byte, at int) (int, string) {
	for i := at + 1; i < len(text) && text[i] != '"'; i++ {
		switch {
		case text[i] == '\n' || text[i] == '\r':
			return at, "this string is not closed on its line"
		case text[i] < ' ':
			return i, fmt.Sprintf(`a control character in a string must be written \u%04x`, text[i])
		case text[i] == '\\':
			if i+1 < len(text) && !slices.Contains([]byte(`"\/bfnrtu`), text[i+1]) {
				return i, `a backslash in a string must be written \\`
			}
			i++
		}
	}
	return at, `a \u in this string needs four hexadecimal digits after it`
}
