package acp

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/gabriel-vasile/mimetype"

	"nanobot/terminal"
)

const (
	// maxMedia is how large one picture, sound or file within a message may be.
	maxMedia = 20 << 20
	// shortText is how long a text file may be to be shown in the chat.
	shortText = 2000
)

var errTooLarge = fmt.Errorf("larger than %d MiB", maxMedia>>20)

// maybe is a value that a message may have. What is missing, null or of another type is not there:
// one odd field is no reason to lose the rest.
type maybe[T any] struct {
	v  T
	ok bool
}

// UnmarshalJSON never fails.
func (m *maybe[T]) UnmarshalJSON(b []byte) error {
	*m = maybe[T]{}
	if string(b) == "null" {
		return nil
	}
	if m.ok = json.Unmarshal(b, &m.v) == nil; !m.ok {
		var none T
		m.v = none
	}
	return nil
}

// showBlock shows a block that is no text.
func (v *view) showBlock(b block) {
	switch b.Type {
	case "text":
	case "image", "audio":
		v.showData(b.Type, fileName(b.URI), b.MimeType, b.Data)
	case "resource_link":
		v.showLink(b)
	case "resource":
		v.showResource(b.Resource)
	default:
		v.log("debug", "content of type %.40q ignored", b.Type)
	}
}

func (v *view) showResource(r *resource) {
	switch {
	case r == nil:
	case r.Blob != nil:
		v.showData("file", fileName(r.URI), r.MimeType, *r.Blob)
	case r.Text == nil || strings.TrimSpace(*r.Text) == "":
	case len(*r.Text) <= shortText:
		v.settleText()
		v.emitText(terminal.CodeSpan(terminal.OneLine(fileName(r.URI), titleLength)) + "\n" + terminal.CodeBlock("", *r.Text))
	default:
		v.addFile(fileNamed(fileName(r.URI), "text", ".txt"), []byte(*r.Text))
	}
}

// showData sends what is in a message as base64.
func (v *view) showData(what, name, mime, data string) {
	raw, err := decodeData(data)
	if err != nil {
		v.complain(what, name, err)
		return
	}
	v.addFile(fileNamed(name, what, extension(mime, raw)), raw)
}

func decodeData(data string) ([]byte, error) {
	if base64.StdEncoding.DecodedLen(len(data)) > maxMedia+2 {
		return nil, errTooLarge
	}
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		raw, err = base64.RawStdEncoding.DecodeString(data)
	}
	switch {
	case err != nil:
		return nil, errors.New("not valid base64")
	case len(raw) == 0:
		return nil, errors.New("empty")
	case len(raw) > maxMedia:
		return nil, errTooLarge
	}
	return raw, nil
}

// showLink sends a file of this machine, and names anything else.
func (v *view) showLink(b block) {
	if path, ok := localPath(b.URI); ok {
		v.addPath(path)
		return
	}
	name := terminal.OneLine(b.Name, titleLength)
	if name == "" {
		name = b.URI
	}
	v.sendFiles()
	v.text.add("["+strings.NewReplacer("[", "(", "]", ")").Replace(name)+"]("+strings.ReplaceAll(terminal.OneLine(b.URI, 2000), " ", "%20")+") ", "")
	v.soon(&v.partialAt, partialEvery)
}

// localPath returns the file that a URI means, if it is one of this machine.
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

// fileName returns the last part of a URI, "" if there is none.
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

// fileNamed makes a file's name of what is known about it.
func fileNamed(name, what, ext string) string {
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

// extension returns what a file of this type is called behind the dot: by its type's name, else by
// what is in it.
func extension(mime string, data []byte) string {
	mime, _, _ = strings.Cut(mime, ";")
	if known := mimetype.Lookup(strings.TrimSpace(mime)); known != nil && known.Extension() != "" {
		return known.Extension()
	}
	if ext := mimetype.Detect(data).Extension(); ext != "" {
		return ext
	}
	return ".bin"
}
