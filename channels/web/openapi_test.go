package web_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"nanobot/channels"
)

// contract is the description of the API, and what was seen of it.
type contract struct {
	t       *testing.T
	r       *rig
	doc     obj
	schemas *jsonschema.Compiler
	seen    map[string]bool // operations with their status, and fields
}

const described = "https://example.com/openapi.json"

func newContract(t *testing.T, r *rig) *contract {
	t.Helper()
	b, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	c := &contract{t: t, r: r, doc: doc.(obj), schemas: jsonschema.NewCompiler(), seen: map[string]bool{}}
	c.schemas.AssertFormat()
	if err := c.schemas.AddResource(described, doc); err != nil {
		t.Fatal(err)
	}
	return c
}

// at returns a part of the document.
func at(v any, path ...string) any {
	for _, name := range path {
		m, _ := v.(obj)
		v = m[name]
	}
	return v
}

// check holds a value against a schema, and notes which of its fields were there.
func (c *contract) check(what, pointer string, v any) {
	c.t.Helper()
	s, err := c.schemas.Compile(described + "#" + pointer)
	if err != nil {
		c.t.Fatalf("%s: %v", what, err)
	}
	if err := s.Validate(v); err != nil {
		c.t.Errorf("%s is not as described: %v\n%v", what, err, v)
	}
	c.note(s, v)
}

func (c *contract) note(s *jsonschema.Schema, v any) {
	if s.Ref != nil {
		s = s.Ref
	}
	switch v := v.(type) {
	case obj:
		for name, value := range v {
			if p := s.Properties[name]; p != nil {
				c.seen[s.Location+" "+name] = true
				c.note(p, value)
			}
		}
	case []any:
		if items, ok := s.Items2020, s.Items2020 != nil; ok {
			for _, value := range v {
				c.note(items, value)
			}
		}
	}
}

// ask makes a request of an operation and holds the answer against what is described.
func (c *contract) ask(want int, user, method, template, path, kind, body string) obj {
	c.t.Helper()
	status, answer, h := c.r.ask(user, method, path, kind, strings.NewReader(body))
	op := strings.ToLower(method)
	what := fmt.Sprintf("%s %s %d", op, template, status)
	c.seen[what] = true
	response, _ := at(c.doc, "paths", template, op, "responses", fmt.Sprint(status)).(obj)
	switch {
	case status != want:
		c.t.Errorf("%s, want %d: %s", what, want, answer)
	case response == nil:
		c.t.Errorf("%s is not described", what)
	}
	content, _ := response["content"].(obj)
	if _, any := content["*/*"]; any {
		return nil
	}
	if got := h.Get("Content-Type"); content[got] == nil {
		c.t.Errorf("%s is %s, described is %v", what, got, content)
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(answer))
	if err != nil {
		c.t.Fatalf("%s: %v", what, err)
	}
	escape := strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D")
	c.check(what, fmt.Sprintf("/paths/%s/%s/responses/%d/content/application~1json/schema", escape.Replace(template), op, status), v)
	m, _ := v.(obj)
	return m
}

func TestTheAPIIsAsDescribed(t *testing.T) {
	r := newRig(t)
	c := newContract(t, r)
	var ops []string
	for path, item := range c.doc["paths"].(obj) {
		for method := range item.(obj) {
			if method != "parameters" {
				ops = append(ops, strings.ToUpper(method)+" "+path)
			}
		}
	}
	slices.Sort(ops)
	served := slices.DeleteFunc(r.ch.Routes(), func(p string) bool { return p == "GET /" || p == "GET /api/" })
	if !slices.Equal(ops, served) {
		t.Errorf("described are %q, served are %q", ops, served)
	}
	tab := r.watch("operator", "")
	c.talk()
	c.listen(tab)
	c.complete()
}

