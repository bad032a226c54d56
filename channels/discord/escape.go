package discord

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"nanobot/internal/lazyregexp"
)

// lookalike replaces a backtick in code: a Greek accent of the same shape.
const lookalike = "\u1fef"

// Text writes a piece of the text.
func (w *writer) Text(piece string, at int) {
	switch {
	case w.code:
		w.writeCode(piece)
	case w.marker:
		w.out.WriteString(piece)
	default:
		w.writeWords(piece, at)
	}
}

// writeCode writes code. Backticks that would end the code become accents that look alike.
func (w *writer) writeCode(code string) {
	switch inBlock := strings.HasSuffix(w.closing[len(w.closing)-1], "\n```"); {
	case inBlock:
		code = strings.ReplaceAll(code, "```", strings.Repeat(lookalike, 3))
	case strings.Contains(code, "``"):
		code = strings.ReplaceAll(code, "`", lookalike)
	}
	if w.quoted {
		code = strings.ReplaceAll(code, "\n", "\n> ")
	}
	w.out.WriteString(code)
	w.lineStart = false
}

// webAddress matches an address that Discord makes a link of by itself. A backslash in it would
// become part of the link.
var webAddress = lazyregexp.New(`^https?://[^\s\pZ\x{feff}\x{85}<]*`)

// writeWords writes text outside code.
func (w *writer) writeWords(words string, at int) {
	for i := 0; i < len(words); {
		switch c := words[i]; {
		case c == 'h' && webAddress().MatchString(words[i:]):
			found := webAddress().FindString(words[i:])
			i += len(found)
			w.writeAddress(found, i == len(words) && w.continuesAt(at+i))
			continue
		case c == '\n':
			w.out.WriteByte('\n')
			if w.quoted {
				w.out.WriteString("> ")
			}
			w.lineStart = true
			i++
			continue
		case c == '_' && (i == 0 || i == len(words)-1), w.needsEscape(at + i): // a delimiter may be next to it
			w.out.WriteByte('\\')
		}
		w.lineStart = w.lineStart && (words[i] == ' ' || '0' <= words[i] && words[i] <= '9')
		w.out.WriteByte(words[i])
		i++
	}
}

// writeAddress writes an address of the web. Angle brackets keep a delimiter that follows out of
// it.
func (w *writer) writeAddress(address string, delimited bool) {
	switch {
	case strings.HasSuffix(address, "://"): // no address yet, but with a delimiter behind it
		address = strings.TrimSuffix(address, "//") + `\//`
	case delimited && !strings.HasSuffix(w.out.String(), "<"):
		address = "<" + address + ">"
	}
	w.out.WriteString(address)
	w.lineStart = false
}

// continuesAt reports whether the text has a word at a place, and no white space.
func (w *writer) continuesAt(at int) bool {
	r, _ := utf8.DecodeRuneInString(w.text[at:])
	return at < len(w.text) && !unicode.IsSpace(r)
}

// headingDelimiter matches the start of a line that Discord takes for a heading.
var headingDelimiter = lazyregexp.New(`^#{1,3}\s`)

// needsEscape reports whether Discord could take the character at a place of the text for
// formatting.
func (w *writer) needsEscape(at int) bool {
	text := w.text
	c, next, before := text[at], byte(' '), byte(' ')
	if at+1 < len(text) {
		next = text[at+1]
	}
	if at > 0 {
		before = text[at-1]
	}
	blank := next == ' ' || next == '\n' || next == '\t'
	switch c {
	case '`', '\\', '*':
		return true
	case '_':
		return w.escapeUnderscores || !isWord(before) || !isWord(next) || before == c || next == c
	case '~', '|':
		return next == c || before == c
	case '[':
		return at < w.lastTarget
	case '>':
		return w.lineStart
	case '#':
		return w.lineStart && headingDelimiter().MatchString(text[at:min(at+4, len(text))])
	case '-', '+':
		return w.lineStart && (blank || next == '#')
	case '.', ')':
		return w.lineStart && blank && '0' <= before && before <= '9'
	}
	return false
}
