package discord

import (
	"bytes"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/textproto"
	"os"
	"strconv"
	"strings"

	"nanobot/channels"
)

// upload is one file of a request.
type upload struct {
	name string
	file channels.File
}

// body is what a request carries, made of pieces: what is between the files, and the files. They are opened anew for each
// request and streamed, so that it costs no more memory than its form. Its length is known beforehand.
type body struct {
	pieces      []piece
	size        int64
	contentType string
	open        []*os.File
}

type piece struct {
	from io.ReaderAt
	size int64
}

// newBody makes the body of a request, which must be closed.
func newBody(r request) (*body, error) {
	b := &body{contentType: "application/json"}
	if r.body == nil {
		return b, nil
	}
	encoded, err := json.Marshal(r.body)
	if err != nil {
		return nil, err
	}
	if len(r.files) == 0 {
		b.add(bytes.NewReader(encoded), int64(len(encoded)))
		return b, nil
	}
	if err := b.form(encoded, r.files); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

func (b *body) close() {
	for _, f := range b.open {
		f.Close()
	}
}

func (b *body) add(from io.ReaderAt, size int64) {
	b.pieces = append(b.pieces, piece{from, size})
	b.size += size
}

// reader reads the body from its beginning.
func (b *body) reader() io.Reader {
	if len(b.pieces) == 0 {
		return nil
	}
	var all []io.Reader
	for _, p := range b.pieces {
		all = append(all, io.NewSectionReader(p.from, 0, p.size))
	}
	return io.MultiReader(all...)
}

// form makes a multipart form of JSON and files.
func (b *body) form(encoded []byte, files []upload) error {
	var between bytes.Buffer
	w := multipart.NewWriter(&between)
	b.contentType = w.FormDataContentType()
	flush := func() {
		text := bytes.Clone(between.Bytes())
		between.Reset()
		b.add(bytes.NewReader(text), int64(len(text)))
	}
	head := textproto.MIMEHeader{}
	head.Set("Content-Disposition", `form-data; name="payload_json"`)
	head.Set("Content-Type", "application/json")
	part, err := w.CreatePart(head)
	if err != nil {
		return err
	}
	if _, err := part.Write(encoded); err != nil {
		return err
	}
	for i, u := range files {
		if _, err := w.CreateFormFile("files["+strconv.Itoa(i)+"]", u.name); err != nil {
			return err
		}
		flush()
		if err := b.addFile(u.file); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	flush()
	return nil
}

func (b *body) addFile(f channels.File) error {
	if f.Path == "" {
		b.add(strings.NewReader(f.Content), int64(len(f.Content)))
		return nil
	}
	file, err := os.Open(f.Path)
	if err != nil {
		return err
	}
	b.open = append(b.open, file)
	info, err := file.Stat()
	if err != nil {
		return err
	}
	b.add(file, info.Size())
	return nil
}
