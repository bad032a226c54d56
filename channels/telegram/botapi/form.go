package botapi

import (
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-telegram/bot"
)

// libraryTransport makes the requests of the library, which have no files. The library sends all
// fields as multipart/form-data, which some other Bot API servers read only with files; a
// URL-encoded form is read by all.
type libraryTransport struct{ *transport }

var _ bot.HttpClient = libraryTransport{}

// Do makes a request with its fields as a URL-encoded form.
func (t libraryTransport) Do(req *http.Request) (*http.Response, error) {
	kind, params, _ := mime.ParseMediaType(req.Header.Get("Content-Type"))
	if kind != "multipart/form-data" { // it has no fields
		return t.transport.Do(req)
	}
	fields, err := readFields(multipart.NewReader(req.Body, params["boundary"]))
	if err != nil {
		return nil, err
	}
	encoded := fields.Encode()
	form, err := http.NewRequestWithContext(req.Context(), req.Method, req.URL.String(), strings.NewReader(encoded))
	if err != nil {
		return nil, err
	}
	form.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return t.transport.Do(form)
}

var errFile = errors.New("a call of the library has a file")

// readFields reads the fields of a form.
func readFields(form *multipart.Reader) (url.Values, error) {
	fields := url.Values{}
	for {
		part, err := form.NextRawPart()
		switch {
		case errors.Is(err, io.EOF):
			return fields, nil
		case err != nil:
			return nil, err
		case part.FileName() != "":
			return nil, errFile
		}
		value, err := io.ReadAll(part)
		if err != nil {
			return nil, err
		}
		fields.Set(part.FormName(), string(value))
	}
}
