package telegramtest

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"image"
	_ "image/gif"  // a format of photos
	_ "image/jpeg" // a format of photos
	"os"
	"strconv"
	"strings"
)

// inputMedia is a Bot API InputMediaPhoto, …Video, …Audio, …Document.
type inputMedia struct {
	Type            string          `json:"type"`
	Media           string          `json:"media"`
	Thumbnail       string          `json:"thumbnail"`
	Cover           string          `json:"cover"`
	Start           int             `json:"start_timestamp"`
	Caption         string          `json:"caption"`
	ParseMode       string          `json:"parse_mode"`
	CaptionEntities json.RawMessage `json:"caption_entities"`
	Above           bool            `json:"show_caption_above_media"`
	HasSpoiler      bool            `json:"has_spoiler"`
	Width           int             `json:"width"`
	Height          int             `json:"height"`
	Duration        int             `json:"duration"`
	Streaming       bool            `json:"supports_streaming"`
	Performer       string          `json:"performer"`
	Title           string          `json:"title"`
	NoDetection     bool            `json:"disable_content_type_detection"`
}

// sendFile implements sendPhoto, sendVideo and the like: the parameter has the name of the kind.
func (s *Server) sendFile(c *Call) (any, error) {
	kind := snakeCase(strings.TrimPrefix(c.Method, "send"))
	caption, entities, err := c.captionParam().render()
	if err != nil {
		return nil, err
	}
	to, m, err := s.prepareMessage(c)
	if err != nil {
		return nil, err
	}
	used := map[string]bool{kind: true, "thumbnail": true, "cover": true}
	one := inputMedia{
		Type: kind, Media: c.Params[kind], Width: int(c.IntParam("width")), Height: int(c.IntParam("height")),
		Duration: int(c.IntParam("duration")), Thumbnail: c.Params["thumbnail"],
	}
	if c.uploaded(kind) {
		one.Media = "attach://" + kind
	}
	if err := s.loadFile(c, m, one, used); err != nil {
		return nil, err
	}
	s.recordUnusedUploads(c, used)
	m.Caption, m.CaptionEntities = caption, entities
	return s.addBotMessage(c, to, m)
}

// snakeCase turns VideoNote into video_note.
func snakeCase(s string) string {
	var b strings.Builder
	for i, r := range s {
		if r >= 'A' && r <= 'Z' && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(r)
	}
	return strings.ToLower(b.String())
}

// recordUnusedUploads records uploads that no parameter refers to.
func (s *Server) recordUnusedUploads(c *Call, used map[string]bool) {
	for _, u := range c.Uploads {
		if !used[u.Field] {
			s.AddViolation("%s: the upload %s is not used", c.Method, u.Field)
		}
		if c.has(u.Field) && c.Params[u.Field] != "attach://"+u.Field {
			s.AddViolation("%s: the upload %s has a parameter's name", c.Method, u.Field)
		}
	}
}

// loadFile finds the file of an item, checks it, and adds it to a message.
func (s *Server) loadFile(c *Call, m *Message, item inputMedia, used map[string]bool) error {
	f, err := s.findSource(c, item.Type, item.Media, used)
	if err != nil {
		return err
	}
	if name, ok := strings.CutPrefix(item.Thumbnail, "attach://"); ok {
		used[name] = true
	}
	width, height := item.Width, item.Height
	if item.Type == "photo" && f.ID == "" {
		if width, height, err = s.checkPhoto(f); err != nil {
			return err
		}
	}
	if f.ID == "" {
		f = s.storeFile(f.File)
	}
	s.describeFile(m, f, Media{Width: width, Height: height, Duration: item.Duration})
	return nil
}

// findSource returns the file that a parameter refers to: an upload, a stored file, or, on a local
// server, a path.
func (s *Server) findSource(c *Call, kind, ref string, used map[string]bool) (*storedFile, error) {
	name, attached := strings.CutPrefix(ref, "attach://")
	path, local := strings.CutPrefix(ref, "file://")
	switch {
	case attached:
		used[name] = true
		u := c.upload(name)
		if u == nil {
			return nil, violationError("wrong file identifier/HTTP URL specified: there is no part %q", name)
		}
		if len(u.Content) == 0 {
			return nil, expectedError("file must be non-empty")
		}
		return &storedFile{File{Kind: kind, Name: u.Name, Content: u.Content}}, nil
	case local && s.settings.localDir != "":
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, expectedError("wrong file identifier/HTTP URL specified")
		}
		return &storedFile{File{Kind: kind, Name: path[strings.LastIndex(path, "/")+1:], Content: content}}, nil
	}
	known := s.files[ref]
	if known == nil {
		return nil, expectedError("wrong file identifier/HTTP URL specified")
	}
	if known.Kind != kind {
		return nil, expectedError("can't use file of type %s as %s", known.Kind, kind)
	}
	return known, nil
}

