package telegram

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"nanobot/channels"
	"nanobot/channels/markdown"
	"nanobot/channels/telegram/entities"
)

const (
	// mark leads what may have been sent before. There is room for it in every part, so that a
	// repetition fits as well.
	mark      = "↻ "
	markUnits = 2
	// Telegram counts UTF-16 units after the formatting was taken out: 4096 of a text, 1024 of a
	// caption.
	textLimit    = 4096 - markUnits
	captionLimit = 1024 - markUnits
	// bubbles is how many messages a text may fill before it becomes a document.
	bubbles = 4
	// maxUpload is what Telegram takes in one request, maxPhoto what it takes as a photo,
	// localUpload what a Bot API server of one's own takes.
	maxUpload   = 50 << 20
	maxPhoto    = 10 << 20
	localUpload = 2000 << 20
	// maxData is what a button carries, in bytes.
	maxData = 64
)

// The ways in which a part goes out. A file's way is the name of its parameter, but for sound,
// which Send looks into.
const (
	asText      = "text"
	asAlbum     = "album"
	asPhoto     = "photo"
	asVideo     = "video"
	asAnimation = "animation"
	asAudio     = "audio"
	asVoice     = "voice"
	asDocument  = "document"
	asOgg       = "ogg"
)

// form is what Plan leaves for Send beside the text and the files.
type form struct {
	As       string            `json:"as"`
	Entities []entities.Entity `json:"entities,omitempty"`
}

// part is one call in the making.
type part struct {
	as    string
	words entities.Text
	files []channels.File
}

// Plan renders a message and cuts it into calls: bubbles of text, or a document with the beginning
// as its caption where that would be too many, then albums and single files. What Telegram would
// not take is named instead.
func (c *Channel) Plan(m channels.Message) ([]channels.Outgoing, error) {
	m = channels.Presentable(m)
	to, err := parsePlace(m.Chat.ID)
	if err != nil {
		return nil, err
	}
	for _, b := range m.Buttons {
		if len(buttonData(b)) > maxData {
			return nil, fmt.Errorf("button %q carries %d bytes, more than %d", b.Label, len(buttonData(b)), maxData)
		}
	}
	parts := cut(m, c.maxUpload())
	var out []channels.Outgoing
	for i, p := range parts {
		f, err := json.Marshal(form{As: p.as, Entities: p.words.Entities})
		if err != nil {
			return nil, fmt.Errorf("store the form: %w", err)
		}
		o := channels.Outgoing{Chat: m.Chat, Kind: m.Kind, Code: m.Code, Text: p.words.Text, Media: p.files, Form: f}
		if i == 0 && (to.group() || to.thread != 0) { // between two people it is clear what answers what
			if _, _, err := parseMessageID(to.chat, m.ReplyTo); err == nil {
				o.ReplyTo = m.ReplyTo
			}
		}
		if i == len(parts)-1 {
			o.Buttons = m.Buttons
		}
		out = append(out, o)
	}
	return out, nil
}

// FileLimit is the same in all chats.
func (c *Channel) FileLimit(channels.Chat) (most int64, words string) {
	return c.maxUpload(), fileLimit(c.maxUpload())
}

func fileLimit(most int64) string { return fmt.Sprintf("Telegram takes files up to %d MB", most>>20) }

// maxUpload is what a file may weigh. Whether another server than Telegram's takes more we see when
// it does not.
func (c *Channel) maxUpload() int64 {
	if c.o.APIBase == DefaultAPI {
		return maxUpload
	}
	return localUpload
}

// cut makes the parts of a message: the text, or the document that stands for it, then the files. A
// text that fits is the caption of the first of them.
func cut(m channels.Message, most int64) []part {
	if m.Screen != nil {
		return cutScreen(m, most)
	}
	files, refused := sendable(m.Media, most)
	words, doc := read(m.Text)
	rest := albums(files)
	if doc != nil {
		parts := append([]part{{asDocument, entities.Write(words), []channels.File{*doc}}}, rest...)
		return below(parts, markdown.Plain(refused), m.Buttons)
	}
	words.Text = strings.Trim(words.Text+"\n"+refused, "\n")
	fits := len(rest) > 0 && channels.UTF16(words.Text) <= captionLimit
	switch {
	case fits && len(m.Buttons) > 0 && rest[len(rest)-1].as == asAlbum:
		return below(rest, words, m.Buttons)
	case fits:
		rest[0].words = entities.Write(words)
		return rest
	}
	return below(append(texts(words), rest...), markdown.Text{}, m.Buttons)
}

