package web_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/channels/channelstest"
	"nanobot/channels/web"
	"nanobot/channels/web/push"
	"nanobot/internal/musttest"
	"nanobot/internal/postgrestest"
)

// The clock of regexp2 ends by itself, some time after the last expression of a highlighter.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(postgrestest.Tests{M: m, Settings: postgrestest.Fast}, goleak.IgnoreAnyFunction("github.com/dlclark/regexp2/v2.runClock"))
}

// eventTimeout is how long a test waits for an event.
const eventTimeout = 5 * time.Minute

type object = map[string]any

// fixture is a channel behind an HTTP server, with a recorder as its gateway.
type fixture struct {
	t         *testing.T
	dir       string
	database  *pgx.ConnConfig // nil: a file
	maxUpload int64
	name      string        // of the bot
	picture   string        // likewise
	push      *push.Options // nil: no notifications
	query     string        // of the streams
	log       *zap.Logger
	ch        *web.Channel
	server    *httptest.Server
	client    *http.Client

	inbox *channelstest.Recorder
	stop  func() // ends Run
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	return newMember(t, t.TempDir(), nil)
}

// newMember returns a fixture that shares its folder, and a database unless it is nil, with others.
func newMember(t *testing.T, dir string, database *pgx.ConnConfig) *fixture {
	t.Helper()
	r := &fixture{t: t, dir: dir, database: database, maxUpload: 1 << 20, log: zap.NewNop(), inbox: channelstest.NewRecorder(), stop: func() {}}
	r.client = &http.Client{Transport: &http.Transport{}}
	r.openChannel()
	t.Cleanup(r.close)
	return r
}

// openChannel opens a channel on the fixture's folders, as after a start. It does not call Run.
func (r *fixture) openChannel() {
	r.t.Helper()
	ch := musttest.Get(web.New(web.Options{
		State: filepath.Join(r.dir, "state", "web"), Server: r.database, MaxUpload: r.maxUpload, Log: r.log, Name: r.name, Picture: r.picture,
		Folder: channelstest.ChatFolders(filepath.Join(r.dir, "users")),
		Requester: func(req *http.Request) (string, bool) {
			user := req.Header.Get("X-User")
			return user, user == "operator"
		},
		Push: r.push, SignIn: func(req *http.Request) string { return strings.TrimSuffix(req.Header.Get("X-User"), "operator") },
	}))(r.t)
	_, h := ch.Mount()
	r.ch, r.server = ch, httptest.NewServer(h)
}

// startGateway calls Run, which passes messages to the recorder.
func (r *fixture) startGateway() { r.stop = channelstest.Start(r.t, r.ch, r.inbox.Receive) }

// awaitIncoming waits until n messages were received, and returns all.
func (r *fixture) awaitIncoming(n int) []channels.Incoming {
	r.t.Helper()
	all, ok := r.inbox.Await(func(all []channels.Incoming) bool { return len(all) >= n })
	if !ok {
		r.t.Fatalf("%d messages were received: %+v", len(all), all)
	}
	return all
}

// close stops and closes everything, as a daemon does.
func (r *fixture) close() {
	r.stop()
	r.ch.CloseStreams()
	r.client.CloseIdleConnections()
	r.server.Close()
	if err := r.ch.Close(); err != nil {
		r.t.Errorf("close: %v", err)
	}
}

// restart opens the channel again, as after a restart of the daemon.
func (r *fixture) restart() {
	r.t.Helper()
	r.close()
	r.stop = func() {}
	r.openChannel()
}

// request makes a request and returns the status and the body.
func (r *fixture) request(user, method, path, kind string, body io.Reader) (int, string, http.Header) {
	r.t.Helper()
	req := musttest.Get(http.NewRequestWithContext(r.t.Context(), method, r.server.URL+path, body))(r.t)
	req.Header.Set("X-User", user)
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	resp := musttest.Get(r.client.Do(req))(r.t)
	defer resp.Body.Close()
	b := musttest.Get(io.ReadAll(resp.Body))(r.t)
	return resp.StatusCode, string(b), resp.Header
}

// getJSON decodes the response to a GET request.
func (r *fixture) getJSON(user, path string, into any) {
	r.t.Helper()
	status, body, _ := r.request(user, "GET", path, "", nil)
	if status != 200 {
		r.t.Fatalf("%s is answered %d %s", path, status, body)
	}
	musttest.Do(r.t, json.Unmarshal([]byte(body), into))
}

// postJSON posts a value as JSON.
func (r *fixture) postJSON(user, path string, v any) (int, object) {
	r.t.Helper()
	b := musttest.Get(json.Marshal(v))(r.t)
	status, body, _ := r.request(user, "POST", path, "application/json", bytes.NewReader(b))
	var answer object
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		r.t.Fatalf("%d %s: %v", status, body, err)
	}
	return status, answer
}

