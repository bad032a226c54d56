package discord

import (
	"fmt"
	"slices"
	"strings"

	"nanobot/channels"
	"nanobot/channels/markdown"
)

const (
	// textLimit is what Discord takes as the text of a message, in code points.
	textLimit = 2000
	// bubbles is how many messages a text may fill before it becomes a document.
	bubbles = 5
	// filesLimit is how many files a message carries.
	filesLimit = 10
	// leastUpload is what every chat takes: files that are together no larger go out in one
	// message.
	leastUpload = 10 << 20
	// mostUpload is the largest file that any server takes from a bot.
	mostUpload = 100 << 20
	// maxData is what a button carries.
	maxData = 100
)

// Plan renders a message and cuts it into calls: bubbles of text, or a document with its beginning
// where that would be too many, and files, ten at a time. What Discord would take nowhere is named
// instead.
func (c *Channel) Plan(m channels.Message) ([]channels.Outgoing, error) {
	m = channels.Presentable(m)
	if parseFlake(m.Chat.ID) == 0 {
		return nil, fmt.Errorf("%q is no chat of Discord's", m.Chat.ID)
	}
	for _, b := range m.Buttons {
		if len(buttonData(b)) > maxData {
			return nil, fmt.Errorf("button %q carries %d bytes, more than %d", b.Label, len(buttonData(b)), maxData)
		}
	}
	var out []channels.Outgoing
	for _, p := range cut(m) {
		out = append(out, channels.Outgoing{Chat: m.Chat, Kind: m.Kind, Code: m.Code, Text: p.text, Media: p.files})
	}
	if len(out) == 0 {
		return nil, nil
	}
	if m.ReplyTo != m.Chat.ID && isReference(m.ReplyTo) { // what a thread began with is above it anyway
		out[0].ReplyTo = m.ReplyTo
	}
	out[len(out)-1].Buttons = slices.Clone(m.Buttons)
	return out, nil
}

// isReference tells whether an id is that of a message or of the use of a command.
func isReference(id string) bool {
	return parseFlake(strings.TrimPrefix(id, slashPrefix)) != 0
}

// part is one call in the making.
type part struct {
	text  string
	files []channels.File
}

// cut makes the parts of a message: the text, then the files. The last bubble of the text goes
// along with the first files.
func cut(m channels.Message) []part {
	if m.Screen != nil {
		return cutScreen(m)
	}
	files, refused := sendable(m.Media)
	texts, doc := render(m.Text)
	var parts []part
	for _, t := range texts {
		parts = append(parts, part{text: t})
	}
	if doc != nil {
		parts[0].files = []channels.File{*doc}
	}
	if refused != "" {
		parts = say(parts, refused)
	}
	groups := grouped(files)
	if n := len(parts); n > 0 && len(groups) > 0 && len(parts[n-1].files) == 0 {
		parts[n-1].files = groups[0]
		groups = groups[1:]
	}
	for _, g := range groups {
		parts = append(parts, part{files: g})
	}
	return parts
}

// say adds words, to the last part if they fit.
func say(parts []part, words string) []part {
	texts := split(markdown.Plain(words), textLimit)
	if n := len(parts); n > 0 && len(texts) == 1 && channels.Runes(parts[n-1].text)+1+channels.Runes(texts[0]) <= textLimit {
		parts[n-1].text += "\n" + texts[0]
		return parts
	}
	for _, t := range texts {
		parts = append(parts, part{text: t})
	}
	return parts
}

// render makes bubbles of Markdown. A text too long for a few of them comes back as a document,
// with its beginning.
func render(source string) ([]string, *channels.File) {
	if strings.TrimSpace(source) == "" {
		return nil, nil
	}
	// A text is not read when it is out of the question that it fits.
	if len(source) <= 16*bubbles*textLimit {
		if parts := split(layout.Text(source), textLimit); len(parts) <= bubbles {
			return parts, nil
		}
	}
	return []string{write(layout.Beginning(source, textLimit/4, cost))}, markdown.Document(source)
}

// sendable returns the files that Discord may take, and what to say of those that it does not.
func sendable(files []channels.File) (good []channels.File, refused string) {
	var lines []string
	for _, f := range files {
		if f.Size > mostUpload {
			lines = append(lines, tooBig(f, mostUpload))
			continue
		}
		good = append(good, f)
	}
	return good, strings.Join(lines, "\n")
}

// FileLimit is what the chat's server takes. Where that is not known yet Send finds out.
func (c *Channel) FileLimit(chat channels.Chat) (most int64, words string) {
	id := parseFlake(chat.ID)
	if most = mostUpload; c.world.knows(id) {
		most = c.world.uploadLimit(id)
	}
	return most, fileLimit(most)
}

func fileLimit(most int64) string {
	return fmt.Sprintf("Discord takes files up to %d MB here", most>>20)
}

// tooBig says that a file was not sent.
func tooBig(f channels.File, limit int64) string {
	return fmt.Sprintf("⚠ %q (%s) was not sent: %s.", f.Name, channels.HumanSize(f.Size), fileLimit(limit))
}

// grouped puts files into messages: ten at most, and as many as every chat takes together. One that
// is larger goes alone, so that the others arrive where it is refused.
func grouped(files []channels.File) (groups [][]channels.File) {
	var group []channels.File
	var size int64
	for _, f := range files {
		if len(group) > 0 && (len(group) == filesLimit || size+f.Size > leastUpload) {
			groups = append(groups, group)
			group, size = nil, 0
		}
		group = append(group, f)
		size += f.Size
	}
	if len(group) > 0 {
		groups = append(groups, group)
	}
	return groups
}
