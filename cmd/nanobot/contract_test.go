package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"nanobot/internal/musttest"
)

type jsonObject = map[string]any

// apiDescription is the OpenAPI description that the daemon serves, and the parts of it that
// occurred.
type apiDescription struct {
	t       *testing.T
	url     string
	doc     jsonObject
	schemas *jsonschema.Compiler
	seen    map[string]bool // operations with their status, events, and fields
}

const described = "https://example.com/openapi.json"

func newAPIDescription(t *testing.T, url string, description io.Reader) *apiDescription {
	t.Helper()
	doc := musttest.Get(jsonschema.UnmarshalJSON(description))(t)
	c := &apiDescription{t: t, url: url, doc: doc.(jsonObject), schemas: jsonschema.NewCompiler(), seen: map[string]bool{}}
	c.schemas.AssertFormat()
	musttest.Do(t, c.schemas.AddResource(described, doc))
	return c
}

// lookUp returns a part of the description, and where it is. References are followed.
func (c *apiDescription) lookUp(path ...string) (v any, pointer string) {
	escape := strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D")
	v = c.doc
	for _, name := range path {
		m, _ := v.(jsonObject)
		v = m[name]
		pointer += "/" + escape.Replace(name)
		m, _ = v.(jsonObject)
		if ref, ok := m["$ref"].(string); ok {
			pointer = strings.TrimPrefix(ref, "#")
			v, _ = c.lookUp(strings.Split(pointer, "/")[1:]...)
		}
	}
	return v, pointer
}

// checkSchema validates a value by a schema, and records which of its fields occurred.
func (c *apiDescription) checkSchema(what, pointer string, text []byte) {
	c.t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text)) // with numbers as it wants them
	if err != nil {
		c.t.Fatalf("%s: %v in %s", what, err, text)
	}
	s, err := c.schemas.Compile(described + "#" + pointer)
	if err != nil {
		c.t.Fatalf("%s: %v", what, err)
	}
	if err := s.Validate(v); err != nil {
		c.t.Errorf("%s is not as described: %v\n%s", what, err, text)
	}
	c.recordFields(s, v)
}

func (c *apiDescription) recordFields(s *jsonschema.Schema, v any) {
	if s == nil {
		return
	}
	c.recordFields(s.Ref, v)
	for _, one := range s.OneOf {
		if one.Validate(v) == nil {
			c.recordFields(one, v)
		}
	}
	switch v := v.(type) {
	case jsonObject:
		for name, value := range v {
			if p := s.Properties[name]; p != nil {
				c.seen[s.Location+" "+name] = true
				c.recordFields(p, value)
			} else if every, ok := s.AdditionalProperties.(*jsonschema.Schema); ok {
				c.recordFields(every, value)
			}
		}
	case []any:
		for _, value := range v {
			c.recordFields(s.Items2020, value)
		}
	}
}

// apiRequest is one of an operation.
type apiRequest struct {
	as             *http.Client // nil: nobody
	method         string
	path, template string // template may be "" when it is the path
	kind, body     string
	header         http.Header
}

// request makes a request and checks the answer by the description.
func (c *apiDescription) request(want int, r apiRequest) (answer []byte) {
	c.t.Helper()
	_, answer = c.requestOneOf([]int{want}, r)
	return answer
}

