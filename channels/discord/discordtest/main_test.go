package discordtest_test

import (
	"bytes"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"nanobot/channels/discord/discordtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a server with a guild, a channel and a person, and the bot's side of it.
type rig struct {
	*discordtest.Server
	t       *testing.T
	guild   string
	channel string
	user    string
	client  *http.Client
	token   string
}

func newRig(t *testing.T) *rig {
	s := discordtest.New(t)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	g := s.AddGuild("guild")
	return &rig{
		Server: s, t: t, guild: g.ID, channel: s.AddChannel(g.ID, "general").ID,
		user:   s.AddUser(discordtest.User{Username: "ann"}).ID,
		client: &http.Client{Transport: transport, Timeout: 5 * time.Minute}, token: "Bot " + s.Token,
	}
}

type object = map[string]any

// reply is an answer of REST.
type reply struct {
	status     int
	header     http.Header
	body       []byte
	Code       int             `json:"code"`
	Message    string          `json:"message"`
	ID         string          `json:"id"`
	RetryAfter float64         `json:"retry_after"`
	Global     bool            `json:"global"`
	Errors     json.RawMessage `json:"errors"`
}

func into[T any](t *testing.T, raw []byte) (v T) {
	t.Helper()
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("decode %s: %v", raw, err)
	}
	return v
}

// try makes a request and returns the answer, or the error of the connection.
func (r *rig) try(method, path, kind string, body io.Reader) (reply, error) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.URL+"/api/v10"+path, body)
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Authorization", r.token)
	req.Header.Set("User-Agent", "DiscordBot (https://example.org, 1)")
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	out := reply{status: resp.StatusCode, header: resp.Header, body: content}
	_ = json.Unmarshal(content, &out)
	return out, err
}

// call makes a request with JSON, or without a body.
func (r *rig) call(method, path string, body any) reply {
	r.t.Helper()
	kind, content := "", []byte(nil)
	if body != nil {
		kind = "application/json"
		var err error
		if content, err = json.Marshal(body); err != nil {
			r.t.Fatal(err)
		}
	}
	out, err := r.try(method, path, kind, bytes.NewReader(content))
	if err != nil {
		r.t.Fatalf("%s %s: %v", method, path, err)
	}
	return out
}

// must is call that has to work.
func (r *rig) must(method, path string, body any) reply {
	r.t.Helper()
	out := r.call(method, path, body)
	if out.status >= 300 {
		r.t.Fatalf("%s %s: %d %s", method, path, out.status, out.body)
	}
	return out
}

// send says something in the rig's channel.
func (r *rig) send(body object) reply {
	r.t.Helper()
	return r.call("POST", "/channels/"+r.channel+"/messages", body)
}

// upload is a file in a form.
type upload struct {
	field, name string
	content     []byte
}

func (r *rig) form(method, path string, payload any, files ...upload) reply {
	r.t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	if payload != nil {
		raw, _ := json.Marshal(payload)
		_ = w.WriteField("payload_json", string(raw))
	}
	for _, f := range files {
		part, err := w.CreateFormFile(f.field, f.name)
		if err != nil {
			r.t.Fatal(err)
		}
		_, _ = part.Write(f.content)
	}
	_ = w.Close()
	out, err := r.try(method, path, w.FormDataContentType(), &b)
	if err != nil {
		r.t.Fatalf("%s %s: %v", method, path, err)
	}
	return out
}

// refused fails the test unless an answer is this refusal.
func (r *rig) refused(got reply, status, code int) {
	r.t.Helper()
	if got.status != status || got.Code != code {
		r.t.Errorf("got %d, code %d, want %d, code %d: %s", got.status, got.Code, status, code, got.body)
	}
}

// violated fails the test unless the bot was told off with these words, and forgets it.
func (r *rig) violated(words string) {
	r.t.Helper()
	v := r.TakeViolations()
	if !slices.ContainsFunc(v, func(s string) bool { return strings.Contains(s, words) }) {
		r.t.Errorf("no violation says %q, but %q", words, v)
	}
}

func contents(all []discordtest.Message) (out []string) {
	for _, m := range all {
		out = append(out, m.Content)
	}
	return out
}

func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}
