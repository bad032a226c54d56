package channels

import "strings"

// What the beginning of a text ends with when the rest is only in the file, and its short form for
// parts that have no room for it.
const (
	cutMark      = "\n\n… (the whole answer is in the file)"
	shortCutMark = "…"
)

// Parts cuts a text into at most bubbles parts of at most limit, as Split does. A text that needs
// more comes back as a document with the whole of it, and a short beginning of it for the chat as
// the only part. The beginning takes a quarter of a part: with Telegram's limit of 4096 that fits a
// caption.
func Parts(text string, limit int, measure Measure, bubbles int) (parts []string, doc *File) {
	if measure(text) <= limit*bubbles {
		parts = Split(text, limit, measure)
		if len(parts) <= bubbles {
			return parts, nil
		}
	}
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	return []string{beginning(text, limit, measure)}, document(text)
}

// beginning returns the start of a text, up to a good seam, with a mark that there is more.
func beginning(text string, limit int, measure Measure) string {
	mark := cutMark
	room := limit/4 - measure(mark)
	if room < measure(mark) {
		room = limit - measure(mark)
	}
	if room < measure(mark) {
		mark = shortCutMark
		room = limit - measure(mark)
	}
	text = text[firstLine(text):]
	// What lies beyond the next few parts has no say in where the first one ends.
	for i, n := 0, 0; i < len(text); i = runeEnd(text, i) {
		if n++; n > 4*limit {
			text = text[:i]
			break
		}
	}
	first := Split(text, room, measure)
	if len(first) == 0 || measure(first[0]+mark) > limit {
		return strings.TrimSpace(mark)
	}
	return first[0] + mark
}

// document makes a file of a text. Its content is stored as JSON, which has no way to write bytes
// that are no UTF-8.
func document(text string) *File {
	text = strings.ToValidUTF8(text, "\uFFFD")
	name := "answer.txt"
	if hasMarkdown(text) {
		name = "answer.md"
	}
	return &File{Name: name, Kind: Document, Size: int64(len(text)), Content: text}
}

// hasMarkdown tells whether a text is written in Markdown, by what plain text rarely has: headings,
// fences, tables, list items, bold words, code spans and links.
func hasMarkdown(text string) bool {
	l := newLayout(text, len(text), Runes)
	if len(l.fences) > 0 || len(l.tables) > 0 {
		return true
	}
	for _, s := range l.spans {
		if c := text[s.start]; c == '`' || c == '[' || c == '!' {
			return true
		}
	}
	for line := range strings.Lines(text) {
		if isHeading(line) || markerLen(line[indentLen(line):]) > 0 || hasBold(line) {
			return true
		}
	}
	return false
}

// hasBold tells whether a line has words between pairs of asterisks, and not asterisks alone.
func hasBold(line string) bool {
	_, rest, ok := strings.Cut(line, "**")
	bold, _, shut := strings.Cut(rest, "**")
	return ok && shut && strings.Trim(bold, "* \t") == bold && bold != ""
}
