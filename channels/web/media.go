package web

import (
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/gabriel-vasile/mimetype"

	"nanobot/channels/web/history"
	"nanobot/internal/words"
)

// inlineTypes maps detected types that a browser shows without executing their content to the type
// in the response. All other files are downloaded.
var inlineTypes = map[string]string{
	"image/png": "image/png", "image/vnd.mozilla.apng": "image/png", "image/jpeg": "image/jpeg", "image/gif": "image/gif",
	"image/webp": "image/webp", "image/avif": "image/avif", "image/bmp": "image/bmp",
	"video/mp4": "video/mp4", "video/webm": "video/webm", "video/ogg": "video/ogg", "video/quicktime": "video/mp4",
	"audio/mpeg": "audio/mpeg", "audio/ogg": "audio/ogg", "application/ogg": "audio/ogg", "audio/wav": "audio/wav", "audio/flac": "audio/flac",
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
}

// getMedia serves a file by its ID. A file never changes.
func (c *Channel) getMedia(w http.ResponseWriter, r *http.Request) error {
	h, err := c.openHistory()
	if err != nil {
		return err
	}
	m, f, err := h.OpenMedia(r.Context(), c.requester(r), r.PathValue("id"))
	if os.IsNotExist(err) {
		return shownError(http.StatusNotFound, words.PageNoFile)
	}
	if err != nil {
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
