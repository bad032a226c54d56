package telegramtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"unicode/utf8"
)

// readRequest parses a request: the query, and a body of JSON or a form, or of multipart with
// files. The call is never nil.
func (s *Server) readRequest(w http.ResponseWriter, r *http.Request, method string) (*Call, error) {
	c := &Call{Method: method, Params: map[string]string{}}
	for name, values := range r.URL.Query() {
		c.Params[name] = values[0]
	}
	s.Lock()
	most := s.settings.limits.Upload + multipartOverhead
	s.Unlock()
	err := s.readBody(c, r, http.MaxBytesReader(w, r.Body, most))
	_, _ = io.Copy(io.Discard, r.Body) // a client that is still writing would not see the response
	var tooBig *http.MaxBytesError
	var no *apiError
	switch {
	case errors.As(err, &tooBig):
		return c, tooLarge
	case err != nil && !errors.As(err, &no):
		return c, violationError("%v", err)
	}
	return c, err
}

var tooLarge = &apiError{status: http.StatusRequestEntityTooLarge, text: "Request Entity Too Large"}

func (s *Server) readBody(c *Call, r *http.Request, body io.Reader) error {
	kind, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind == "multipart/form-data" {
		return s.readMultipart(c, multipart.NewReader(body, params["boundary"]))
	}
	content, err := io.ReadAll(body)
	switch {
	case err != nil:
		return fmt.Errorf("read body: %w", err)
	case len(content) == 0:
		return nil
	case kind == "application/json":
		return readJSON(c, content)
	case kind == "application/x-www-form-urlencoded":
		values, err := url.ParseQuery(string(content))
		if err != nil {
			return violationError("can't parse form: %v", err)
		}
		for name := range values {
			c.Params[name] = values.Get(name)
		}
		return nil
	}
	return violationError("unsupported content type %q", kind)
}

func readJSON(c *Call, body []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return violationError("can't parse JSON object: %v", err)
	}
	for name, raw := range fields {
		var text string
		switch {
		case string(raw) == "null":
		case json.Unmarshal(raw, &text) == nil:
			c.Params[name] = text
		default:
			c.Params[name] = string(raw)
		}
	}
	return nil
}

// readMultipart reads the fields and files of a form. Two parts with the same name are ambiguous:
// Telegram uses either.
func (s *Server) readMultipart(c *Call, parts *multipart.Reader) error {
	seen := map[string]bool{}
	var total int64
	for {
		p, err := parts.NextRawPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("read multipart: %w", err)
		}
		content, err := io.ReadAll(p)
		if err != nil {
			return fmt.Errorf("read multipart: %w", err)
		}
		name := p.FormName()
		if seen[name] {
			s.Update(func() { s.AddViolation("%s: two parts of the form are named %s", c.Method, name) })
		}
		seen[name] = true
		_, params, _ := mime.ParseMediaType(p.Header.Get("Content-Disposition"))
		if _, isFile := params["filename"]; isFile {
			c.Uploads = append(c.Uploads, Upload{
				Field: name, Name: p.FileName(), MIME: p.Header.Get("Content-Type"), Content: content,
			})
			total += int64(len(content))
		} else {
			c.Params[name] = string(content)
		}
		if !utf8.ValidString(c.Params[name]) {
			return violationError("strings must be encoded in UTF-8")
		}
	}
	s.Lock()
	defer s.Unlock()
	if len(c.Uploads) == 0 && !s.settings.anyMultipart {
		return violationError("multipart/form-data without files")
	}
	if total > s.settings.limits.Upload {
		return tooLarge
	}
	return nil
}
