package discordtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"regexp"
	"strings"
)

// rawField is a field of a body that is not decoded yet.
type rawField = json.RawMessage

// readRequest parses a request: without a body, JSON, or multipart with payload_json and files[n].
func (s *Server) readRequest(c *Call, r *http.Request) error {
	c.auth, c.agent = r.Header.Get("Authorization"), r.Header.Get("User-Agent")
	kind, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	var err error
	switch kind {
	case "multipart/form-data":
		err = c.readMultipart(multipart.NewReader(r.Body, params["boundary"]))
	case "application/json":
		if c.Body, err = io.ReadAll(r.Body); err == nil && len(c.Body) == 0 {
			return invalidJSON
		}
	default:
		if n, _ := io.Copy(io.Discard, r.Body); n > 0 {
			return violationError(http.StatusBadRequest, 50035, "a body of the type %q", kind)
		}
	}
	var apiErr *apiError
	if err != nil && !errors.As(err, &apiErr) {
		return expectedError(http.StatusBadRequest, 50109, "read the body: "+err.Error()) // a cancelled upload is no violation
	}
	if err != nil {
		return err
	}
	if len(c.Body) > 0 && !json.Valid(c.Body) {
		return invalidJSON
	}
	if bytes.HasPrefix(bytes.TrimSpace(c.Body), []byte("{")) {
		return json.Unmarshal(c.Body, &c.fields)
	}
	return nil
}

var invalidJSON = violationError(http.StatusBadRequest, 50109, "The request body contains invalid JSON.")

var fileField = regexp.MustCompile(`^files\[\d+\]$`)

func (c *Call) readMultipart(parts *multipart.Reader) error {
	seen := map[string]bool{}
	for {
		p, err := parts.NextPart()
		if err == io.EOF { //nolint:errorlint // a wrapped one is a form that ends too early
			return nil
		}
		if err != nil {
			return err
		}
		content, err := io.ReadAll(p)
		if err != nil {
			return err
		}
		name := p.FormName()
		switch {
		case seen[name]:
			return violationError(http.StatusBadRequest, 50109, "two parts are named %s", name)
		case name == "payload_json":
			c.Body = content
		case fileField.MatchString(name) && p.FileName() != "":
			c.Files = append(c.Files, Upload{
				Field: name, Name: p.FileName(), Type: p.Header.Get("Content-Type"), Content: content,
			})
		default:
			return violationError(http.StatusBadRequest, 50109, "a part is named %q: neither payload_json nor files[n] with a file name", name)
		}
		seen[name] = true
	}
}

// decodeBody decodes a body. Unknown nested fields are violations, as unknown fields of the body
// itself are; a value of the wrong type is an error.
func decodeBody[T any](s *Server, where string, body []byte) (v T, err error) {
	if len(body) == 0 {
		return v, nil
	}
	strict := json.NewDecoder(bytes.NewReader(body))
	strict.DisallowUnknownFields()
	err = strict.Decode(&v)
	if err != nil && strings.Contains(err.Error(), "unknown field") {
		s.AddViolation("%s: %s", where, strings.TrimPrefix(err.Error(), "json: "))
		var lenient T
		err = json.Unmarshal(body, &lenient)
		v = lenient
	}
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return v, fieldError(wrong.Field, "BASE_TYPE", "a %s is not what belongs there", wrong.Value)
	}
	return v, err
}