// checkPhoto checks a new photo: size, sum of the sides, and proportions.
func (s *Server) checkPhoto(f *storedFile) (width, height int, err error) {
	if most := s.settings.limits.Photo; int64(len(f.Content)) > most {
		return 0, 0, expectedError("file of size %d bytes is too big for a photo; the maximum size is %d bytes", len(f.Content), most)
	}
	config, _, err := image.DecodeConfig(bytes.NewReader(f.Content))
	if err != nil {
		config, err = webpSize(f.Content)
	}
	if err != nil {
		return 0, 0, expectedError("IMAGE_PROCESS_FAILED")
	}
	width, height = config.Width, config.Height
	if width+height > 10_000 || max(width, height) > 20*min(width, height) {
		return 0, 0, expectedError("PHOTO_INVALID_DIMENSIONS")
	}
	return width, height, nil
}

// webpSize returns the size of a WebP picture.
func webpSize(b []byte) (image.Config, error) {
	if len(b) < 30 || string(b[:4]) != "RIFF" || string(b[8:12]) != "WEBP" {
		return image.Config{}, image.ErrFormat
	}
	word := func(at int) int { return int(binary.LittleEndian.Uint16(b[at:])) }
	switch string(b[12:16]) {
	case "VP8 ":
		return image.Config{Width: word(26) & 0x3fff, Height: word(28) & 0x3fff}, nil
	case "VP8L":
		bits := int(binary.LittleEndian.Uint32(b[21:]))
		return image.Config{Width: bits&0x3fff + 1, Height: bits>>14&0x3fff + 1}, nil
	case "VP8X":
		return image.Config{Width: word(24) + int(b[26])<<16 + 1, Height: word(27) + int(b[29])<<16 + 1}, nil
	}
	return image.Config{}, image.ErrFormat
}

// sendMediaGroup sends an album: two to ten photos and videos, or only documents, or only audio.
func (s *Server) sendMediaGroup(c *Call) (any, error) {
	var items []inputMedia
	if err := decodeStrict("InputMedia", c.Params["media"], &items); err != nil {
		return nil, err
	}
	if err := checkAlbum(items); err != nil {
		return nil, err
	}
	to, err := s.writableChat(c)
	if err != nil {
		return nil, err
	}
	used := map[string]bool{}
	var album []*Message
	for i, item := range items {
		m, err := s.newBotMessage(c, to)
		if err == nil {
			err = s.fillItem(c, m, item, used)
		}
		if err != nil {
			return nil, albumItemError(err, i+1)
		}
		album = append(album, m)
	}
	s.recordUnusedUploads(c, used)
	if err := s.countAgainstFlood(to, len(album)); err != nil {
		return nil, err
	}
	group := strconv.FormatInt(14_000_000_000+int64(c.ID), 10)
	to.draft = nil
	for _, m := range album {
		m.MediaGroupID = group
		c.Messages = append(c.Messages, s.appendMessage(to, m).ID)
		c.Shown = append(c.Shown, *m)
	}
	return album, nil
}

// fillItem adds the file and the caption of an item to its message.
func (s *Server) fillItem(c *Call, m *Message, item inputMedia, used map[string]bool) (err error) {
	caption := formattedText{item.Caption, item.ParseMode, string(item.CaptionEntities), captionLimit}
	m.Caption, m.CaptionEntities, err = caption.render()
	if err != nil {
		return err
	}
	return s.loadFile(c, m, item, used)
}

// albumItemError adds the number of the refused item to an error, as Telegram does.
func albumItemError(err error, n int) error {
	var no *apiError
	if !errors.As(err, &no) {
		return err
	}
	inner := *no
	inner.text = "Bad Request: failed to send message #" + strconv.Itoa(n) + " with the error message \"" +
		strings.TrimPrefix(no.text, "Bad Request: ") + "\""
	return &inner
}

// checkAlbum checks the number of items and the combination of kinds.
func checkAlbum(items []inputMedia) error {
	if len(items) < 2 {
		return violationError("too few messages to send as an album: %d", len(items))
	}
	if len(items) > 10 {
		return violationError("too many messages to send as an album: %d", len(items))
	}
	groups := map[string]string{"photo": "visual", "video": "visual", "audio": "audio", "document": "document"}
	for _, item := range items {
		mine, first := groups[item.Type], groups[items[0].Type]
		if mine == "" {
			return violationError("can't parse InputMedia: type %q can't be sent in an album", item.Type)
		}
		if mine != first {
			return violationError("%s can't be mixed with %s in an album", item.Type, items[0].Type)
		}
	}
	return nil
}
