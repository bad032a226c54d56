package channels

import (
	"cmp"
	"io"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// MediaKind is the way in which a network shows a file.
type MediaKind string

// The kinds of media that Terminal Protocol v1 names.
const (
	Image    MediaKind = "image"
	Video    MediaKind = "video"
	Audio    MediaKind = "audio"
	Document MediaKind = "document"
)

// File is one file of a message. It is on disk at Path, or, for a text that is too long for a
// message, in Content. In a stored Outgoing, Path is the name of the file in the store; Send gets
// the path on this machine.
type File struct {
	Path    string    `json:"path,omitempty"`
	Name    string    `json:"name"`
	Kind    MediaKind `json:"kind"`
	Size    int64     `json:"size"`
	Content string    `json:"content,omitempty"`
	// Open is the file, opened when it was checked that it may be sent. The code that opened it
	// closes it, unless the outbox has closed it before. It is nil once Path names the store's
	// copy, and it is not stored.
	Open *os.File `json:"-"`
}

var kinds = map[string]MediaKind{
	".jpg": Image, ".jpeg": Image, ".png": Image, ".gif": Image, ".webp": Image,
	".mp4": Video, ".mov": Video, ".avi": Video, ".mkv": Video, ".webm": Video,
	".mp3": Audio, ".ogg": Audio, ".weba": Audio, ".m4a": Audio, ".wav": Audio, ".flac": Audio,
}

// TypeOf returns the MIME type of a file on disk, by the extension of its name, else by its
// content.
func TypeOf(path, name string) string {
	ext := strings.ToLower(filepath.Ext(cmp.Or(name, path)))
	if kind, _, _ := strings.Cut(mime.TypeByExtension(ext), ";"); kind != "" {
		return kind
	}
	if kind := KindOf(ext); kind != Document { // this machine has no table of types
		return string(kind) + "/" + ext[1:]
	}
	var head [512]byte // as much as DetectContentType looks at
	n := 0
	// An agent may have put a pipe there, which would block, or a link.
	if f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0); err == nil {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			n, _ = io.ReadFull(f, head[:])
		}
		_ = f.Close()
	}
	kind, _, _ := strings.Cut(http.DetectContentType(head[:n]), ";")
	if kind == "application/ogg" { // voice messages have this type
		return "audio/ogg"
	}
	return kind
}

// KindOf returns the kind of a file by its extension, in any case. Extensions that the protocol
// does not list are documents.
func KindOf(name string) MediaKind {
	if k, ok := kinds[strings.ToLower(filepath.Ext(name))]; ok {
		return k
	}
	return Document
}