// postText posts a text, which must be accepted.
func (r *fixture) postText(user, chat, text string) object {
	r.t.Helper()
	status, answer := r.postJSON(user, "/api/chats/"+chat+"/messages", object{"text": text})
	if status != 202 {
		r.t.Fatalf("%.60q is answered %d %v", text, status, answer)
	}
	return answer
}

// formFile is a file of a form.
type formFile struct{ name, content string }

// postForm posts a form.
func (r *fixture) postForm(user, chat, text string, files ...formFile) (int, object) {
	r.t.Helper()
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	for _, f := range files {
		part, err := form.CreateFormFile("file", f.name)
		if err == nil {
			_, err = io.WriteString(part, f.content)
		}
		if err != nil {
			r.t.Fatal(err)
		}
	}
	musttest.Do(r.t, errors.Join(form.WriteField("text", text), form.Close()))
	status, body, _ := r.request(user, "POST", "/api/chats/"+chat+"/messages", form.FormDataContentType(), &b)
	var answer object
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		r.t.Fatalf("%d %s: %v", status, body, err)
	}
	return status, answer
}

// sendAsBot sends a message as the gateway does.
func (r *fixture) sendAsBot(m channels.Message, key string) channels.Receipt {
	r.t.Helper()
	plan, err := r.ch.Plan(m)
	if err != nil || len(plan) != 1 {
		r.t.Fatalf("plan: %v, %v", plan, err)
	}
	plan[0].Key = key
	receipt, err := r.ch.Send(r.t.Context(), plan[0])
	if err != nil {
		r.t.Fatalf("send: %v", err)
	}
	return receipt
}

func answerTo(chat, text string) channels.Message {
	return channels.Message{Chat: channels.Chat{Channel: web.Name, ID: chat}, Kind: channels.Answer, Text: text}
}

// event is one server-sent event.
type event struct {
	name, id string
	data     object
}

// stream is a client of the event stream.
type stream struct {
	t      *testing.T
	cancel context.CancelFunc
	events chan event
	all    []event
}

// openStream opens a stream. from is the ID of the last event seen, or "".
func (r *fixture) openStream(user, from string) *stream {
	r.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	req := musttest.Get(http.NewRequestWithContext(ctx, http.MethodGet, r.server.URL+"/api/events"+r.query, nil))(r.t)
	req.Header.Set("X-User", user)
	if from != "" {
		req.Header.Set("Last-Event-ID", from)
	}
	resp, err := r.client.Do(req)
	if err != nil || resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" {
		r.t.Fatalf("no stream: %v, %v", resp, err)
	}
	s := &stream{t: r.t, cancel: cancel, events: make(chan event, 100_000)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer resp.Body.Close()
		s.read(resp.Body)
	}()
	r.t.Cleanup(func() { cancel(); <-done })
	return s
}

func (s *stream) read(body io.Reader) {
	defer close(s.events)
	var e event
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ": ")
		switch field {
		case "event":
			e.name = value
		case "id":
			e.id = value
		case "data":
			_ = json.Unmarshal([]byte(value), &e.data)
		}
		if lines.Text() == "" && e.name != "" {
			s.events <- e
			e = event{}
		}
	}
}

// next returns the next event with a name and skips others.
func (s *stream) next(name string) event {
	s.t.Helper()
	timeout := time.After(eventTimeout)
	for {
		select {
		case e, ok := <-s.events:
			if !ok {
				s.t.Fatalf("the stream ended before %s came, after %+v", name, s.all)
			}
			s.all = append(s.all, e)
			if e.name == name {
				return e
			}
		case <-timeout:
			s.t.Fatalf("no %s came, but %+v", name, s.all)
		}
	}
}

// readToEnd returns the events until the stream ends.
func (s *stream) readToEnd() (all []event) {
	s.t.Helper()
	timeout := time.After(eventTimeout)
	for {
		select {
		case e, ok := <-s.events:
			if !ok {
				return all
			}
			all = append(all, e)
		case <-timeout:
			s.t.Fatal("the stream does not end")
		}
	}
}

// filesIn lists the names in a folder of the fixture.
func (r *fixture) filesIn(folder string) (names []string) {
	entries, err := os.ReadDir(filepath.Join(r.dir, folder))
	if err != nil && !os.IsNotExist(err) {
		r.t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// awaitFiles waits until a folder of the fixture has just these files.
func (r *fixture) awaitFiles(folder string, want []string) {
	r.t.Helper()
	for end := time.Now().Add(eventTimeout); !slices.Equal(r.filesIn(folder), want); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatalf("%s has %q, want %q", folder, r.filesIn(folder), want)
		}
	}
}