// talk has every operation answer in every way that is described.
func (c *contract) talk() {
	const chats, chat, press, media, events = "/api/chats", "/api/chats/{id}/messages", "/api/chats/{id}/press", "/api/media/{id}", "/api/events"
	const here, json, form = "/api/chats/web-a/messages", "application/json", "multipart/form-data; boundary=x"
	file := func(content string) string {
		return "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.png\"\r\n\r\n" + content + "\r\n--x--\r\n"
	}
	c.ask(201, "ann", "POST", chats, chats, json, "{}")
	c.ask(202, "ann", "POST", chat, here, json, `{"text": "hello", "client_id": "c1"}`)
	c.ask(202, "ann", "POST", chat, here, form, file(aPicture(c.t)))
	c.ask(400, "ann", "POST", chat, here, json, `{}`)
	c.ask(404, "bob", "POST", chat, here, json, `{"text": "x"}`)
	c.ask(413, "ann", "POST", chat, here, form, file(strings.Repeat("x", int(c.r.max)+1)))
	c.ask(415, "ann", "POST", chat, here, "text/plain", "x")
	for range 98 {
		c.r.say("ann", "web-a", "x")
	}
	c.ask(429, "ann", "POST", chat, here, json, `{"text": "x"}`)
	m := answerTo("web-a", "**Which?**")
	m.Buttons = []channels.Button{{Label: "A", Data: "a"}}
	id := c.r.bot(m, "").ID
	body := fmt.Sprintf(`{"message": %q, "data": "a"}`, id)
	c.ask(404, "ann", "POST", press, "/api/chats/web-a/press", json, `{"message": "x", "data": "a"}`)
	c.ask(400, "ann", "POST", press, "/api/chats/web-a/press", json, `{`)
	c.ask(202, "ann", "POST", press, "/api/chats/web-a/press", json, body)
	c.ask(409, "ann", "POST", press, "/api/chats/web-a/press", json, body)
	c.ask(200, "ann", "GET", chats, chats, "", "")
	all := c.ask(200, "ann", "GET", chat, here+"?limit=200", "", "")
	c.ask(400, "ann", "GET", chat, here+"?limit=x", "", "")
	c.ask(404, "bob", "GET", chat, here, "", "")
	picture := at(all["messages"].([]any)[1], "media").([]any)[0].(obj)["id"].(string)
	c.ask(200, "ann", "GET", media, "/api/media/"+picture, "", "")
	c.ask(404, "bob", "GET", media, "/api/media/"+picture, "", "")
	c.seen["get "+media+" 206"] = true // TestAPartOfAFileIsServed
	c.seen["get "+events+" 200"] = true
	c.ask(400, "ann", "GET", events, "/api/events?after=x", "", "")
	c.ask(200, "ann", "GET", "/api/openapi.json", "/api/openapi.json", "", "")
}

// listen holds what a stream tells against what is described.
func (c *contract) listen(tab *stream) {
	id := c.r.bot(progressIn("web-a", "working"), "").ID
	to := answerTo("web-a", "").Chat
	if err := c.r.ch.Typing(c.t.Context(), to); err != nil {
		c.t.Fatal(err)
	}
	if err := c.r.ch.Remove(c.t.Context(), to, id); err != nil {
		c.t.Fatal(err)
	}
	tab.next("gone")
	kinds := at(c.doc, "paths", "/api/events", "get", "responses", "200", "x-events").(obj)
	told := map[string]bool{}
	for _, e := range tab.all {
		told[e.name] = true
		ref, _ := at(kinds, e.name, "$ref").(string)
		if ref == "" {
			c.t.Errorf("the event %s is not described", e.name)
			continue
		}
		b, _ := json.Marshal(e.data)
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(b)) // with numbers as it wants them
		if err != nil {
			c.t.Fatal(err)
		}
		c.check(e.name, strings.TrimPrefix(ref, "#"), v)
	}
	for name := range kinds {
		if !told[name] {
			c.t.Errorf("the event %s was never told", name)
		}
	}
}

// complete says what is described and was never seen.
func (c *contract) complete() {
	for path, item := range c.doc["paths"].(obj) {
		for method, op := range item.(obj) {
			responses, _ := at(op, "responses").(obj)
			for status := range responses {
				// Who is let in is not for the channel to say; 503 is for when it is closed, or the disk full.
				if what := method + " " + path + " " + status; status != "401" && status != "503" && !c.seen[what] {
					c.t.Errorf("never seen: %s", what)
				}
			}
		}
	}
	for name, schema := range at(c.doc, "components", "schemas").(obj) {
		if name == "Said" || name == "Press" { // which are asked, not answered
			continue
		}
		for field := range maps.Keys(at(schema, "properties").(obj)) {
			if !c.seen[described+"#/components/schemas/"+name+" "+field] {
				c.t.Errorf("never answered: %s of %s", field, name)
			}
		}
	}
}
