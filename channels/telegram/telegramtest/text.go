package telegramtest

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf16"
)

// utf16Len returns the length in UTF-16 units, which Telegram counts.
func utf16Len(s string) int { return len(utf16.Encode([]rune(s))) }

// entityText returns the text that an entity covers.
func entityText(text string, e Entity) string {
	u := utf16.Encode([]rune(text))
	if e.Offset < 0 || e.Length < 0 || e.Offset+e.Length > len(u) {
		return ""
	}
	return string(utf16.Decode(u[e.Offset : e.Offset+e.Length]))
}

var detectedEntities = []struct {
	kind    string
	pattern *regexp.Regexp
}{
	{"bot_command", regexp.MustCompile(`(?:^|[\s(])(/[a-zA-Z0-9_]{1,64}(?:@[a-zA-Z0-9_]{3,32})?)`)},
	{"mention", regexp.MustCompile(`(?:^|[^\w/@])(@[a-zA-Z][a-zA-Z0-9_]{3,31})`)},
	{"url", regexp.MustCompile(`(?:^|\s)(https?://[^\s]+)`)},
}

// detectEntities returns the entities that Telegram detects in a user's text.
func detectEntities(text string) []Entity {
	var out []Entity
	for _, d := range detectedEntities {
		for _, at := range d.pattern.FindAllStringSubmatchIndex(text, -1) {
			out = append(out, Entity{Type: d.kind, Offset: utf16Len(text[:at[2]]), Length: utf16Len(text[at[2]:at[3]])})
		}
	}
	slices.SortFunc(out, func(a, b Entity) int { return a.Offset - b.Offset })
	return out
}

// addressesBot reports whether a text is a command for the bot or mentions it.
func (s *Server) addressesBot(text string, entities []Entity) bool {
	for _, e := range entities {
		word := strings.ToLower(entityText(text, e))
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
