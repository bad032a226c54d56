package discord

import (
	"strings"

	"nanobot/channels"
)

// maxTarget bounds the address of a link in bytes: a message has no more than 2000 characters.
const maxTarget = 4 * textLimit

// scanner reads the links of a text as Discord shows them, [words](address), once from its begin to
// its end.
type scanner struct {
	text    string
	visible strings.Builder // what people see of it, for the search for addresses
	open    []int           // where in visible the words begin that an open bracket may make a link of
	shut    int             // where those begin whose bracket was closed last, with none opened since; -1: there are none
	links   []channels.Link
	ends    []int // in text: behind each link
}

// markLinks writes behind each link that shows another address than it leads to where it leads.
// Code within a line is not told from prose: a note too many does less harm than one too few.
func markLinks(text string) string {
	if !strings.Contains(text, "](") {
		return text
	}
	s := scanner{text: text, shut: -1}
	for i := 0; i < len(text); {
		i = s.next(i)
	}
	var b strings.Builder
	last := 0
	for i, note := range channels.Disguises(s.visible.String(), s.links) {
		if note == "" || s.ends[i] < last {
			continue
		}
		b.WriteString(text[last:s.ends[i]] + note)
		last = s.ends[i]
	}
	return b.String() + text[last:]
}

// next reads what is at i and returns where to go on.
func (s *scanner) next(i int) int {
	switch c := s.text[i]; {
	case c == '\\' && i+1 < len(s.text) && isPunctuation(s.text[i+1]):
		s.visible.WriteByte(s.text[i+1])
		return i + 2
	case c == '[':
		s.open, s.shut = append(s.open, s.visible.Len()), -1
	case c == ']' && (len(s.open) > 0 || s.shut >= 0):
		if n := len(s.open); n > 0 {
			s.shut, s.open = s.open[n-1], s.open[:n-1]
		}
		// Words may hold a bracket that nothing opened: [bank.example]x](https://evil.example) is a
		// link, too.
		if target, end := readTarget(s.text, i+1); end > 0 {
			s.links = append(s.links, channels.Link{Start: s.shut, End: s.visible.Len(), Target: target})
			s.ends = append(s.ends, end)
			return end
		}
		s.visible.WriteByte(c)
	case strings.IndexByte("*~|`", c) >= 0: // formatting, which is not seen
	default:
		s.visible.WriteByte(c)
	}
	return i + 1
}

// isPunctuation tells whether a backslash before a character makes it mean itself.
func isPunctuation(c byte) bool {
	return c > ' ' && c < 0x7f && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z')
}

// readTarget reads the address in parentheses at i, with or without angle brackets and a title, and
// returns where it ends, or 0.
func readTarget(text string, i int) (target string, end int) {
	if i >= len(text) || text[i] != '(' {
		return "", 0
	}
	rest := text[i+1 : min(len(text), i+1+maxTarget)]
	lead := len(rest) - len(strings.TrimLeft(rest, " \t\n<"))
	depth, stop, first := 0, -1, -1
	for j := lead; j < len(rest); j++ {
		switch c := rest[j]; c {
		case '(':
			depth++
		case ')':
			depth--
			if first < 0 {
				first = j
			}
		case ' ', '\n', '\t', '>':
			if stop < 0 {
				stop = j
			}
		}
		if depth < 0 {
			return rest[lead:earlier(stop, j)], i + 1 + j + 1
		}
	}
	if first < 0 {
		return "", 0
	}
	return rest[lead:earlier(stop, first)], i + 1 + first + 1 // one that is opened need not be closed
}

// earlier is the first of two places, of which stop may be none.
func earlier(stop, end int) int {
	if stop < 0 {
		return end
	}
	return min(stop, end)
}
