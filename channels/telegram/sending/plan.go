package sending

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"nanobot/channels"
	"nanobot/channels/markdown"
	"nanobot/channels/telegram/chats"
	"nanobot/channels/telegram/entities"
	"nanobot/internal/words"
)

const (
	// repeatMark precedes a text that may have been sent before. Every part has space for it.
	repeatMark      = "↻ "
	repeatMarkUnits = 2
	// Telegram counts UTF-16 units without formatting: 4096 for a text, 1024 for a caption.
	textLimit    = 4096 - repeatMarkUnits
	captionLimit = 1024 - repeatMarkUnits
	// maxTextMessages is how many messages a text may fill before it becomes a document.
	maxTextMessages = 4
	// maxUpload is Telegram's limit for one request, maxPhoto for a photo, and maxLocalUpload the
	// limit of a local Bot API server. Whether another server has a lower limit shows when it
	// refuses.
	maxUpload      = 50 << 20
	maxPhoto       = 10 << 20
	maxLocalUpload = 2000 << 20
	// maxButtonData is the longest data of a button, in bytes.
	maxButtonData = 64
	// maxAlbum is the largest number of files in an album.
	maxAlbum = 10
)

// The ways to send a part. For a file it is the name of the parameter, except for asOgg, which Send
// resolves by the file's content.
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

// storedForm is the data that Plan passes to Send besides the text and the files. It is stored as
// JSON.
type storedForm struct {
	As       string            `json:"as"`
	Entities []entities.Entity `json:"entities,omitempty"`
	// Rich is the HTML of the rich message that is sent instead, if the server supports it.
	Rich string `json:"rich,omitempty"`
}

// Planner renders messages. It makes no call.
type Planner struct {
	rich, groupDocuments bool
	maxUpload            int64 // the largest file to send
	words                *words.Catalogue
}

// SetWords sets the catalogue of the words that are added to messages.
func (p *Planner) SetWords(w *words.Catalogue) { p.words = w }

// messagePart is the content of one call.
type messagePart struct {
	sendAs string
	text   entities.Text
	files  []channels.File
}

// Plan renders a message and splits it into calls: texts, or a document with the beginning as its
// caption if there would be too many texts, then albums and single files. Files above the limit are
// replaced by a notice.
func (p *Planner) Plan(m channels.Message) ([]channels.Outgoing, error) {
	m = channels.SanitizeBidi(m)
	to, err := chats.ParseAddress(m.Chat.ID)
	if err != nil {
		return nil, err
	}
	if err := channels.CheckButtons(m.Buttons, maxButtonData); err != nil {
		return nil, err
	}
	_, _, err = chats.ParseMessageID(to.Chat, m.ReplyTo)
	replies := err == nil && (to.IsGroup() || to.Thread != 0 || m.Quote != "") // in a private chat most are obvious
	if !replies {
		m.ShowQuote()
	}
	parts := addDetails(splitter{p.maxUpload, p.groupDocuments, p.words.For(m.Language)}.split(m), m.Details)
	rich := p.richForm(m, parts)
	var out []channels.Outgoing
	for i, part := range parts {
		f, err := json.Marshal(storedForm{As: part.sendAs, Entities: part.text.Entities, Rich: rich})
		if err != nil {
			return nil, fmt.Errorf("store the form: %w", err)
		}
		o := channels.Outgoing{
			Chat: m.Chat, Kind: m.Kind, Code: m.Code, Text: part.text.Text, Media: part.files, Form: f,
			Language: m.Language, Notification: m.Notification,
		}
		o.Silent = m.Silent || i < len(parts)-1 // a message notifies once, when it is complete
		if i == 0 && replies {
			o.ReplyTo = m.ReplyTo
		}
		if i == len(parts)-1 {
			o.Buttons = m.Buttons
		}
		out = append(out, o)
	}
	return out, nil
}

// richForm returns the HTML of the rich message that an answer is sent as, or "". Only an answer
// that also fits one message with entities is: a server that refuses it then gets that one. The
// parts of a longer answer are stored and confirmed one by one, which a call that has to be split
// after a refusal would not be.
func (p *Planner) richForm(m channels.Message, parts []messagePart) string {
	if !p.rich || m.Kind != channels.Answer || m.Format != channels.Markdown || m.Details != "" || m.Screen != nil ||
		len(parts) != 1 || parts[0].sendAs != asText {
		return ""
	}
	if code, structured := entities.Rich(m.Text); structured {
		return code
	}
	return ""
}

// FileLimit is the same in all chats.
func (p *Planner) FileLimit(_ channels.Chat, language string) (limit int64, phrase string) {
	return p.maxUpload, describeLimit(p.words.For(language), p.maxUpload)
}

func describeLimit(w words.Words, maxBytes int64) string {
	return w.Text(words.LimitOfTelegram, maxBytes>>20)
}

// splitter splits messages into parts.
type splitter struct {
	maxBytes       int64 // of a file
	groupDocuments bool  // documents and audio are sent in albums
	words          words.Words
}

