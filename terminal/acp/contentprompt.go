package acp

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/gabriel-vasile/mimetype"

	"nanobot/terminal"
	"nanobot/terminal/acp/rpc"
	"nanobot/terminal/acp/scale"
)

const (
	// maxInline limits a picture or sound within a prompt, maxEmbedded a text, in bytes. Larger
	// files are sent as links.
	maxInline, maxEmbedded = 8 << 20, 64 << 10
	// maxPicture limits a picture before it is scaled down, in bytes, and maxPictureSide the longer
	// side of a picture in a prompt, in pixels.
	maxPicture, maxPictureSide = 32 << 20, 2000
	// maxQuote limits the quote of the message that the person replied to.
	maxQuote = 4000
)

// promptCapabilities are the content types that an agent accepts in a prompt besides text and
// links.
type promptCapabilities struct {
	Image           capability `json:"image"`
	Audio           capability `json:"audio"`
	EmbeddedContext capability `json:"embeddedContext"`
	filesAsPaths    bool       // see quirks
}

// promptBlocks converts a person's message to content blocks that the agent accepts.
func promptBlocks(e terminal.Envelope, caps promptCapabilities) []rpc.Block {
	var blocks []rpc.Block
	media := e.Media
	if q := e.ReplyTo; q != nil {
		if text := strings.TrimSpace(q.Text); text != "" {
			blocks = append(blocks, textBlock("In reply to"+quoteAuthor(q)+": "+terminal.Shorten(text, maxQuote)))
		}
		media = append(append([]string{}, q.Media...), media...)
	}
	if text := promptText(e); strings.TrimSpace(text) != "" {
		blocks = append(blocks, textBlock(text))
	}
	for _, path := range media {
		files := fileBlocks(path, caps)
		if caps.filesAsPaths && files[0].Type == "resource_link" && files[0].MimeType != "text/plain" {
			files = []rpc.Block{textBlock("(The file " + path + ")")}
		}
		blocks = append(blocks, files...)
	}
	if len(blocks) == 0 {
		blocks = append(blocks, textBlock(" ")) // a prompt must not be empty
	}
	return blocks
}

// promptText returns the text of a message, with words that say who wrote it: the sender in a chat
// of several people, and the origin of a forwarded text. A command of the agent stays as it is.
func promptText(e terminal.Envelope) string {
	text, own := e.Text, e.Text
	if f := e.Forwarded; f != nil {
		own = f.Comment
		rest := strings.TrimPrefix(strings.TrimPrefix(text, own), "\n")
		text = strings.TrimLeft(own+"\nForwarded"+originWords(f)+":\n"+rest, "\n")
	}
	if e.Group && e.User != nil && !strings.HasPrefix(own, "/") {
		if name := shownName(e.User); name != "" {
			text = name + ": " + text
		}
	}
	return text
}

// originWords names the origin of a forwarded text, as in " from News".
func originWords(f *terminal.Forwarded) string {
	var names []string
	if name := shownName(f.From); name != "" {
		names = append(names, name)
	}
	if f.Chat != nil && f.Chat.Title != "" {
		names = append(names, oneLine(f.Chat.Title))
	}
	if len(names) == 0 {
		return ""
	}
	return " from " + strings.Join(names, ", ")
}

// quoteAuthor names the author of a quote and its chat, as in " Ann in News".
func quoteAuthor(q *terminal.Quote) (words string) {
	if name := shownName(q.User); name != "" {
		words = " " + name
	}
	if q.Chat != nil && q.Chat.Title != "" {
		words += " in " + oneLine(q.Chat.Title)
	}
	return words
}

// shownName returns the name of a person in one line, or "".
func shownName(u *terminal.User) string {
	if u == nil {
		return ""
	}
	return oneLine(cmp.Or(u.Name, u.Username))
}

// maxNameRunes bounds a name in a prompt. People choose their names themselves.
const maxNameRunes = 80

func oneLine(name string) string {
	return terminal.Shorten(strings.Join(strings.Fields(name), " "), maxNameRunes)
}

func textBlock(text string) rpc.Block {
	return rpc.Block{Type: "text", Text: strings.ToValidUTF8(text, "\uFFFD")}
}

// fileBlocks converts one file. A picture or sound is followed by its path, because the agent may
// have to work on the file.
func fileBlocks(path string, caps promptCapabilities) []rpc.Block {
	link := rpc.Block{Type: "resource_link", URI: fileURI(path), Name: strings.ToValidUTF8(filepath.Base(path), "\uFFFD")}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return []rpc.Block{link} // the agent sees the error when it opens the file
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return []rpc.Block{link}
	}
	size := info.Size()
	link.Size = &size
	kind, err := mimetype.DetectReader(f)
	if err != nil {
		return []rpc.Block{link}
	}
	link.MimeType, _, _ = strings.Cut(kind.String(), ";")
	switch as := inlineType(link.MimeType); {
	case size > 0 && size <= maxPicture && as == "image" && bool(caps.Image):
		if shown, ok := pictureBlock(path, link); ok {
			return []rpc.Block{shown, textBlock("(This image is the file " + path + ")")}
		}
	case size > 0 && size <= maxInline && as == "audio" && bool(caps.Audio):
		if data, err := os.ReadFile(path); err == nil {
			shown := rpc.Block{Type: as, Data: base64.StdEncoding.EncodeToString(data), MimeType: link.MimeType}
			return []rpc.Block{shown, textBlock("(This audio is the file " + path + ")")}
		}
	case size <= maxEmbedded && bool(caps.EmbeddedContext):
		if data, err := os.ReadFile(path); err == nil && utf8.Valid(data) && !bytes.ContainsRune(data, 0) {
			text := string(data)
			return []rpc.Block{{Type: "resource", Resource: &rpc.Resource{URI: link.URI, MimeType: link.MimeType, Text: &text}}}
		}
	}
	return []rpc.Block{link}
}

// pictureBlock converts a picture, and makes it smaller if it is larger than models accept. It
// reports false if the picture cannot be sent, so that the agent gets a link to the file.
func pictureBlock(path string, link rpc.Block) (rpc.Block, bool) {
	data, err := os.ReadFile(path)
	if err != nil {
		return rpc.Block{}, false
	}
	shown := rpc.Block{Type: "image", MimeType: link.MimeType, URI: link.URI}
	scaled, mime, err := scale.Down(data, maxPictureSide)
	switch {
	case errors.Is(err, scale.ErrTooManyPixels):
		return rpc.Block{}, false
	case err == nil && mime != "":
		data, shown.MimeType = scaled, mime
	}
	shown.Data = base64.StdEncoding.EncodeToString(data) // a damaged picture is left to the agent
	return shown, len(data) <= maxInline
}

// inlineType returns the block type for files that models can process directly, or "". Models
// support these four picture formats.
func inlineType(mime string) string {
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
