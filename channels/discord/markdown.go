package discord

import (
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"nanobot/channels"
	"nanobot/channels/markdown"
)

// layout is how Discord shows Markdown. It has lists of its own.
var layout = markdown.Layout{Bullet: "- ", Target: target}

// maxURL bounds the address of a link, so that a link leaves room for other words in its message.
const maxURL = 512

// target returns the address of a link that Discord takes, or "".
func target(destination string) string {
	u, err := url.Parse(destination)
	if err != nil || len(destination) > maxURL || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	return strings.NewReplacer(" ", "%20", "<", "%3C", ">", "%3E", `\`, "%5C", "\n", "").Replace(destination)
}

// cost is the length of a part of a text in Discord's Markdown, in code points, but for the
// backslashes before characters that mean something only at the start of a line.
var cost = markdown.Cost{
	Words:      func(words string) int { return escapedLength(words, "\\`*_~|[") },
	Code:       channels.Runes,
	Mark:       delimiterLength,
	QuotedLine: len("> "),
}

// plainCost is an upper bound of the length of a text without formatting.
var plainCost = markdown.Cost{Words: func(words string) int { return escapedLength(words, "\\`*_~|[>#-+.)") }}

// escapedLength counts code points, and one more for each of some characters.
func escapedLength(words, special string) int {
	n := utf8.RuneCountInString(words)
	for i := range len(words) {
		if strings.IndexByte(special, words[i]) >= 0 {
			n++
		}
	}
	return n
}

// delimiterLength is the length of the delimiters around a mark, at most.
func delimiterLength(m markdown.Mark) int {
	switch m.Kind {
	case markdown.Bold, markdown.Strike, markdown.Spoiler, markdown.Heading:
		return 4
	case markdown.Italic, markdown.Quote, markdown.AutoLink:
		return 2
	case markdown.Code:
		return len("`` `` ")
	case markdown.CodeBlock:
		return len("```\n\n```> > ") + len(m.Language)
	case markdown.Link:
		return len("[](<>)") + len(m.URL)
	default:
		return 0
	}
}

// splitTries is how often a text is cut again because a part was too long in Discord's Markdown.
const splitTries = 3

// split cuts a text into messages of at most limit code points in Discord's Markdown. A text of
// which no cut fits loses its formatting.
func split(t markdown.Text, limit int) []string {
	whole := write(t)
	if whole == "" {
		return nil
	}
	if channels.Runes(whole) <= limit {
		return []string{whole}
	}
	for room, tries := limit, 0; tries < splitTries; tries++ {
		parts, excess := writeParts(t.Split(room, cost), limit)
		if excess == 0 {
			return parts
		}
		room = max(room-excess, limit/2)
	}
	parts, _ := writeParts(markdown.Plain(t.Text).Split(limit, plainCost), limit)
	return parts
}

// writeParts writes parts, and returns by how much the longest exceeds limit.
func writeParts(parts []markdown.Text, limit int) (texts []string, excess int) {
	for _, p := range parts {
		text := write(p)
		excess = max(excess, channels.Runes(text)-limit)
		texts = append(texts, text)
	}
	return texts, excess
}

// write returns a text in Discord's Markdown. Characters of the text that Discord would take for
// formatting are escaped.
func write(t markdown.Text) string {
	t, boldEdges := withoutUnwritableItalics(t)
	w := &writer{text: t.Text, lineStart: true, lastTarget: strings.LastIndex(t.Text, "]("), boldEdges: boldEdges}
	w.escapeUnderscores = slices.ContainsFunc(t.Marks, w.endsItalics) || strings.Contains(t.Text, "://")
	t.Visit(w)
	return w.out.String()
}

// withoutUnwritableItalics removes the italics that Discord has no delimiters for. Next to bold
// text they need underscores, which Discord does not take next to letters and digits. It also
// returns the places where bold text begins or ends.
func withoutUnwritableItalics(t markdown.Text) (markdown.Text, map[int]bool) {
	edges := map[int]bool{}
	for _, m := range t.Marks {
		if m.Kind == markdown.Bold || m.Kind == markdown.Heading {
			edges[m.Start], edges[m.End] = true, true
		}
	}
	kept := slices.DeleteFunc(slices.Clone(t.Marks), func(m markdown.Mark) bool {
		return m.Kind == markdown.Italic && (edges[m.Start] || edges[m.End]) &&
			(m.End < len(t.Text) && isWord(t.Text[m.End]) || m.Start > 0 && isWord(t.Text[m.Start-1]))
	})
	if len(kept) == len(t.Marks) {
		return t, edges
	}
	return withoutUnwritableItalics(markdown.Assemble(t.Text, kept)) // bold text on both sides is one now
}

// writer writes the pieces of a text.
type writer struct {
	text      string
	boldEdges map[int]bool // where bold text begins or ends
	out       strings.Builder
	lineStart bool // nothing but white space, digits and a list marker is on the line
	quoted    bool
	code      bool // within code
	marker    bool // within a list marker, which is not escaped
	bold      int  // how many headings and bold marks are open
	// escapeUnderscores: also those within words, because Discord could take an underscore in code,
	// in an address or around italic text for the end of italics that one of them begins.
	escapeUnderscores bool
	lastTarget        int // where the last "](" is in the text
	closing           []string
}

// Begin writes the delimiter that opens a mark.
func (w *writer) Begin(m markdown.Mark) {
	label := w.text[m.Start:m.End]
	open, shut := "", ""
	switch m.Kind {
	case markdown.Quote:
		w.quoted = true
		open = "> "
	case markdown.Heading:
		open, shut = w.heading(m, label)
	case markdown.Bold:
		open, shut = w.boldDelimiters()
	case markdown.Italic:
		open, shut = w.italicDelimiters(m)
	case markdown.Strike:
		open, shut = "~~", "~~"
	case markdown.Spoiler:
		open, shut = "||", "||"
	case markdown.Code:
		open, shut = codeDelimiters(label)
		w.code = true
	case markdown.CodeBlock:
		open, shut = "```"+m.Language+"\n", "\n```"
		w.code = true
	case markdown.Link:
		open, shut = linkDelimiters(m, label)
	case markdown.Marker:
		w.marker = true
	case markdown.AutoLink: // Discord shows no preview of an address in angle brackets
		if webAddress().FindString(label) == label && !strings.HasSuffix(label, "://") {
			open, shut = "<", ">"
		}
	default:
	}
	w.writeDelimiter(open)
	w.closing = append(w.closing, shut)
}

// End writes the delimiter that closes a mark.
func (w *writer) End(m markdown.Mark) {
	last := len(w.closing) - 1
	w.writeDelimiter(w.closing[last])
	w.closing = w.closing[:last]
	switch m.Kind {
	case markdown.Quote:
		w.quoted = false
	case markdown.Bold, markdown.Heading:
		w.bold--
	case markdown.Code, markdown.CodeBlock:
		w.code = false
	case markdown.Marker:
		w.marker = false
		w.lineStart = true
	default:
	}
}

// writeDelimiter writes a delimiter, whose lines are quoted within a quote.
func (w *writer) writeDelimiter(delimiter string) {
	if delimiter == "" {
		return
	}
	if w.quoted {
		delimiter = strings.ReplaceAll(delimiter, "\n", "\n> ")
	}
	w.out.WriteString(delimiter)
	w.lineStart = w.lineStart && delimiter == "> "
}

// heading returns the delimiters of a heading. Discord has three levels of headings, each in a line
// of its own; others become bold.
func (w *writer) heading(m markdown.Mark, label string) (open, shut string) {
	line := w.out.String()
	line = line[strings.LastIndexByte(line, '\n')+1:]
	if line != "" && line != "> " || m.Level > 3 || strings.Contains(label, "\n") {
		return w.boldDelimiters()
	}
	w.bold++ // Discord shows headings in bold
	return strings.Repeat("#", m.Level) + " ", ""
}

func (w *writer) boldDelimiters() (open, shut string) {
	if w.bold++; w.bold > 1 {
		return "", ""
	}
	return "**", "**"
}

// italicDelimiters returns asterisks, or underscores where an asterisk of bold text would be next
// to them.
func (w *writer) italicDelimiters(m markdown.Mark) (open, shut string) {
	if !w.boldEdges[m.Start] && !w.boldEdges[m.End] {
		return "*", "*"
	}
	return "_", "_"
}

// endsItalics reports whether there is an underscore in a mark that is not escaped.
func (w *writer) endsItalics(m markdown.Mark) bool {
	switch m.Kind {
	case markdown.Italic:
		return w.boldEdges[m.Start] || w.boldEdges[m.End]
	case markdown.Code, markdown.CodeBlock, markdown.AutoLink:
		return strings.Contains(w.text[m.Start:m.End], "_")
	case markdown.Link:
		return strings.Contains(m.URL, "_")
	default:
		return false
	}
}

// isWord reports whether a character is part of a word to Discord, whose rules know ASCII only.
func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// codeDelimiters returns the delimiters of code in a line: two backticks around one that is alone.
func codeDelimiters(code string) (open, shut string) {
	if !strings.Contains(code, "`") || strings.Contains(code, "``") { // see writeCode
		return "`", "`"
	}
	open, shut = "``", "``"
	if code[0] == '`' {
		open = "`` "
	}
	if code[len(code)-1] == '`' {
		shut = " ``"
	}
	return open, shut
}

// linkDelimiters returns the delimiters of a link. Discord takes no brackets in its label: then the
// address is written behind the label.
func linkDelimiters(m markdown.Mark, label string) (open, shut string) {
	address := m.URL
	if strings.ContainsAny(address, "()") {
		address = "<" + address + ">"
	}
	if strings.ContainsAny(label, "[]") {
		return "", " (" + address + ")"
	}
	return "[", "](" + address + ")"
}
