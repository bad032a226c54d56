package view

import (
	"encoding/base64"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/gabriel-vasile/mimetype"

	"nanobot/internal/words"
	"nanobot/terminal"
	"nanobot/terminal/acp/rpc"
	"nanobot/terminal/steps"
)

const (
	// maxMedia limits one picture, sound or file within a message.
	maxMedia = 20 << 20
	// shortText is the longest text resource that is shown in the chat instead of as a file.
	shortText = 2000
)

// showBlock shows a content block that is not text.
func (m *messages) showBlock(b rpc.Block) {
	switch b.Type {
	case "text":
	case "image", "audio":
		m.showData(b.Type, fileName(b.URI), b.MimeType, b.Data)
	case "resource_link":
		m.showLink(b)
	case "resource":
		m.showResource(b.Resource)
	default:
		m.log("debug", "content of type %.40q ignored", b.Type)
	}
}

func (m *messages) showResource(r *rpc.Resource) {
	switch {
	case r == nil:
	case r.Blob != nil:
		m.showData("file", fileName(r.URI), r.MimeType, *r.Blob)
	case r.Text == nil || strings.TrimSpace(*r.Text) == "":
	case len(*r.Text) <= shortText:
		m.flush()
		name := terminal.CodeSpan(terminal.OneLine(fileName(r.URI), steps.TitleLength))
		m.emitText(name + "\n" + terminal.CodeBlock("", *r.Text))
	default:
		m.addFile(safeFileName(fileName(r.URI), "text", ".txt"), []byte(*r.Text))
	}
}

// showData sends base64 data as a file.
func (m *messages) showData(what, name, mime, data string) {
	raw, err := decodeData(data)
	if err != nil {
		m.reportUnshowable(what, name, err)
		return
	}
	m.addFile(safeFileName(name, what, fileExtension(mime, raw)), raw)
}

func decodeData(data string) ([]byte, error) {
	if base64.StdEncoding.DecodedLen(len(data)) > maxMedia+2 {
		return nil, words.NewError(words.DataTooLarge, maxMedia>>20)
	}
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		raw, err = base64.RawStdEncoding.DecodeString(data)
	}
	switch {
	case err != nil:
		return nil, words.NewError(words.DataInvalid)
	case len(raw) == 0:
		return nil, words.NewError(words.DataEmpty)
	case len(raw) > maxMedia:
		return nil, words.NewError(words.DataTooLarge, maxMedia>>20)
	}
	return raw, nil
}

// showLink sends a local file, and shows any other resource as a link.
func (m *messages) showLink(b rpc.Block) {
	if path, ok := localPath(b.URI); ok {
		m.addPath(path)
		return
	}
	name := terminal.OneLine(b.Name, steps.TitleLength)
	if name == "" {
		name = b.URI
	}
	m.sendFiles()
	m.addText("["+strings.NewReplacer("[", "(", "]", ")").Replace(name)+"]("+
		strings.ReplaceAll(terminal.OneLine(b.URI, 2000), " ", "%20")+") ", "")
}

// localPath returns the path of a file URI of this machine.
func localPath(uri string) (string, bool) {
	if filepath.IsAbs(uri) {
		return uri, true
	}
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Host != "" && u.Host != "localhost" || !filepath.IsAbs(u.Path) {
		return "", false
	}
	return filepath.Clean(u.Path), true
}

// fileName returns the last element of a URI's path, or "".
func fileName(uri string) string {
	if u, err := url.Parse(uri); err == nil {
		uri = u.Path
	}
	name := filepath.Base(filepath.Clean("/" + uri))
	if name == "/" {
		return ""
	}
	return name
}

// safeFileName returns a file name without separators and control characters. A missing name or
// extension is filled in.
func safeFileName(name, what, ext string) string {
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == '/' || r == 0x7f || r == '\uFFFD' {
			return '_'
		}
		return r
	}, name)
	if name == "" || strings.HasPrefix(name, ".") {
		name = what + name
	}
	if filepath.Ext(name) == "" {
		name += ext
	}
	if over := len(name) - 100; over > 0 {
		name = strings.ToValidUTF8(name[over:], "")
	}
	return name
}

// fileExtension returns the extension of a MIME type, or else of the type that the data has.
func fileExtension(mime string, data []byte) string {
	mime, _, _ = strings.Cut(mime, ";")
	if known := mimetype.Lookup(strings.TrimSpace(mime)); known != nil && known.Extension() != "" {
		return known.Extension()
	}
	if ext := mimetype.Detect(data).Extension(); ext != "" {
		return ext
	}
	return ".bin"
}
