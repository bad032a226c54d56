package acp

import (
	"bytes"
	"encoding/base64"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/gabriel-vasile/mimetype"

	"nanobot/terminal"
)

const (
	// maxInline is the most bytes of a picture or sound that goes into a prompt; maxEmbedded is
	// that of a text. What is larger is only named.
	maxInline, maxEmbedded = 8 << 20, 64 << 10
	// maxQuote is how much of the message that the person replied to is quoted.
	maxQuote = 4000
)

// promptCapabilities say what an agent takes in a prompt beyond text and links.
type promptCapabilities struct {
	Image           bool `json:"image"`
	Audio           bool `json:"audio"`
	EmbeddedContext bool `json:"embeddedContext"`
}

// block is one piece of content, said by either side.
type block struct {
	Type     string    `json:"type"`
	Text     string    `json:"text,omitempty"`
	Data     string    `json:"data,omitempty"` // of a picture or a sound, as base64
	MimeType string    `json:"mimeType,omitempty"`
	URI      string    `json:"uri,omitempty"`
	Name     string    `json:"name,omitempty"`
	Size     *int64    `json:"size,omitempty"`
	Resource *resource `json:"resource,omitempty"`
}

// resource is a file that is part of a block: Text or Blob is set.
type resource struct {
	URI      string  `json:"uri"`
	MimeType string  `json:"mimeType,omitempty"`
	Text     *string `json:"text,omitempty"`
	Blob     *string `json:"blob,omitempty"` // base64
}

// promptBlocks turns what the person sent into the blocks that the agent takes.
func promptBlocks(e terminal.Envelope, caps promptCapabilities) []block {
	var blocks []block
	media := e.Media
	if q := e.ReplyTo; q != nil {
		if text := strings.TrimSpace(q.Text); text != "" {
			blocks = append(blocks, textBlock("In reply to: "+terminal.Shorten(text, maxQuote)))
		}
		media = append(append([]string{}, q.Media...), media...)
	}
	if strings.TrimSpace(e.Text) != "" {
		blocks = append(blocks, textBlock(e.Text))
	}
	for _, path := range media {
		blocks = append(blocks, fileBlocks(path, caps)...)
	}
	if len(blocks) == 0 {
		blocks = append(blocks, textBlock(" ")) // a prompt must have something in it
	}
	return blocks
}

func textBlock(text string) block {
	return block{Type: "text", Text: strings.ToValidUTF8(text, "\uFFFD")}
}

// fileBlocks tells the agent of one file. A file that is shown is also named, since the agent may
// have to work on it.
func fileBlocks(path string, caps promptCapabilities) []block {
	link := block{Type: "resource_link", URI: fileURI(path), Name: strings.ToValidUTF8(filepath.Base(path), "\uFFFD")}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return []block{link} // what is wrong with it the agent finds out by itself
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return []block{link}
	}
	size := info.Size()
	link.Size = &size
	kind, err := mimetype.DetectReader(f)
	if err != nil {
		return []block{link}
	}
	link.MimeType, _, _ = strings.Cut(kind.String(), ";")
	switch as := shownAs(link.MimeType); {
	case size > 0 && size <= maxInline && (as == "image" && caps.Image || as == "audio" && caps.Audio):
		if data, err := os.ReadFile(path); err == nil {
			shown := block{Type: as, Data: base64.StdEncoding.EncodeToString(data), MimeType: link.MimeType}
			if as == "image" {
				shown.URI = link.URI
			}
			return []block{shown, textBlock("(This " + as + " is the file " + path + ")")}
		}
	case size <= maxEmbedded && caps.EmbeddedContext:
		if data, err := os.ReadFile(path); err == nil && utf8.Valid(data) && !bytes.ContainsRune(data, 0) {
			text := string(data)
			return []block{{Type: "resource", Resource: &resource{URI: link.URI, MimeType: link.MimeType, Text: &text}}}
		}
	}
	return []block{link}
}

// shownAs tells how a model can look at a file, if at all. Models know these four kinds of picture.
func shownAs(mime string) string {
	switch mime {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return "image"
	}
	if strings.HasPrefix(mime, "audio/") {
		return "audio"
	}
	return ""
}

func fileURI(path string) string { return (&url.URL{Scheme: "file", Path: path}).String() }
