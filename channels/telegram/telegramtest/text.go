package telegramtest

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf16"
)

// units counts UTF-16 units, which is how Telegram counts.
func units(s string) int { return len(utf16.Encode([]rune(s))) }

// cut returns the part of a text that an entity covers.
func cut(text string, e Entity) string {
	u := utf16.Encode([]rune(text))
	if e.Offset < 0 || e.Length < 0 || e.Offset+e.Length > len(u) {
		return ""
	}
	return string(utf16.Decode(u[e.Offset : e.Offset+e.Length]))
}

var detected = []struct {
	kind    string
	pattern *regexp.Regexp
}{
	{"bot_command", regexp.MustCompile(`(?:^|[\s(])(/[a-zA-Z0-9_]{1,64}(?:@[a-zA-Z0-9_]{3,32})?)`)},
	{"mention", regexp.MustCompile(`(?:^|[^\w/@])(@[a-zA-Z][a-zA-Z0-9_]{3,31})`)},
	{"url", regexp.MustCompile(`(?:^|\s)(https?://[^\s]+)`)},
}

// detect finds the entities that Telegram finds by itself in what a person writes.
func detect(text string) []Entity {
	var out []Entity
	for _, d := range detected {
		for _, at := range d.pattern.FindAllStringSubmatchIndex(text, -1) {
			out = append(out, Entity{Type: d.kind, Offset: units(text[:at[2]]), Length: units(text[at[2]:at[3]])})
		}
	}
	slices.SortFunc(out, func(a, b Entity) int { return a.Offset - b.Offset })
	return out
}

// addressed says whether a text is a command for the bot or mentions it.
func (s *Server) addressed(text string, entities []Entity) bool {
	for _, e := range entities {
		word := strings.ToLower(cut(text, e))
		at := "@" + strings.ToLower(s.Bot.Username)
		switch e.Type {
		case "mention":
			if word == at {
				return true
			}
		case "text_mention":
			if e.User != nil && e.User.ID == s.Bot.ID {
				return true
			}
		case "bot_command":
			if !strings.Contains(word, "@") || strings.HasSuffix(word, at) {
				return true
			}
		}
	}
	return false
}
