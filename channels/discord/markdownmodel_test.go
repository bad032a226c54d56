package discord_test

import (
	"regexp"
	"strings"
)

// model shows a message as Discord's client does, as far as we know its rules: it returns the text
// that people see. Go has no lookahead, so that the rules that need it are functions.
type model struct{ out strings.Builder }

// shownByDiscord returns the text that people see of a message.
func shownByDiscord(message string) string {
	m := &model{}
	m.blocks(message)
	return m.out.String()
}

var (
	codeBlock     = regexp.MustCompile("(?s)^```(?:[A-Za-z0-9_+.#-]+\n|\n)?\n*(.*?)\n*```")
	shownHeading  = regexp.MustCompile(`^(?:#{1,3}|-#)[ \t]+`)
	shownItem     = regexp.MustCompile(`^[ \t]*(?:[-*]|\d+\.)[ \t]+`)
	shownEscape   = regexp.MustCompile(`^\\([^0-9A-Za-z\s])`)
	shownURL      = regexp.MustCompile(`^https?://[^\s\pZ\x{feff}\x{85}<]+[^<.,:;"')\]\s\pZ\x{feff}\x{85}]`)
	shownAutolink = regexp.MustCompile(`^<(https?://[^>\s]+)>`)
	shownLink     = regexp.MustCompile(`^\[((?:\[[^\]]*\]|[^\[\]])*)\]\(\s*<?((?:\([^)]*\)|[^\s\\()<>]|\\.)*?)>?\)`)
	shownQuoted   = regexp.MustCompile("(?s)^`` ?(.*?[^`]) ?``")
	shownCode     = regexp.MustCompile("(?s)^`([^`]+)`")
)

// blocks shows quotes, blocks of code and lines.
func (m *model) blocks(s string) {
	for s != "" {
		if match := codeBlock.FindStringSubmatch(s); match != nil {
			m.out.WriteString(match[1])
			s = s[len(match[0]):]
			continue
		}
		line, rest, more := strings.Cut(s, "\n")
		if strings.HasPrefix(line, "> ") {
			var quoted []string
			for strings.HasPrefix(line, "> ") {
				quoted = append(quoted, line[2:])
				if s = rest; !more {
					break
				}
				line, rest, more = strings.Cut(s, "\n")
			}
			m.blocks(strings.Join(quoted, "\n"))
			m.out.WriteByte('\n')
			continue
		}
		// Formatting may reach over lines up to the next block of code or quote.
		end := len(s)
		for _, mark := range []string{"\n```", "\n> "} {
			if i := strings.Index(s, mark); i >= 0 && i+1 < end {
				end = i + 1
			}
		}
		m.lines(s[:end])
		s = s[end:]
	}
}

// lines shows headings and list items, and what is in lines.
func (m *model) lines(s string) {
	for start := true; s != ""; {
		if start {
			if head := shownHeading.FindString(s); head != "" {
				s = s[len(head):]
			} else if item := shownItem.FindString(s); item != "" {
				m.out.WriteString(item)
				s = s[len(item):]
				continue // an item may hold a heading
			}
		}
		n := m.inline(s)
		start = s[n-1] == '\n'
		s = s[n:]
	}
}

// inline shows what is at the start of s, and returns how much of it that is.
func (m *model) inline(s string) int {
	for _, rule := range []struct {
		form  *regexp.Regexp
		inner bool
	}{{shownEscape, false}, {shownURL, false}, {shownAutolink, false}, {shownLink, true}} {
		if match := rule.form.FindStringSubmatch(s); match != nil {
			words := match[len(match)-1]
			if len(match) == 3 {
				words = match[1]
			}
			if len(match) == 1 {
				words = match[0]
			}
			m.show(words, rule.inner)
			return len(match[0])
		}
	}
	if n := m.styled(s); n > 0 {
		return n
	}
	for _, form := range []*regexp.Regexp{shownQuoted, shownCode} {
		if match := form.FindStringSubmatch(s); match != nil {
			m.out.WriteString(match[1])
			return len(match[0])
		}
	}
	m.out.WriteByte(s[0])
	return 1
}

func (m *model) show(words string, inner bool) {
	if !inner {
		m.out.WriteString(words)
		return
	}
	for words != "" {
		words = words[m.inline(words):]
	}
}

// styled shows bold, underlined, italic, struck and hidden words: of rules that match, the longest.
func (m *model) styled(s string) int {
	best, words := 0, ""
	for _, rule := range []struct {
		sign    string
		allowed func(inner, behind string) bool
	}{
		{"**", func(_, behind string) bool { return !strings.HasPrefix(behind, "*") }},
		{"__", func(_, behind string) bool { return !strings.HasPrefix(behind, "_") }},
		{"~~", func(_, behind string) bool { return !strings.HasPrefix(behind, "_") }},
		{"||", func(string, string) bool { return true }},
		{"*", func(inner, behind string) bool { return asteriskWords(inner) && !strings.HasPrefix(behind, "*") }},
		{"_", func(inner, behind string) bool {
			return underscoreWords(inner) && (behind == "" || !wordByte(behind[0]))
		}},
	} {
		if !strings.HasPrefix(s, rule.sign) {
			continue
		}
		from := len(rule.sign)
		for i := from; i < len(s); i++ {
			if s[i] == '\\' {
				i++
				continue
			}
			if i > from && strings.HasPrefix(s[i:], rule.sign) && rule.allowed(s[from:i], s[i+from:]) {
				if i+from > best {
					best, words = i+from, s[from:i]
				}
				break
			}
		}
	}
	if best > 0 {
		m.show(words, true)
	}
	return best
}

func wordByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// asteriskWords reports whether words may stand between two asterisks: no white space at the start,
// and no lone asterisk.
func asteriskWords(s string) bool {
	if strings.TrimLeft(s, " \t\n") != s {
		return false
	}
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i++
		case strings.HasPrefix(s[i:], "**"):
			i++
		case s[i] == '*':
			return false
		}
	}
	return true
}

// underscoreWords reports whether words may stand between two underscores: no lone underscore.
func underscoreWords(s string) bool {
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i++
		case strings.HasPrefix(s[i:], "__"):
			i++
		case s[i] == '_':
			return false
		}
	}
	return true
}
