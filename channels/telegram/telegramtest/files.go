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

// Media is a file that a user sends.
type Media struct {
	Kind     string // photo, video, animation, audio, voice, video_note, document or sticker
	Name     string // of a video, animation, audio or document
	MIME     string // derived from the name if empty
	Content  []byte
	Size     int64 // size in the update, for a file that is too large; 0 means the size of Content
	Caption  string
	Width    int
	Height   int
	Duration int
	Emoji    string // of a sticker
	// Unnamed and Unsized omit file_name and file_size, as Telegram may.
	Unnamed, Unsized bool
}

// File is a file on the server, from a user or from the bot.
type File struct {
	ID      string
	Kind    string
	Name    string // as uploaded
	MIME    string
	Content []byte
	Size    int64
	Path    string // file_path of getFile: relative to /file/bot<token>/, or absolute on a local server
}

// storedFile is a File in the server's tables.
type storedFile struct{ File }

// File returns a file by its ID.
func (s *Server) File(id string) (File, bool) {
	s.Lock()
	defer s.Unlock()
	if f := s.files[id]; f != nil {
		return f.File, true
	}
	return File{}, false
}

// PNG returns a picture of this size with little content.
func PNG(width, height int) []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewPaletted(image.Rect(0, 0, width, height), color.Palette{color.Black})); err != nil {
		panic(err) // only for sizes below one
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

// storeFile stores a file and assigns its ID and path. As in Telegram, the path has only the
// extension of the original name.
func (s *Server) storeFile(f File) *storedFile {
	n := len(s.files)
	f.ID = "AgACAgIAAxkB" + f.Kind + "AAI" + strconv.Itoa(n)
	f.MIME = cmp.Or(f.MIME, mimeOf(f.Kind, f.Name))
	f.Size = cmp.Or(f.Size, int64(len(f.Content)))
	ext := cmp.Or(extensions[f.Kind], filepath.Ext(f.Name))
	if f.Kind == "audio" || f.Kind == "video" {
		ext = cmp.Or(filepath.Ext(f.Name), ext)
	}
	f.Path = folders[f.Kind] + "/file_" + strconv.Itoa(n) + ext
	if s.settings.localDir != "" {
		f.Path = filepath.Join(s.settings.localDir, s.Token, f.Path)
		if err := writeFile(f.Path, f.Content); err != nil {
			s.AddViolation("the test's own folder: %v", err)
		}
	}
	kept := &storedFile{f}
	s.files[f.ID], s.filesByPath[f.Path] = kept, kept
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

func (f *storedFile) fileInfo() FileInfo {
	unique := "AQAD" + f.ID[len(f.ID)-min(8, len(f.ID)):]
	return FileInfo{FileID: f.ID, FileUniqueID: unique, FileSize: f.Size}
}

// attachMedia adds a user's file to a message.
func (s *Server) attachMedia(m *Message, media Media) {
	f := s.storeFile(File{Kind: media.Kind, Name: media.Name, MIME: media.MIME, Content: media.Content, Size: media.Size})
	s.describeFile(m, f, media)
}

// describeFile describes a file in the message field of its kind.
func (s *Server) describeFile(m *Message, f *storedFile, media Media) {
	i := f.fileInfo()
	if media.Unsized {
		i.FileSize = 0
	}
	if f.Kind == "photo" {
		m.Photo = s.photoSizes(f, media, i)
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
		m.Animation, m.Document = &seen, &plain // for old bots, an animation is also a document
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

// photoSizes returns the sizes in which Telegram offers a photo, the largest last.
func (s *Server) photoSizes(f *storedFile, media Media, full FileInfo) []FileInfo {
	full.Width, full.Height = cmp.Or(media.Width, 1280), cmp.Or(media.Height, 960)
	out := []FileInfo{}
	for _, longest := range []int{90, 320, 800} {
		if max(full.Width, full.Height) <= longest {
			break
		}
		scale := float64(longest) / float64(max(full.Width, full.Height))
		small := s.storeFile(File{Kind: "photo", Name: f.Name, Content: []byte("thumbnail " + strconv.Itoa(longest))}).fileInfo()
		small.Width = max(1, int(float64(full.Width)*scale))
		small.Height = max(1, int(float64(full.Height)*scale))
		out = append(out, small)
	}
	return append(out, full)
}
