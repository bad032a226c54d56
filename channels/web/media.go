package web

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/gabriel-vasile/mimetype"

	"nanobot/channels/downloads"
	"nanobot/channels/web/history"
	"nanobot/internal/words"
)

// inlineTypes maps detected types that a browser shows without executing their content to the type
// in the response. All other files are downloaded.
var inlineTypes = map[string]string{
	"image/png": "image/png", "image/vnd.mozilla.apng": "image/png", "image/jpeg": "image/jpeg", "image/gif": "image/gif",
	"image/webp": "image/webp", "image/avif": "image/avif", "image/bmp": "image/bmp",
	"video/mp4": "video/mp4", "video/webm": "video/webm", "video/ogg": "video/ogg", "video/quicktime": "video/mp4",
	"audio/mpeg": "audio/mpeg", "audio/ogg": "audio/ogg", "application/ogg": "audio/ogg", "audio/wav": "audio/wav",
	"audio/flac": "audio/flac", "audio/webm": "audio/webm",
	"audio/aac": "audio/aac", "audio/mp4": "audio/mp4", "audio/x-m4a": "audio/mp4",
}

// safeType returns the type of a file for the response. It does not depend on the file's name.
func safeType(found string) string {
	found, _, _ = strings.Cut(found, ";")
	switch t, ok := inlineTypes[found]; {
	case ok:
		return t
	case strings.HasPrefix(found, "text/"):
		return "text/plain; charset=utf-8"
	case found == "application/pdf":
		return found
	}
	return "application/octet-stream"
}

// detectType detects the type of a file, and the dimensions of a picture or a video.
func detectType(f io.ReadSeeker, m *history.Media) {
	m.Type = "application/octet-stream"
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return
	}
	found, err := mimetype.DetectReader(f)
	if err != nil {
		return
	}
	m.Type = safeType(found.String())
	if kind, _, _ := strings.Cut(m.Type, "/"); kind == "image" || kind == "video" {
		m.Width, m.Height = dimensions(f, m.Type)
	}
	if m.Type == "video/webm" && m.Width == 0 { // a voice note
		m.Type = "audio/webm"
	}
}

// openMedia opens a file of a message: the only copy of a file that a user has sent is in the
// chat's folder, where agents and people may change it.
func (c *Channel) openMedia(h *history.History, chat string, m history.Media) (*os.File, error) {
	saved, ok := m.Saved()
	if !ok {
		return h.OpenFile(m.ID)
	}
	folder, err := c.downloads.Open(chat)
	if err != nil {
		return nil, err
	}
	defer folder.Close() //nolint:errcheck // it was only read
	return folder.OpenSaved(saved)
}

// The states of files that are not served any more.
const (
	stateGone    = "gone"
	stateChanged = "changed"
)

// mediaState returns the state of a file, or "" if it is served.
func (c *Channel) mediaState(chat string, m history.Media) string {
	saved, ok := m.Saved()
	if !ok {
		return ""
	}
	folder, err := c.downloads.Open(chat)
	if err != nil {
		return ""
	}
	defer folder.Close() //nolint:errcheck // it was only read
	switch err := folder.Check(saved); {
	case errors.Is(err, downloads.ErrGone):
		return stateGone
	case errors.Is(err, downloads.ErrChanged):
		return stateChanged
	}
	return ""
}

// getMedia serves a file by its ID. A file that is served never changes.
func (c *Channel) getMedia(w http.ResponseWriter, r *http.Request) error {
	h, err := c.openHistory()
	if err != nil {
		return err
	}
	m, chat, err := h.FindMedia(r.Context(), c.requester(r), r.PathValue("id"))
	var f *os.File
	if err == nil {
		f, err = c.openMedia(h, chat, m)
	}
	switch {
	case errors.Is(err, downloads.ErrGone):
		return shownError(http.StatusGone, words.PageFileGone)
	case errors.Is(err, downloads.ErrChanged):
		return shownError(http.StatusGone, words.PageFileChanged)
	case os.IsNotExist(err):
		return shownError(http.StatusNotFound, words.PageNoFile)
	case err != nil:
		return err
	}
	defer f.Close()
	how := "attachment"
	if prefix, _, _ := strings.Cut(m.Type, "/"); prefix == "image" || prefix == "video" || prefix == "audio" {
		how = "inline"
	}
	header := w.Header()
	header.Set("Content-Type", m.Type)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	header.Set("Content-Disposition", contentDisposition(how, m.Name))
	header.Set("Cache-Control", "private, max-age=31536000, immutable")
	if m.SHA256 != "" { // it may be gone later, which the page says
		header.Set("Cache-Control", "private, no-cache")
		header.Set("ETag", `"`+m.SHA256+`"`)
	}
	http.ServeContent(w, r, "", time.Time{}, f)
	return nil
}

// contentDisposition returns a Content-Disposition header with the file's name.
func contentDisposition(how, name string) string {
	if d := mime.FormatMediaType(how, map[string]string{"filename": name}); d != "" {
		return d
	}
	return how
}
