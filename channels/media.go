package channels

import (
	"os"
	"path/filepath"
	"strings"
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
	".mp3": Audio, ".ogg": Audio, ".m4a": Audio, ".wav": Audio, ".flac": Audio,
}

// KindOf returns the kind of a file by its extension, in any case. Extensions that the protocol
// does not list are documents.
func KindOf(name string) MediaKind {
	if k, ok := kinds[strings.ToLower(filepath.Ext(name))]; ok {
		return k
	}
	return Document
}
