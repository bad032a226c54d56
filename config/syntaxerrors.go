package config

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"nanobot/internal/lazyregexp"
)

// unclosedBrackets returns the offsets of brackets that are never closed, and the nesting depth of
// the text. If the text exceeds maxNesting, it stops there and returns the brackets open at that
// point.
func unclosedBrackets(text []byte) (open []int, depth int) {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			i = stringEnd(text, i) - 1
		case '/':
			i = commentEnd(text, i) - 1
		case '{', '[':
			open = append(open, i)
			if depth = max(depth, len(open)); depth > maxNesting {
				return open, depth
			}
		case '}', ']':
			open = open[:max(0, len(open)-1)]
		}
	}
	return open, depth
}

// stringEnd returns the offset after the string that starts at i, or the end of the text.
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

// commentEnd returns the offset after the comment that starts at i, or i+1 if there is none.
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

// explainSyntaxError converts the parser's error to an offset and a text that needs no knowledge of
// the JSON grammar. The text is "" if the file has only comments. It never quotes the file, which
// may contain secrets.
func explainSyntaxError(name string, text []byte, err error) (offset int, what string) {
	if offset, format := otherFormat(name, text); format != "" {
		return offset, fmt.Sprintf("this is %s, and the config is JSON: write {\"terminal\": {\"command\": …}}", format)
	}
	offset, what = explainGrammar(text, err)
	if quote, found := findTypographicQuote(text, offset); found {
		r, _ := utf8.DecodeRune(text[quote:])
		return quote, fmt.Sprintf(`this is the typographic quote %c; write the straight quote "`, r)
	}
	return offset, what
}

// The beginnings of a config in another format: a key of YAML, and a table or a key of TOML. JSON
// begins with a bracket, a quote or a comment.
var (
	yamlPattern = lazyregexp.New(`^(---|%YAML|- |[\w$-]+[ \t]*:([ \t\r\n]|$))`)
	tomlPattern = lazyregexp.New(`^(\[\[?[\w.-]+\]\]?[ \t\r]*(\n|$)|[\w.-]+[ \t]*=)`)
)

// otherFormat recognises a config in YAML or TOML by its first line that is not blank and no
// comment, and returns the offset of that line and the format, or "".
func otherFormat(name string, text []byte) (offset int, format string) {
	for line := range bytes.Lines(text) {
		if begin := bytes.TrimLeft(line, " \t\r\n"); len(begin) > 0 && begin[0] != '#' {
			offset += len(line) - len(begin)
			break
		}
		offset += len(line)
	}
	switch begin := text[min(offset, len(text)):]; {
	case yamlPattern().Match(begin):
		return offset, "YAML"
	case tomlPattern().Match(begin):
		return offset, "TOML"
	case bytes.HasPrefix(begin, []byte("{")), len(begin) == 0:
	case strings.HasSuffix(name, ".yaml"), strings.HasSuffix(name, ".yml"):
		return offset, "YAML"
	}
	return 0, ""
}

// typographicQuotes are the quotation marks that word processors and phones type for " and '.
const typographicQuotes = "“”„‟«»‹›‘’‚‛"

// closingQuote matches the only typographic quote of a string's first line, if it was meant to
// close the string: what follows it is what follows strings.
var closingQuote = lazyregexp.New(`^"[^` + typographicQuotes + `\n]*([` + typographicQuotes + `])[ \t\r]*([:,}\]][^` + typographicQuotes +
	`\n]*)?(\n|$)`)

// findTypographicQuote returns the offset of the typographic quote that causes an error at offset:
// it is there, or in the string that begins there or ends before.
func findTypographicQuote(text []byte, offset int) (int, bool) {
	if r, _ := utf8.DecodeRune(text[offset:]); strings.ContainsRune(typographicQuotes, r) {
		return offset, true
	}
	begin := -1
	for i := 0; i <= offset && i < len(text); i++ {
		switch text[i] {
		case '"':
			begin, i = i, stringEnd(text, i)-1
		case '/':
			i = commentEnd(text, i) - 1
		}
	}
	if begin < 0 {
		return 0, false
	}
	if m := closingQuote().FindSubmatchIndex(text[begin:stringEnd(text, begin)]); m != nil {
		return begin + m[2], true
	}
	return 0, false
}

// explainGrammar is explainSyntaxError for a file that is meant to be JSON.
func explainGrammar(text []byte, err error) (offset int, what string) {
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
		return findUnclosedString(text), "this string is never closed"
	case has("parsing comment"):
		return offset, "this comment is never closed"
	case has("unexpected EOF"):
		open, _ := unclosedBrackets(text)
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

// findUnclosedString returns the offset of the string that is not closed before the end of the
// text.
func findUnclosedString(text []byte) int {
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

// explainSeparator explains an unexpected character where a comma or a closing bracket is expected.
func explainSeparator(text []byte, at int) string {
	switch text[at] {
	case '}', ']':
		open, _ := unclosedBrackets(text[:at])
		line := 1 + bytes.Count(text[:open[len(open)-1]], []byte("\n"))
		return fmt.Sprintf("%q cannot close the %q on line %d", text[at:at+1], text[open[len(open)-1]:][:1], line)
	case '#':
		return "a comment begins with //, not with #"
	case ':':
		return `unexpected ":"`
	}
	return "a comma is missing before this"
}

// literalSpellings maps literals of other languages to those of JSON.
var literalSpellings = map[string]string{
	"true": "true", "yes": "true", "on": "true", "false": "false", "no": "false", "off": "false",
	"null": "null", "none": "null", "nil": "null", "undefined": "null",
}

// explainValue explains an unexpected character where a value or a key is expected.
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
		return at, "must be in double quotes, not in single quotes"
	case text[at] == '#':
		return at, "a comment begins with //, not with #"
	case bytes.ContainsAny(text[at:at+1], ",}]:/"):
		return at, fmt.Sprintf("a value is missing before this %q", text[at:at+1])
	case len(next) > 0 && next[0] == ':':
		return at, "a key must be in double quotes"
	case literalSpellings[word] != "":
		return at, "must be written " + literalSpellings[word]
	case strings.ContainsAny(string(text[at]), "+-.0123456789"):
		return at, "is not a valid JSON number"
	}
	return at, "text must be in double quotes"
}

// explainString explains what is wrong inside a string.
func explainString(text []byte, at int) (int, string) {
	for i := at + 1; i < len(text) && text[i] != '"'; i++ {
		switch {
		case text[i] == '\n' || text[i] == '\r':
			return at, "this string must end on the same line"
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