// requestOneOf is request with several acceptable statuses.
func (c *apiDescription) requestOneOf(want []int, r apiRequest) (status int, answer []byte) {
	c.t.Helper()
	req := musttest.Get(http.NewRequestWithContext(c.t.Context(), r.method, c.url+r.path, strings.NewReader(r.body)))(c.t)
	maps.Copy(req.Header, r.header)
	if r.kind != "" {
		req.Header.Set("Content-Type", r.kind)
	}
	client := r.as
	if client == nil {
		client = http.DefaultClient
	} else if req.Header.Get("Origin") == "" {
		req.Header.Set("Origin", c.url)
	}
	resp := musttest.Get(client.Do(req))(c.t)
	defer resp.Body.Close()
	answer = musttest.Get(io.ReadAll(resp.Body))(c.t)
	template := r.template
	if template == "" {
		template, _, _ = strings.Cut(r.path, "?")
	}
	op := strings.ToLower(r.method)
	what := fmt.Sprintf("%s %s %d", op, template, resp.StatusCode)
	c.seen[what] = true
	if !slices.Contains(want, resp.StatusCode) {
		c.t.Fatalf("%s, want %d: %s", what, want, answer)
	}
	c.checkResponse(what, resp, answer, "paths", template, op, "responses", fmt.Sprint(resp.StatusCode))
	return resp.StatusCode, answer
}

// checkResponse checks an answer by the description.
func (c *apiDescription) checkResponse(what string, resp *http.Response, answer []byte, path ...string) {
	c.t.Helper()
	v, _ := c.lookUp(path...)
	response, ok := v.(jsonObject)
	if !ok {
		c.t.Errorf("%s is not described", what)
		return
	}
	content, _ := response["content"].(jsonObject)
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch _, anything := content["*/*"]; {
	case anything:
	case content == nil && (len(answer) > 0 || kind != ""):
		c.t.Errorf("%s is answered with %s %q, described is nothing", what, kind, answer)
	case content != nil && content[kind] == nil:
		c.t.Errorf("%s is %q, described is %v", what, kind, slices.Collect(maps.Keys(content)))
	case kind == "application/json":
		_, pointer := c.lookUp(append(path, "content", kind, "schema")...)
		c.checkSchema(what, pointer, answer)
	}
	for name := range mapAt(response, "headers") {
		if resp.Header.Get(name) == "" {
			c.t.Errorf("%s has no %s", what, name)
		}
	}
}

func mapAt(m jsonObject, name string) jsonObject {
	v, _ := m[name].(jsonObject)
	return v
}

// checkEvent checks an event by the description.
func (c *apiDescription) checkEvent(name string, data []byte) {
	c.t.Helper()
	c.seen["event "+name] = true
	v, pointer := c.lookUp("paths", "/api/events", "get", "responses", "200", "x-events", name)
	if v == nil {
		c.t.Errorf("the event %s is not described", name)
		return
	}
	c.checkSchema(name, pointer, data)
}

// forEachOperation calls f for every operation that is described.
func (c *apiDescription) forEachOperation(f func(method, template string, op jsonObject)) {
	for path, item := range mapAt(c.doc, "paths") {
		for method, op := range item.(jsonObject) {
			if method != "parameters" {
				f(strings.ToUpper(method), path, op.(jsonObject))
			}
		}
	}
}

// checkCoverage fails if a described part never occurred, except for those that cannot occur here.
func (c *apiDescription) checkCoverage(except ...string) {
	c.t.Helper()
	var want []string
	c.forEachOperation(func(method, path string, op jsonObject) {
		for status := range mapAt(op, "responses") {
			want = append(want, strings.ToLower(method)+" "+path+" "+status)
		}
	})
	events, _ := c.lookUp("paths", "/api/events", "get", "responses", "200", "x-events")
	for name := range events.(jsonObject) {
		want = append(want, "event "+name)
	}
	schemas, _ := c.lookUp("components", "schemas")
	for name, schema := range schemas.(jsonObject) {
		for field := range mapAt(schema.(jsonObject), "properties") {
			want = append(want, described+"#/components/schemas/"+name+" "+field)
		}
	}
	for _, w := range want {
		short := strings.TrimPrefix(w, described+"#/components/schemas/")
		if !c.seen[w] && !slices.ContainsFunc(except, func(e string) bool { return strings.HasPrefix(short, e) || strings.HasSuffix(short, e) }) {
			c.t.Errorf("described and never seen: %s", short)
		}
	}
}

// encodeJSON returns a value as JSON, for the body of a request.
func encodeJSON(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}
