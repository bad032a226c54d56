package httpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"strings"

	"nanobot/channels"
)

// Body is the body of a request. It consists of pieces: files and the text between them. Files are
// opened for each body and streamed, so they use no memory. Its length is known in advance, since
// some servers refuse requests without a length.
type Body struct {
	pieces      []piece
	size        int64
	contentType string
	files       []*os.File
}

type piece struct {
	from io.ReaderAt
	size int64
}

// Upload is one file of a form: the name of its field, and its file name.
type Upload struct {
	Field, Name string
	File        channels.File
}

// NewJSON returns a body with a value as JSON.
func NewJSON(v any) (*Body, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	b := &Body{contentType: "application/json"}
	b.add(bytes.NewReader(text), int64(len(text)))
	return b, nil
}

// NewForm returns a multipart form with fields, which come first, and files. It must be closed.
func NewForm(fields func(*multipart.Writer) error, files []Upload) (*Body, error) {
	b := &Body{}
	if err := b.build(fields, files); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// Request returns a request with the body.
func (b *Body) Request(ctx context.Context, method, url string) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(b.reader()), nil }
	req.ContentLength, req.Body = b.size, io.NopCloser(b.reader())
	req.Header.Set("Content-Type", b.contentType)
	return req, nil
}

// Close closes the files.
func (b *Body) Close() {
	for _, file := range b.files {
		file.Close()
	}
}

// reader returns a reader of the body from its beginning.
func (b *Body) reader() io.Reader {
	var all []io.Reader
	for _, p := range b.pieces {
		all = append(all, io.NewSectionReader(p.from, 0, p.size))
	}
	return io.MultiReader(all...)
}

func (b *Body) build(fields func(*multipart.Writer) error, files []Upload) error {
	var between bytes.Buffer
	w := multipart.NewWriter(&between)
	b.contentType = w.FormDataContentType()
	flush := func() {
		text := bytes.Clone(between.Bytes())
		between.Reset()
		b.add(bytes.NewReader(text), int64(len(text)))
	}
	if err := fields(w); err != nil {
		return err
	}
	for _, u := range files {
		if _, err := w.CreateFormFile(u.Field, u.Name); err != nil {
			return err
		}
		flush()
		if err := b.addFile(u.File); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	flush()
	return nil
}

func (b *Body) add(from io.ReaderAt, size int64) {
	b.pieces = append(b.pieces, piece{from, size})
	b.size += size
}

func (b *Body) addFile(of channels.File) error {
	if of.Path == "" {
		b.add(strings.NewReader(of.Content), int64(len(of.Content)))
		return nil
	}
	file, err := os.Open(of.Path)
	if err != nil {
		return err
	}
	b.files = append(b.files, file)
	info, err := file.Stat()
	if err != nil {
		return err
	}
	b.add(file, info.Size())
	return nil
}
