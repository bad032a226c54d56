package telegramtest

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"image"
	_ "image/gif"  // what Telegram takes as a photo
	_ "image/jpeg" // what Telegram takes as a photo
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

// sendFile is sendPhoto, sendVideo and their like: the parameter has the kind's name.
func (s *Server) sendFile(c *Call) (any, error) {
	kind := snake(strings.TrimPrefix(c.Method, "send"))
	caption, entities, err := c.caption().formatted()
	if err != nil {
		return nil, err
	}
	to, m, err := s.prepare(c)
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
	if err := s.load(c, m, one, used); err != nil {
		return nil, err
	}
	s.unused(c, used)
	m.Caption, m.CaptionEntities = caption, entities
	return s.publish(c, to, m)
}

// snake turns VideoNote into video_note.
func snake(s string) string {
	var b strings.Builder
	for i, r := range s {
		if r >= 'A' && r <= 'Z' && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(r)
	}
	return strings.ToLower(b.String())
}

// unused notes files that were uploaded and not referred to.
func (s *Server) unused(c *Call, used map[string]bool) {
	for _, u := range c.Uploads {
		if !used[u.Field] {
			s.violations = append(s.violations, c.Method+": the upload "+u.Field+" is not used")
		}
		if c.has(u.Field) && c.Params[u.Field] != "attach://"+u.Field {
			s.violations = append(s.violations, c.Method+": the upload "+u.Field+" has a parameter's name")
		}
	}
}

// load finds the file of an item, checks it, and puts it into a message.
func (s *Server) load(c *Call, m *Message, item inputMedia, used map[string]bool) error {
	f, err := s.source(c, item.Type, item.Media, used)
	if err != nil {
		return err
	}
	if name, ok := strings.CutPrefix(item.Thumbnail, "attach://"); ok {
		used[name] = true
	}
	width, height := item.Width, item.Height
	if item.Type == "photo" && f.ID == "" {
		if width, height, err = s.photo(f); err != nil {
			return err
		}
	}
	if f.ID == "" {
		f = s.keep(f.File)
	}
	s.present(m, f, Media{Width: width, Height: height, Duration: item.Duration})
	return nil
}

// source finds what a file parameter refers to: an upload, a file the server has, or on a local
// server a path.
func (s *Server) source(c *Call, kind, ref string, used map[string]bool) (*file, error) {
	name, attached := strings.CutPrefix(ref, "attach://")
	path, local := strings.CutPrefix(ref, "file://")
	switch {
	case attached:
		used[name] = true
		u := c.upload(name)
		if u == nil {
			return nil, forbid("wrong file identifier/HTTP URL specified: there is no part %q", name)
		}
		if len(u.Content) == 0 {
			return nil, refuse("file must be non-empty")
		}
		return &file{File{Kind: kind, Name: u.Name, Content: u.Content}}, nil
	case local && s.set.local != "":
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, refuse("wrong file identifier/HTTP URL specified")
		}
		return &file{File{Kind: kind, Name: path[strings.LastIndex(path, "/")+1:], Content: content}}, nil
	}
	known := s.files[ref]
	if known == nil {
		return nil, refuse("wrong file identifier/HTTP URL specified")
	}
	if known.Kind != kind {
		return nil, refuse("can't use file of type %s as %s", known.Kind, kind)
	}
	return known, nil
}

// photo checks a new photo: size, sum of the sides, and proportions.
func (s *Server) photo(f *file) (width, height int, err error) {
	if most := s.set.limits.Photo; int64(len(f.Content)) > most {
		return 0, 0, refuse("file of size %d bytes is too big for a photo; the maximum size is %d bytes", len(f.Content), most)
	}
	config, _, err := image.DecodeConfig(bytes.NewReader(f.Content))
	if err != nil {
		config, err = webp(f.Content)
	}
	if err != nil {
		return 0, 0, refuse("IMAGE_PROCESS_FAILED")
	}
	width, height = config.Width, config.Height
	if width+height > 10_000 || max(width, height) > 20*min(width, height) {
		return 0, 0, refuse("PHOTO_INVALID_DIMENSIONS")
	}
	return width, height, nil
}

// webp reads the size of a WebP picture.
func webp(b []byte) (image.Config, error) {
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

// sendMediaGroup shows an album: two to ten photos and videos, or only documents, or only audio.
func (s *Server) sendMediaGroup(c *Call) (any, error) {
	var items []inputMedia
	if err := strict("InputMedia", c.Params["media"], &items); err != nil {
		return nil, err
	}
	if err := mixes(items); err != nil {
		return nil, err
	}
	to, err := s.target(c)
	if err != nil {
		return nil, err
	}
	used := map[string]bool{}
	var album []*Message
	for i, item := range items {
		m, err := s.outline(c, to)
		if err == nil {
			err = s.fill(c, m, item, used)
		}
		if err != nil {
			return nil, inAlbum(err, i+1)
		}
		album = append(album, m)
	}
	s.unused(c, used)
	if err := s.pace(to, len(album)); err != nil {
		return nil, err
	}
	group := strconv.FormatInt(14_000_000_000+int64(c.ID), 10)
	for _, m := range album {
		m.MediaGroupID = group
		c.Messages = append(c.Messages, s.add(to, m).ID)
	}
	return album, nil
}

// fill puts an item's file and caption into its message.
func (s *Server) fill(c *Call, m *Message, item inputMedia, used map[string]bool) (err error) {
	caption := prose{item.Caption, item.ParseMode, string(item.CaptionEntities), captionLimit}
	m.Caption, m.CaptionEntities, err = caption.formatted()
	if err != nil {
		return err
	}
	return s.load(c, m, item, used)
}

// inAlbum says which item of an album was refused, as Telegram does.
func inAlbum(err error, n int) error {
	var no *refusal
	if !errors.As(err, &no) {
		return err
	}
	inner := *no
	inner.text = "Bad Request: failed to send message #" + strconv.Itoa(n) + " with the error message \"" +
		strings.TrimPrefix(no.text, "Bad Request: ") + "\""
	return &inner
}

// mixes checks the number of items and which kinds stand together.
func mixes(items []inputMedia) error {
	if len(items) < 2 {
		return forbid("too few messages to send as an album: %d", len(items))
	}
	if len(items) > 10 {
		return forbid("too many messages to send as an album: %d", len(items))
	}
	families := map[string]string{"photo": "visual", "video": "visual", "audio": "audio", "document": "document"}
	for _, item := range items {
		mine, first := families[item.Type], families[items[0].Type]
		if mine == "" {
			return forbid("can't parse InputMedia: type %q can't be sent in an album", item.Type)
		}
		if mine != first {
			return forbid("%s can't be mixed with %s in an album", item.Type, items[0].Type)
		}
	}
	return nil
}
