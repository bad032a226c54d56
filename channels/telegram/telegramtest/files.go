package telegramtest

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/png"
	"mime"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Media is a file that a person sends.
type Media struct {
	Kind     string // photo, video, animation, audio, voice, video_note, document or sticker
	Name     string // of what has names: video, animation, audio, document
	MIME     string // guessed from the name if empty
	Content  []byte
	Size     int64 // what the update claims, for a file that is too big; 0: the content's
	Caption  string
	Width    int
	Height   int
	Duration int
	Emoji    string // of a sticker
	// Unnamed and Unsized leave file_name and file_size out, as Telegram may.
	Unnamed, Unsized bool
}

// File is a file on the server, from a person or from the bot.
type File struct {
	ID      string
	Kind    string
	Name    string // as uploaded
	MIME    string
	Content []byte
	Size    int64
	Path    string // what getFile says: relative to /file/bot<token>/, or absolute on a local server
}

// file is File, held.
type file struct{ File }

// File returns a file by its id.
func (s *Server) File(id string) (File, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.files[id]; f != nil {
		return f.File, true
	}
	return File{}, false
}

// PNG returns a picture of this size. It is small whatever its size.
func PNG(width, height int) []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewPaletted(image.Rect(0, 0, width, height), color.Palette{color.Black})); err != nil {
		panic(err) // only of sizes below one
	}
	return b.Bytes()
}

var folders = map[string]string{
	"photo": "photos", "video": "videos", "animation": "animations", "audio": "music", "voice": "voice",
	"video_note": "video_notes", "document": "documents", "sticker": "stickers", "thumbnail": "thumbnails",
}

var extensions = map[string]string{
	"photo": ".jpg", "video": ".mp4", "animation": ".mp4", "audio": ".mp3", "voice": ".oga", "video_note": ".mp4",
	"sticker": ".webp", "thumbnail": ".jpg",
}

// keep puts a file on the server and gives it an id and a path. Telegram's paths say nothing of the
// original name but its extension.
func (s *Server) keep(f File) *file {
	n := len(s.files)
	f.ID = "AgACAgIAAxkB" + f.Kind + "AAI" + strconv.Itoa(n)
	f.MIME = cmp.Or(f.MIME, mimeOf(f.Kind, f.Name))
	f.Size = cmp.Or(f.Size, int64(len(f.Content)))
	ext := cmp.Or(extensions[f.Kind], filepath.Ext(f.Name))
	if f.Kind == "audio" || f.Kind == "video" {
		ext = cmp.Or(filepath.Ext(f.Name), ext)
	}
	f.Path = folders[f.Kind] + "/file_" + strconv.Itoa(n) + ext
	if s.set.local != "" {
		f.Path = filepath.Join(s.set.local, s.Token, f.Path)
		if err := writeFile(f.Path, f.Content); err != nil {
			s.violations = append(s.violations, "the test's own folder: "+err.Error())
		}
	}
	kept := &file{f}
	s.files[f.ID], s.paths[f.Path] = kept, kept
	return kept
}

func writeFile(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o600)
}

func mimeOf(kind, name string) string {
	switch kind {
	case "voice":
		return "audio/ogg"
	case "photo", "thumbnail":
		return "image/jpeg"
	case "sticker":
		return "image/webp"
	case "video_note":
		return "video/mp4"
	}
	byName, _, _ := strings.Cut(mime.TypeByExtension(filepath.Ext(name)), ";")
	fallback := map[string]string{"video": "video/mp4", "animation": "video/mp4", "audio": "audio/mpeg"}
	return cmp.Or(byName, fallback[kind], "application/octet-stream")
}

func (f *file) info() FileInfo {
	unique := "AQAD" + f.ID[len(f.ID)-min(8, len(f.ID)):]
	return FileInfo{FileID: f.ID, FileUniqueID: unique, FileSize: f.Size}
}

// attach puts a person's file into a message, in the form of its kind.
func (s *Server) attach(m *Message, media Media) {
	f := s.keep(File{Kind: media.Kind, Name: media.Name, MIME: media.MIME, Content: media.Content, Size: media.Size})
	s.present(m, f, media)
}

// present describes a file in a message as Telegram does for its kind.
func (s *Server) present(m *Message, f *file, media Media) {
	i := f.info()
	if media.Unsized {
		i.FileSize = 0
	}
	if f.Kind == "photo" {
		m.Photo = s.sizes(f, media, i)
		return
	}
	i.MIME = f.MIME
	if !media.Unnamed {
		i.FileName = f.Name
	}
	timed := i
	timed.Duration = &media.Duration
	seen := timed
	seen.Width, seen.Height = cmp.Or(media.Width, 640), cmp.Or(media.Height, 360)
	switch f.Kind {
	case "video":
		m.Video = &seen
	case "animation":
		plain := i
		m.Animation, m.Document = &seen, &plain // an animation is also a document, for old bots
	case "audio":
		m.Audio = &timed
	case "voice":
		timed.FileName = ""
		m.Voice = &timed
	case "video_note":
		timed.FileName, timed.MIME, timed.Length = "", "", cmp.Or(media.Width, 240)
		m.VideoNote = &timed
	case "sticker":
		seen.FileName, seen.MIME, seen.Duration = "", "", nil
		seen.Type, seen.Emoji, seen.IsAnimated, seen.IsVideo = "regular", media.Emoji, new(bool), new(bool)
		m.Sticker = &seen
	default:
		m.Document = &i
	}
}

// sizes are the sizes in which Telegram offers a photo, the largest last.
func (s *Server) sizes(f *file, media Media, full FileInfo) []FileInfo {
	full.Width, full.Height = cmp.Or(media.Width, 1280), cmp.Or(media.Height, 960)
	out := []FileInfo{}
	for _, longest := range []int{90, 320, 800} {
		if max(full.Width, full.Height) <= longest {
			break
		}
		scale := float64(longest) / float64(max(full.Width, full.Height))
		small := s.keep(File{Kind: "photo", Name: f.Name, Content: []byte("thumbnail " + strconv.Itoa(longest))}).info()
		small.Width = max(1, int(float64(full.Width)*scale))
		small.Height = max(1, int(float64(full.Height)*scale))
		out = append(out, small)
	}
	return append(out, full)
}
