package discord

import (
	"slices"
	"strings"
)

// isEmpty reports whether a message has no content that can be received.
func (m *message) isEmpty() bool {
	return m.Content == "" && len(m.Attachments) == 0 && len(m.Snapshots) == 0 && m.describeExtras() == ""
}

// describeExtras returns the stickers, embeds and poll of a message as text.
func (m *message) describeExtras() string {
	var lines []string
	for _, s := range m.Stickers {
		lines = append(lines, "Sticker: "+s.Name)
	}
	for _, e := range m.Embeds {
		lines = append(lines, e.describe(m.Content))
	}
	if m.Poll != nil {
		lines = append(lines, "Poll: "+m.Poll.Question.Text)
		for _, a := range m.Poll.Answers {
			lines = append(lines, "- "+a.Text.Text)
		}
	}
	return joinLines(lines...)
}

// describe returns an embed as text. Its URL is left out if the message contains it.
func (e embed) describe(content string) string {
	lines := []string{e.Title, e.Description}
	for _, f := range e.Fields {
		lines = append(lines, f.Name+": "+f.Value)
	}
	if !strings.Contains(content, e.URL) {
		lines = append(lines, e.URL)
	}
	return joinLines(lines...)
}

// joinLines joins the lines that are not blank.
func joinLines(lines ...string) string {
	return strings.Join(slices.DeleteFunc(lines, func(l string) bool { return strings.TrimSpace(l) == "" }), "\n")
}