// texts makes a part of each bubble of a text.
func texts(words markdown.Text) (parts []part) {
	for _, t := range entities.Split(words, textLimit) {
		parts = append(parts, part{as: asText, words: t})
	}
	return parts
}

// below puts a text behind the parts, and sees to it that buttons have a message to be under, which
// an album is not.
func below(parts []part, words markdown.Text, buttons []channels.Button) []part {
	if len(buttons) > 0 && words.Text == "" && len(parts) > 0 && parts[len(parts)-1].as == asAlbum {
		words.Text = "👇"
	}
	return append(parts, texts(words)...)
}

// read makes text of Markdown. A text too long for a few bubbles comes back as a document, with its
// beginning.
func read(source string) (markdown.Text, *channels.File) {
	if strings.TrimSpace(source) == "" {
		return markdown.Text{}, nil
	}
	// A text is not read when it is out of the question that it fits.
	if len(source) <= 16*bubbles*textLimit {
		words := entities.Read(source)
		if channels.UTF16(words.Text) <= bubbles*textLimit && len(entities.Split(words, textLimit)) <= bubbles {
			return words, nil
		}
	}
	return entities.Beginning(source, captionLimit), markdown.Document(source)
}

// sendable returns the files that Telegram takes, and what to say of those that it does not.
func sendable(files []channels.File, most int64) (good []channels.File, refused string) {
	var lines []string
	for _, f := range files {
		if f.Size > most {
			lines = append(lines, fmt.Sprintf("⚠ %q (%s) was not sent: %s.", f.Name, channels.HumanSize(f.Size), fileLimit(most)))
			continue
		}
		good = append(good, f)
	}
	return good, strings.Join(lines, "\n")
}

// albums groups files. What cannot be in an album with photos and videos goes alone, behind them.
func albums(files []channels.File) []part {
	gathered := slices.Clone(files)
	for i, f := range gathered {
		if as := single(f); as != asPhoto && as != asVideo {
			gathered[i].Kind = channels.Document
		}
	}
	original := map[channels.File]channels.File{}
	for i, f := range gathered {
		original[f] = files[i]
	}
	_, groups := channels.Albums{Limit: albumLimit, Caption: captionLimit, Measure: channels.UTF16}.Plan("", gathered)
	var out []part
	for _, g := range groups {
		for _, fit := range bySize(g.Files) {
			for i, f := range fit {
				fit[i] = original[f]
			}
			p := part{as: asAlbum, files: fit}
			if len(fit) == 1 {
				p.as = single(fit[0])
			}
			out = append(out, p)
		}
	}
	return out
}

// bySize cuts a group so that each piece fits into a request to Telegram itself. What is heavier
// than that goes alone.
func bySize(files []channels.File) (pieces [][]channels.File) {
	var piece []channels.File
	var size int64
	for _, f := range files {
		if len(piece) > 0 && size+f.Size > maxUpload {
			pieces = append(pieces, piece)
			piece, size = nil, 0
		}
		piece = append(piece, f)
		size += f.Size
	}
	return append(pieces, piece)
}

// single is the way in which a file goes out alone, by what Telegram shows in which way.
func single(f channels.File) string {
	ext := strings.ToLower(filepath.Ext(f.Name))
	switch f.Kind {
	case channels.Image:
		switch {
		case ext == ".gif":
			return asAnimation
		case slices.Contains([]string{".jpg", ".jpeg", ".png", ".webp"}, ext) && f.Size <= maxPhoto:
			return asPhoto
		}
	case channels.Video:
		if ext == ".mp4" || ext == ".mov" {
			return asVideo
		}
	case channels.Audio:
		switch ext {
		case ".mp3", ".m4a":
			return asAudio
		case ".ogg":
			return asOgg
		}
	case channels.Document:
	}
	return asDocument
}