// split returns the parts of a message: the text, or the document that replaces it, then the files.
// A text that fits is the caption of the first file.
func (s splitter) split(m channels.Message) []messagePart {
	if m.Screen != nil {
		return s.splitScreen(m)
	}
	files, refused := s.dropOversized(m.Media)
	words, doc := renderText(m.Text, m.Format, s.words)
	s.groupDocuments = s.groupDocuments || m.GroupDocuments
	rest := s.groupFiles(files)
	if doc != nil {
		parts := append([]messagePart{{asDocument, entities.Write(words), []channels.File{*doc}}}, rest...)
		return appendText(parts, markdown.Plain(refused), m.Buttons)
	}
	words.Text = strings.Trim(words.Text+"\n"+refused, "\n")
	fits := len(rest) > 0 && channels.UTF16(words.Text) <= captionLimit
	switch {
	case fits && len(m.Buttons) > 0 && rest[len(rest)-1].sendAs == asAlbum:
		return appendText(rest, words, m.Buttons)
	case fits:
		rest[0].text = entities.Write(words)
		return rest
	}
	return appendText(append(textParts(words), rest...), markdown.Text{}, m.Buttons)
}

// addDetails adds details below the last text, or below the first file if there is no text.
func addDetails(parts []messagePart, details string) []messagePart {
	if strings.TrimSpace(details) == "" || len(parts) == 0 {
		return parts
	}
	at, limit := 0, captionLimit
	for i, p := range parts {
		if p.sendAs == asText {
			at, limit = i, textLimit
		}
	}
	parts[at].text = entities.AppendDetails(parts[at].text, details, limit)
	return parts
}

// textParts splits a text into parts.
func textParts(words markdown.Text) (parts []messagePart) {
	for _, t := range entities.Split(words, textLimit) {
		parts = append(parts, messagePart{sendAs: asText, text: t})
	}
	return parts
}

// appendText adds a text after the parts. If the last part is an album, which cannot have buttons,
// it adds a text for the buttons.
func appendText(parts []messagePart, words markdown.Text, buttons []channels.Button) []messagePart {
	if len(buttons) > 0 && words.Text == "" && len(parts) > 0 && parts[len(parts)-1].sendAs == asAlbum {
		words.Text = "👇"
	}
	return append(parts, textParts(words)...)
}

// renderText renders a text in a format. One that is too long for maxTextMessages is returned as a
// document, with its beginning.
func renderText(source string, format channels.Format, w words.Words) (markdown.Text, *channels.File) {
	if strings.TrimSpace(source) == "" {
		return markdown.Text{}, nil
	}
	// A text that cannot fit is not even parsed.
	if len(source) <= 16*maxTextMessages*textLimit {
		words := entities.Read(source, format)
		if channels.UTF16(words.Text) <= maxTextMessages*textLimit &&
			len(entities.Split(words, textLimit)) <= maxTextMessages {
			return words, nil
		}
	}
	return entities.Beginning(source, format, captionLimit, w), markdown.Document(source, format)
}

// dropOversized returns the files within the limit, and a notice about the others.
func (s splitter) dropOversized(files []channels.File) (good []channels.File, refused string) {
	good, notices := channels.DropOversized(files, s.maxBytes, describeLimit(s.words, s.maxBytes), s.words)
	return good, strings.Join(notices, "\n")
}

// groupFiles groups files into albums. Files that cannot be in an album with photos and videos are
// sent after them: alone, or in albums of documents and of audio if groupDocuments is set.
func (s splitter) groupFiles(files []channels.File) []messagePart {
	groups := map[string][]channels.File{}
	var rest []string // the groups after the photos and videos, in the order of their first files
	for _, f := range files {
		name := s.albumOf(f)
		if name != visualAlbum && !slices.Contains(rest, name) {
			rest = append(rest, name)
		}
		groups[name] = append(groups[name], f)
	}
	out := appendAlbums(nil, groups[visualAlbum])
	for _, name := range rest {
		if name != "" {
			out = appendAlbums(out, groups[name])
			continue
		}
		for _, f := range groups[name] {
			out = append(out, messagePart{sendAs: sendAsOf(f), files: []channels.File{f}})
		}
	}
	return out
}

// visualAlbum is the kind of an album of photos and videos.
const visualAlbum = "visual"

// albumOf returns the kind of album that a file can be in, or "" if there is none. Telegram mixes
// photos and videos only.
func (s splitter) albumOf(f channels.File) string {
	switch as := sendAsOf(f); as {
	case asPhoto, asVideo:
		return visualAlbum
	case asDocument, asAudio:
		if s.groupDocuments {
			return as
		}
	}
	return ""
}

// appendAlbums adds files of one kind of album.
func appendAlbums(out []messagePart, files []channels.File) []messagePart {
	for ten := range slices.Chunk(files, maxAlbum) {
		for _, fit := range channels.GroupFiles(ten, maxAlbum, maxUpload) {
			p := messagePart{sendAs: asAlbum, files: fit}
			if len(fit) == 1 {
				p.sendAs = sendAsOf(fit[0])
			}
			out = append(out, p)
		}
	}
	return out
}

// sendAsOf returns the way to send a single file, by its kind and extension.
func sendAsOf(f channels.File) string {
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
