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
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testBot is a server with a guild, a channel and a user, and a bot that calls it.
type testBot struct {
	*discordtest.Server
	t       *testing.T
	guild   string
	channel string
	user    string
	client  *http.Client
	token   string
}

func newTestBot(t *testing.T) *testBot {
	s := discordtest.New(t)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	g := s.AddGuild("guild")
	return &testBot{
		Server: s, t: t, guild: g.ID, channel: s.AddChannel(g.ID, "general").ID,
		user:   s.AddUser(discordtest.User{Username: "ann"}).ID,
		client: &http.Client{Transport: transport, Timeout: 5 * time.Minute}, token: "Bot " + s.Token,
	}
}

type object = map[string]any

// reply is a response of the REST API.
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

func decodeJSON[T any](t *testing.T, raw []byte) (v T) {
	t.Helper()
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("decode %s: %v", raw, err)
	}
	return v
}

// request makes a request and returns the response, or the error of the connection.
func (bot *testBot) request(method, path, kind string, body io.Reader) (reply, error) {
	bot.t.Helper()
	req := musttest.Get(http.NewRequestWithContext(bot.t.Context(), method, bot.URL+"/api/v10"+path, body))(bot.t)
	req.Header.Set("Authorization", bot.token)
	req.Header.Set("User-Agent", "DiscordBot (https://example.org, 1)")
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	resp, err := bot.client.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	out := reply{status: resp.StatusCode, header: resp.Header, body: content}
	_ = json.Unmarshal(content, &out)
	return out, err
}

// callJSON makes a request with JSON, or without a body.
func (bot *testBot) callJSON(method, path string, body any) reply {
	bot.t.Helper()
	kind, content := "", []byte(nil)
	if body != nil {
		kind = "application/json"
		var err error
		if content, err = json.Marshal(body); err != nil {
			bot.t.Fatal(err)
		}
	}
	out, err := bot.request(method, path, kind, bytes.NewReader(content))
	if err != nil {
		bot.t.Fatalf("%s %s: %v", method, path, err)
	}
	return out
}

// mustCall makes a request that must succeed.
func (bot *testBot) mustCall(method, path string, body any) reply {
	bot.t.Helper()
	out := bot.callJSON(method, path, body)
	if out.status >= 300 {
		bot.t.Fatalf("%s %s: %d %s", method, path, out.status, out.body)
	}
	return out
}

// sendMessage sends a message to the test channel.
func (bot *testBot) sendMessage(body object) reply {
	bot.t.Helper()
	return bot.callJSON("POST", "/channels/"+bot.channel+"/messages", body)
}

// upload is a file in a form.
type upload struct {
	field, name string
	content     []byte
}

func (bot *testBot) callMultipart(method, path string, payload any, files ...upload) reply {
	bot.t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	if payload != nil {
		raw, _ := json.Marshal(payload)
		_ = w.WriteField("payload_json", string(raw))
	}
	for _, f := range files {
		part := musttest.Get(w.CreateFormFile(f.field, f.name))(bot.t)
		_, _ = part.Write(f.content)
	}
	_ = w.Close()
	out, err := bot.request(method, path, w.FormDataContentType(), &b)
	if err != nil {
		bot.t.Fatalf("%s %s: %v", method, path, err)
	}
	return out
}

// expectError fails the test unless a reply is this error.
func (bot *testBot) expectError(got reply, status, code int) {
	bot.t.Helper()
	if got.status != status || got.Code != code {
		bot.t.Errorf("got %d, code %d, want %d, code %d: %s", got.status, got.Code, status, code, got.body)
	}
}

// expectViolation fails the test unless there is a violation with these words, and removes it.
func (bot *testBot) expectViolation(words string) {
	bot.t.Helper()
	v := bot.TakeViolations()
	if !slices.ContainsFunc(v, func(s string) bool { return strings.Contains(s, words) }) {
		bot.t.Errorf("no violation says %q, but %q", words, v)
	}
}

func contents(all []discordtest.Message) (out []string) {
	for _, m := range all {
		out = append(out, m.Content)
	}
	return out
}

func expectEqual(t *testing.T, what string, got, want []string) {
	t.Helper()
	wanttest.EqualSlices(t, what+":", got, want)
}
