package discord

import (
	"net/url"
	"regexp"
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
	return strings.NewReplacer(" ", "%20", "<", "%3C", ">", "%3E", "\n", "").Replace(destination)
}

// cost is what a part of a text takes at most when it is written for Discord, in code points.
var cost = markdown.Cost{
	Words: func(words string) int {
		n := utf8.RuneCountInString(words)
		for i := range len(words) {
			if strings.IndexByte("\\`*_~|[", words[i]) >= 0 {
				n++
			}
		}
		return n
	},
	Code:       channels.Runes,
	Mark:       markCost,
	QuotedLine: len("> "),
}

func markCost(m markdown.Mark) int {
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

// splitTries is how often a text is cut anew because its parts were too long when written.
const splitTries = 3

// split cuts a text into parts that fit limit when they are written. Signs that mean something only
// where a line begins are not in the cost: with many of them a text is cut again, shorter.
func split(t markdown.Text, limit int) []string {
	if whole := write(t); channels.Runes(whole) <= limit {
		return []string{whole}
	}
	var parts []string
	for room, tries := limit, 0; ; tries++ {
		excess := 0
		parts = parts[:0]
		for _, p := range t.Split(room, cost) {
			text := write(p)
			if over := channels.Runes(text) - limit; over > 0 {
				excess = max(excess, over)
				text = p.Text // if nothing else helps
			}
			parts = append(parts, text)
		}
		if excess == 0 || tries == splitTries {
			return parts
		}
		room = max(room-excess, limit/2)
	}
}

// write writes a text in Discord's Markdown. What is no formatting is written so that Discord does
// not take it for any.
func write(t markdown.Text) string {
	w := &writer{text: t.Text, lineStart: true, lastTarget: strings.LastIndex(t.Text, "](")}
	t.Visit(w)
	return w.out.String()
}

// writer is told a text piece by piece.
type writer struct {
	text       string
	out        strings.Builder
	lineStart  bool
	quoted     bool
	bold       int  // how many signs for bold are open
	code       bool // within code
	raw        bool // what is written means itself
	lastTarget int  // where the last "](" is in the text
	signs      []string
}

// Begin writes the sign that begins a mark.
func (w *writer) Begin(m markdown.Mark) {
	said := w.text[m.Start:m.End]
	begin, end := "", ""
	switch m.Kind {
	case markdown.Quote:
		w.quoted = true
		begin = "> "
	case markdown.Heading:
		begin, end = w.heading(m, said)
	case markdown.Bold:
		begin, end = w.boldSigns()
	case markdown.Italic:
		begin, end = w.italicSigns(m)
	case markdown.Strike:
		begin, end = "~~", "~~"
	case markdown.Spoiler:
		begin, end = "||", "||"
	case markdown.Code:
		begin, end = codeSigns(said)
		w.code = true
	case markdown.CodeBlock:
		begin, end = "```"+m.Language+"\n", "\n```"
		w.code = true
	case markdown.Link:
		begin, end = linkSigns(m, said)
	case markdown.Marker:
		w.raw = true
	case markdown.AutoLink: // which Discord shows no preview of
		begin, end = "<", ">"
	default:
	}
	w.put(begin)
	w.signs = append(w.signs, end)
}

// End writes the sign that ends a mark.
func (w *writer) End(m markdown.Mark) {
	last := len(w.signs) - 1
	w.put(w.signs[last])
	w.signs = w.signs[:last]
	switch m.Kind {
	case markdown.Quote:
		w.quoted = false
	case markdown.Bold, markdown.Heading:
		w.bold--
	case markdown.Code, markdown.CodeBlock:
		w.code = false
	case markdown.Marker:
		w.raw = false
	default:
	}
}

// put writes signs, whose lines are quoted where they are within a quote.
func (w *writer) put(signs string) {
	if signs == "" {
		return
	}
	if w.quoted {
		signs = strings.ReplaceAll(signs, "\n", "\n> ")
	}
	w.out.WriteString(signs)
	w.lineStart = w.lineStart && signs == "> " || strings.HasSuffix(signs, "\n")
}

// heading returns the signs around a heading. Discord has three levels of them, each in a line of
// its own; the others are bold.
func (w *writer) heading(m markdown.Mark, said string) (begin, end string) {
	if !w.lineStart || m.Level > 3 || strings.Contains(said, "\n") {
		return w.boldSigns()
	}
	w.bold++ // a heading is bold anyway
	return strings.Repeat("#", m.Level) + " ", ""
}

func (w *writer) boldSigns() (begin, end string) {
	if w.bold++; w.bold > 1 {
		return "", ""
	}
	return "**", "**"
}

// italicSigns returns the signs around italic words: not asterisks where those of bold words are
// next to them.
func (w *writer) italicSigns(m markdown.Mark) (begin, end string) {
	written := w.out.String()
	next := m.End < len(w.text) && (w.text[m.End] == '_' || isWord(w.text[m.End]))
	if strings.HasSuffix(written, "*") && !next {
		return "_", "_"
	}
	return "*", "*"
}

func isWord(c byte) bool {
	return c >= utf8.RuneSelf || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// codeSigns returns the signs around code in a line.
func codeSigns(said string) (begin, end string) {
	if strings.Contains(said, "`") && !strings.Contains(said, "``") {
		return "`` ", " ``"
	}
	return "`", "`"
}

// linkSigns returns the signs around the words of a link. Discord has no brackets in them: then the
// address is written behind them.
func linkSigns(m markdown.Mark, said string) (begin, end string) {
	address := m.URL
	if strings.ContainsAny(address, "()") {
		address = "<" + address + ">"
	}
	if strings.ContainsAny(said, "[]") {
		return "", " (" + address + ")"
	}
	return "[", "](" + address + ")"
}

// lookalike stands for a backtick in code: a Greek accent of the same shape.
const lookalike = "\u1fef"

// Text writes a piece of the text.
func (w *writer) Text(s string, at int) {
	switch {
	case w.code:
		w.writeCode(s)
	case w.raw:
		w.out.WriteString(s)
		w.lineStart = false
	default:
		w.writeWords(s, at)
	}
}

// writeCode writes a piece of code. Backticks that would end it become accents that look alike.
func (w *writer) writeCode(s string) {
	ticks := "```"
	if !strings.HasSuffix(w.signs[len(w.signs)-1], "\n```") {
		ticks = "``"
	}
	s = strings.ReplaceAll(s, ticks, strings.Repeat(lookalike, len(ticks)))
	if w.quoted {
		s = strings.ReplaceAll(s, "\n", "\n> ")
	}
	w.out.WriteString(s)
	w.lineStart = false
}

// address is what Discord makes a link of by itself, and in which a backslash would be taken for
// part of it.
var address = regexp.MustCompile(`^https?://[^\s<]+`)

// writeWords writes a piece of the text outside code.
func (w *writer) writeWords(s string, at int) {
	for i := 0; i < len(s); {
		if s[i] == 'h' {
			if found := address.FindString(s[i:]); found != "" {
				w.out.WriteString(found)
				w.lineStart = false
				i += len(found)
				continue
			}
		}
		if s[i] == '\n' {
			w.out.WriteByte('\n')
			if w.quoted {
				w.out.WriteString("> ")
			}
			w.lineStart = true
			i++
			continue
		}
		if w.special(at + i) {
			w.out.WriteByte('\\')
		}
		w.lineStart = w.lineStart && (s[i] == ' ' || '0' <= s[i] && s[i] <= '9')
		w.out.WriteByte(s[i])
		i++
	}
}

var headingSign = regexp.MustCompile(`^#{1,3}\s`)

// special tells whether the character at a place of the text would mean something to Discord.
func (w *writer) special(at int) bool {
	c, next, before := w.text[at], byte(' '), byte(' ')
	if at+1 < len(w.text) {
		next = w.text[at+1]
	}
	if at > 0 {
		before = w.text[at-1]
	}
	space := next == ' ' || next == '\n' || next == '\t'
	switch c {
	case '`':
		return true
	case '\\':
		return next > ' ' && next < utf8.RuneSelf && !isWord(next)
	case '*':
		return !space || w.lineStart
	case '_':
		return !isWord(before) || !isWord(next)
	case '~', '|':
		return next == c || before == c
	case '[':
		return at < w.lastTarget
	case '>':
		return w.lineStart
	case '#':
		return w.lineStart && headingSign.MatchString(w.text[at:min(at+4, len(w.text))])
	case '-', '+':
		return w.lineStart && (space || next == '#')
	case '.', ')':
		return w.lineStart && space && '0' <= before && before <= '9'
	}
	return false
}
