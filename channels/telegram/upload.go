package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	_ "image/jpeg" // formats whose size is looked up
	_ "image/png"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"os"
	"slices"
	"strings"

	"nanobot/channels"
	"nanobot/channels/inbox"
)

// upload is one file of a request.
type upload struct {
	field string // the part's name: a parameter, or what attach:// refers to
	file  channels.File
}

// upload makes a call with files, which are opened anew each time and streamed: a request costs no more memory than its
// form. Its length is known beforehand, since not every server takes requests without.
func (a *api) upload(ctx context.Context, method string, params any, files []upload, into any) error {
	body := &multipartBody{}
	defer body.close()
	if err := body.build(params, files); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.url(method), body.reader())
	if err != nil {
		return a.silent(method, err, false)
	}
	req.ContentLength = body.size
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(body.reader()), nil }
	req.Header.Set("Content-Type", body.contentType)
	return a.do(req, method, into)
}

// multipartBody is a multipart body made of pieces: what is between the files, and the files.
type multipartBody struct {
	pieces      []piece
	size        int64
	contentType string
	open        []*os.File
}

type piece struct {
	from io.ReaderAt
	size int64
}

func (b *multipartBody) close() {
	for _, f := range b.open {
		f.Close()
	}
}

func (b *multipartBody) add(from io.ReaderAt, size int64) {
	b.pieces = append(b.pieces, piece{from, size})
	b.size += size
}

// reader reads the body from its beginning.
func (b *multipartBody) reader() io.Reader {
	var all []io.Reader
	for _, p := range b.pieces {
		all = append(all, io.NewSectionReader(p.from, 0, p.size))
	}
	return io.MultiReader(all...)
}

func (b *multipartBody) build(params any, files []upload) error {
	fields, err := fieldsOf(params)
	if err != nil {
		return err
	}
	var between bytes.Buffer
	w := multipart.NewWriter(&between)
	b.contentType = w.FormDataContentType()
	flush := func() {
		text := bytes.Clone(between.Bytes())
		between.Reset()
		b.add(bytes.NewReader(text), int64(len(text)))
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if err := w.WriteField(name, fields[name]); err != nil {
			return err
		}
	}
	for _, u := range files {
		if _, err := w.CreateFormFile(u.field, fileName(u.file)); err != nil {
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

func (b *multipartBody) addFile(f channels.File) error {
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

// fileName is a name that stays one line of a form.
func fileName(f channels.File) string {
	name := inbox.Name(f.Name, "file")
	return strings.ToValidUTF8(name, "_")
}

// fieldsOf writes parameters as the fields of a form: strings as they are, everything else as JSON.
func fieldsOf(params any) (map[string]string, error) {
	encoded, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(encoded, &raw); err != nil {
		return nil, err
	}
	fields := map[string]string{}
	for name, value := range raw {
		var text string
		if json.Unmarshal(value, &text) != nil {
			text = string(value)
		}
		fields[name] = text
	}
	return fields, nil
}

// fitting is the way in which a file can go out that was to go in the given way.
func fitting(as string, f channels.File) (string, error) {
	switch as {
	case asOgg:
		if opus, err := isOpus(f); err != nil || opus {
			return asVoice, err
		}
		return asDocument, nil
	case asPhoto:
		if ok, err := isPhoto(f); err != nil || ok {
			return asPhoto, err
		}
		return asDocument, nil
	}
	if f.Path == "" {
		return as, nil
	}
	file, err := os.Open(f.Path)
	if err != nil {
		return as, err
	}
	return as, file.Close()
}

// isOpus tells whether sound is what Telegram plays as a voice message: its first page names the codec.
func isOpus(f channels.File) (bool, error) {
	file, err := os.Open(f.Path)
	if err != nil {
		return false, err
	}
	defer file.Close()
	head := make([]byte, 64)
	n, err := io.ReadFull(file, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return false, err
	}
	return bytes.Contains(head[:n], []byte("OpusHead")), nil
}

// isPhoto tells whether a picture has the proportions that Telegram takes as a photo: width and height of 10000 in
// total, and no more than 20 times one another. Of a format that we cannot read Telegram is the judge.
func isPhoto(f channels.File) (bool, error) {
	var from io.Reader = strings.NewReader(f.Content)
	if f.Path != "" {
		file, err := os.Open(f.Path)
		if err != nil {
			return false, err
		}
		defer file.Close()
		from = file
	}
	size, _, err := image.DecodeConfig(from)
	if err != nil {
		return true, nil // see above
	}
	w, h := size.Width, size.Height
	return w+h <= 10000 && w <= 20*h && h <= 20*w, nil
}
