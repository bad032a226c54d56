package telegramtest_test

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/musttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// With the chats that the tests use.
const (
	person = int64(42)
	group  = int64(-77)
	super  = int64(-1001234567890)
	forum  = int64(-1009876543210)
)

type params map[string]any

// reply is the Bot API's envelope with the HTTP status.
type reply struct {
	OK          bool            `json:"ok"`
	Result      json.RawMessage `json:"result"`
	Code        int             `json:"error_code"`
	Description string          `json:"description"`
	Parameters  struct {
		RetryAfter int   `json:"retry_after"`
		MigrateTo  int64 `json:"migrate_to_chat_id"`
	} `json:"parameters"`
	status int
}

func (r reply) message(t *testing.T) telegramtest.Message {
	t.Helper()
	return decodeJSON[telegramtest.Message](t, r.Result)
}

func decodeJSON[T any](t *testing.T, raw json.RawMessage) (v T) {
	t.Helper()
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("decode %s: %v", raw, err)
	}
	return v
}

// client returns an HTTP client whose connections are closed at the end of the test.
func client(t *testing.T) *http.Client {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 5 * time.Minute}
}

// postBody makes a call and returns the raw response.
func postBody(t *testing.T, s *telegramtest.Server, method, kind string, body io.Reader) (int, []byte, error) {
	t.Helper()
	resp, err := client(t).Post(s.URL+"/bot"+s.Token+"/"+method, kind, body)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	return resp.StatusCode, content, err
}

func decodeReply(t *testing.T, status int, content []byte, err error) reply {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	r := decodeJSON[reply](t, content)
	r.status = status
	return r
}

// callJSON makes a call with JSON.
func callJSON(t *testing.T, s *telegramtest.Server, method string, p params) reply {
	t.Helper()
	body := musttest.Get(json.Marshal(p))(t)
	status, content, err := postBody(t, s, method, "application/json", bytes.NewReader(body))
	return decodeReply(t, status, content, err)
}

// mustCall makes a call that must succeed.
func mustCall(t *testing.T, s *telegramtest.Server, method string, p params) reply {
	t.Helper()
	r := callJSON(t, s, method, p)
	if !r.OK {
		t.Fatalf("%s: %d %s", method, r.Code, r.Description)
	}
	return r
}

// upload is a file in a form.
type upload struct {
	field, name string
	content     []byte
}

// callMultipart makes a call with multipart/form-data.
func callMultipart(t *testing.T, s *telegramtest.Server, method string, p params, files ...upload) reply {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(p)) {
		text, ok := p[name].(string)
		if !ok {
			raw := musttest.Get(json.Marshal(p[name]))(t)
			text = string(raw)
		}
		_ = w.WriteField(name, text)
	}
	for _, f := range files {
		part := musttest.Get(w.CreateFormFile(f.field, f.name))(t)
		_, _ = part.Write(f.content)
	}
	_ = w.Close()
	status, content, err := postBody(t, s, method, w.FormDataContentType(), &b)
	return decodeReply(t, status, content, err)
}

// update has the fields of an update that the tests use.
type update struct {
	ID          int                   `json:"update_id"`
	Message     *telegramtest.Message `json:"message"`
	Edited      *telegramtest.Message `json:"edited_message"`
	ChannelPost *telegramtest.Message `json:"channel_post"`
	Callback    *struct {
		ID      string               `json:"id"`
		From    telegramtest.User    `json:"from"`
		Data    string               `json:"data"`
		Message telegramtest.Message `json:"message"`
	} `json:"callback_query"`
	Member *struct {
		New struct {
			Status string `json:"status"`
		} `json:"new_chat_member"`
	} `json:"my_chat_member"`
}

func getUpdates(t *testing.T, s *telegramtest.Server, p params) []update {
	t.Helper()
	return decodeJSON[[]update](t, mustCall(t, s, "getUpdates", p).Result)
}

// expectError fails the test unless a reply is this error.
func expectError(t *testing.T, r reply, status int, description string) {
	t.Helper()
	if r.OK || r.status != status || r.Code != status || !strings.Contains(r.Description, description) {
		t.Errorf("got %d %q, want %d %q", r.status, r.Description, status, description)
	}
}
