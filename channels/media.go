package channels

import (
	"os"
	"path/filepath"
	"strings"
)

// MediaKind says how a network shows a file.
type MediaKind string

// The kinds of media that Terminal Protocol v1 names.
const (
	Image    MediaKind = "image"
	Video    MediaKind = "video"
	Audio    MediaKind = "audio"
	Document MediaKind = "document"
)

// File is one file of a message: on disk at Path, or, for text that is too long for messages, in
// Content. In an Outgoing that is stored, Path is the name by which the store fetches the file;
// Send is given the path on this machine.
type File struct {
	Path    string    `json:"path,omitempty"`
	Name    string    `json:"name"`
	Kind    MediaKind `json:"kind"`
	Size    int64     `json:"size"`
	Content string    `json:"content,omitempty"`
	// Open is the file itself, opened when it was checked that it may be sent. Whoever opened it
	// closes it; the outbox does so before, once it has no use for it. It is nil once Path names
	// the store's copy. It is not stored.
	Open *os.File `json:"-"`
}

var kinds = map[string]MediaKind{
	".jpg": Image, ".jpeg": Image, ".png": Image, ".gif": Image, ".webp": Image,
	".mp4": Video, ".mov": Video, ".avi": Video, ".mkv": Video, ".webm": Video,
	".mp3": Audio, ".ogg": Audio, ".m4a": Audio, ".wav": Audio, ".flac": Audio,
}

// KindOf tells a file's kind by its extension, in any case. What the protocol does not list is a
// document.
func KindOf(name string) MediaKind {
	if k, ok := kinds[strings.ToLower(filepath.Ext(name))]; ok {
		return k
	}
	return Document
}
