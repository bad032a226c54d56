package discord

import (
	"slices"
	"strings"
)

// isEmpty tells whether there is nothing in a message that we could pass on.
func (m *message) isEmpty() bool {
	return m.Content == "" && len(m.Attachments) == 0 && len(m.Snapshots) == 0 && m.inWords() == ""
}

// inWords puts into text what is neither text nor a file.
func (m *message) inWords() string {
	var lines []string
	for _, s := range m.Stickers {
		lines = append(lines, "Sticker: "+s.Name)
	}
	for _, e := range m.Embeds {
		lines = append(lines, e.inWords(m.Content))
	}
	if m.Poll != nil {
		lines = append(lines, "Poll: "+m.Poll.Question.Text)
		for _, a := range m.Poll.Answers {
			lines = append(lines, "- "+a.Text.Text)
		}
	}
	return joined(lines...)
}

// inWords is what an embed says. Its address is mostly in the message already.
func (e embed) inWords(content string) string {
	lines := []string{e.Title, e.Description}
	for _, f := range e.Fields {
		lines = append(lines, f.Name+": "+f.Value)
	}
	if !strings.Contains(content, e.URL) {
		lines = append(lines, e.URL)
	}
	return joined(lines...)
}

// joined puts the lines that say something below each other.
func joined(lines ...string) string {
	return strings.Join(slices.DeleteFunc(lines, func(l string) bool { return strings.TrimSpace(l) == "" }), "\n")
}
