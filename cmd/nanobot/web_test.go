package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap"

	"nanobot/config"
	"nanobot/gateway/store/sqlite/sqlitetest"
	"nanobot/internal/httpd"
	"nanobot/internal/musttest"
)

// webBot is the real daemon with the chat page.
type webBot struct {
	*program
	t      *testing.T
	listen string
	cfg    string
}

const webToken = "0123456789-the-token-of-scripts"

// webAgent does what it is told.
const webAgent = `read -r line; text=${line#*'"text":"'}; text=${text%%'"'*}
	say() { echo "{\"type\":\"$1\",\"text\":\"$2\"}"; }
	case $text in
	slow) say progress working; touch up; while [ ! -e go ]; do sleep 0.01; done; say message done;;
	ask) echo '{"type":"ask","id":"q1","text":"Which one?","options":["Red","Blue"]}'
		read -r answer; answer=${answer#*'"text":"'}; say message "you chose ${answer%%'"'*}";;
	offer) echo '{"type":"delta","text":"Shall I"}'; echo '{"type":"message","text":"Shall I?","buttons":["Yes","No"]}';;
	steal) echo "{\"type\":\"message\",\"text\":\"take\",\"media\":[\"$PWD/.nanobot/nanobot.db\",\"$PWD/.nanobot/web/history.db\"]}"; say message "env: $(env | tr '\n"' '  ')";;
	"") say message "files: $(ls users/web-a-known-to-nobody-else | sed 's/^[^-]*-//' | tr '\n' ' ')";;
	*) say message "re **$text**";;
	esac
`

func newWebBot(t *testing.T) *webBot {
	t.Helper()
	return newWebBotWith(t, `"command": "sh agent.sh", "protocol": "rich", "interactive": true`)
}

// newWebBotWith is newWebBot with other settings of the agent.
func newWebBotWith(t *testing.T, terminal string) *webBot {
	t.Helper()
	dir := t.TempDir()
	sqlitetest.Prepare(t, filepath.Join(dir, ".nanobot"))
	b := &webBot{t: t, listen: freeAddress(t), cfg: filepath.Join(dir, "config.json")}
	for name, content := range map[string]string{
		"agent.sh": webAgent, "token": webToken,
		"config.json": `{
			"terminal": {` + terminal + `},
			"channels": {"web": {"enabled": true, "maxUpload": 1}},
			"http": {"listen": "` + b.listen + `", "hosts": ["bot.example.com"], "token": "file:token"},
			"gateway": {"onCrash": "retry", "queueLimit": 0},
		}`,
	} {
		musttest.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	b.start()
	return b
}

func (b *webBot) start() {
	b.t.Helper()
	b.program = startProgram(b.t, "serve", "--config", b.cfg)
	b.awaitLog("ready")
}

func (b *webBot) kill() {
	b.t.Helper()
	b.signal(syscall.SIGKILL)
	b.awaitExit()
}

// link makes a link beside the daemon.
func (b *webBot) link(args ...string) string {
	b.t.Helper()
	out, err := programCommand(b.t, append([]string{"link", "--config", b.cfg}, args...)...).Output()
	if err != nil {
		b.t.Fatalf("link: %s, %v", out, err)
	}
	// The name is that of what stands in front, which is not there.
	link := strings.TrimSpace(string(out))
	if !strings.HasPrefix(link, "https://bot.example.com/in/") {
		b.t.Fatalf("the link is %q", link)
	}
	return "http://" + b.listen + strings.TrimPrefix(link, "https://bot.example.com")
}

// browser is the signed-in browser of a person.
type browser struct {
	b *webBot
	http.Client
}

// signIn makes a link and returns a browser that has signed in with it.
func (b *webBot) signIn(args ...string) *browser {
	b.t.Helper()
	jar := musttest.Get(cookiejar.New(nil))(b.t)
	p := &browser{b, http.Client{Jar: jar, Transport: &http.Transport{}}}
	b.t.Cleanup(p.CloseIdleConnections)
	status, body := p.request("POST", strings.TrimPrefix(b.link(args...), "http://"+b.listen), "", nil)
	if status != http.StatusOK || !strings.Contains(body, "<html") {
		b.t.Fatalf("the link leads to %d %.200s", status, body)
	}
	return p
}

// tryRequest makes a request from our own page.
func (p *browser) tryRequest(method, path, kind string, body io.Reader) (int, string, error) {
	req, err := http.NewRequestWithContext(p.b.t.Context(), method, "http://"+p.b.listen+path, body)
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Origin", "http://"+p.b.listen)
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	resp, err := p.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

func (p *browser) request(method, path, kind string, body io.Reader) (int, string) {
	p.b.t.Helper()
	status, answer, err := p.tryRequest(method, path, kind, body)
	if err != nil {
		p.b.t.Fatal(err)
	}
	return status, answer
}

func (p *browser) sendMessage(chat, text string) {
	p.b.t.Helper()
	body, _ := json.Marshal(map[string]string{"text": text})
	if status, answer := p.request("POST", "/api/chats/"+chat+"/messages", "application/json", bytes.NewReader(body)); status != http.StatusAccepted {
		p.b.t.Fatalf("%q is answered %d %s", text, status, answer)
	}
}

// webEvent is an event of the stream.
type webEvent struct {
	name, id string
	data     struct {
		ID, Chat, From, Kind, Text, HTML string
		Media                            []struct{ Name string }
		Buttons                          []struct{ Label, Data string }
	}
}

// followEvents follows the stream until ctx ends, coming back by itself as browsers do, and hands
// on each event.
func (p *browser) followEvents(ctx context.Context, do func(webEvent)) {
	for last := ""; ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
		req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.b.listen+"/api/events", nil)
		if last != "" {
			req.Header.Set("Last-Event-ID", last)
		}
		resp, err := p.Do(req)
		if err != nil {
			continue
		}
		var e webEvent
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			switch field, value, _ := strings.Cut(lines.Text(), ": "); field {
			case "event":
				e.name = value
			case "id":
				e.id = value
				last = value
			case "data":
				_ = json.Unmarshal([]byte(value), &e.data)
				do(e)
				e = webEvent{}
			}
		}
		resp.Body.Close()
	}
}

// openEventStream follows the events of an open page; next waits for an event with a name.
func (p *browser) openEventStream() (next func(name string) webEvent) {
	p.b.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	events := make(chan webEvent, 10_000)
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.followEvents(ctx, func(e webEvent) { events <- e })
	}()
	p.b.t.Cleanup(func() { cancel(); <-done })
	next = func(name string) webEvent {
		p.b.t.Helper()
		for timeout := time.After(waitTimeout); ; {
			select {
			case e := <-events:
				if e.name == name && (name != "message" || e.data.From == "bot") {
					return e
				}
			case <-timeout:
				p.b.t.Fatalf("no %s came; the log says\n%s", name, p.b.log())
			}
		}
	}
	next("ready")
	return next
}

func TestTheWebChatTalks(t *testing.T) {
	t.Parallel()
	b := newWebBot(t)
	ann := b.signIn("--user", "ann")
	next := ann.openEventStream()
	answer := func() (e webEvent) { // also to what came before the last turn had ended
		for e = next("message"); strings.HasPrefix(e.data.Text, queuedNotice); e = next("message") {
		}
		return e
	}
	ann.sendMessage("web-a-known-to-nobody-else", "hello")
	if e := answer(); e.data.HTML != "<p>re <strong>hello</strong></p>" || e.data.Chat != "web-a-known-to-nobody-else" {
		t.Errorf("shown was %+v", e)
	}
	// Progress and Stop.
	ann.sendMessage("web-a-known-to-nobody-else", "slow")
	p := next("progress")
	if !strings.Contains(p.data.Text, "working") || len(p.data.Buttons) != 1 {
		t.Errorf("shown was %+v", p)
	}
	ann.pressButton("web-a-known-to-nobody-else", p.data.ID, p.data.Buttons[0].Data)
	if e := answer(); !strings.Contains(e.data.Text, "Stopped") {
		t.Errorf("after Stop came %+v", e)
	}
	// A question.
	ann.sendMessage("web-a-known-to-nobody-else", "ask")
	q := answer()
	if len(q.data.Buttons) != 2 || q.data.Buttons[1].Label != "Blue" {
		t.Fatalf("the question is %+v", q)
	}
	ann.pressButton("web-a-known-to-nobody-else", q.data.ID, q.data.Buttons[1].Data)
	if e := answer(); e.data.Text != "you chose Blue" {
		t.Errorf("the answer is %+v", e)
	}
	// Buttons of the agent: a press is the next message.
	ann.sendMessage("web-a-known-to-nobody-else", "offer")
	q = answer()
	if q.data.Text != "Shall I?" || len(q.data.Buttons) != 2 || q.data.Buttons[0].Label != "Yes" {
		t.Fatalf("the offer is %+v", q)
	}
	ann.pressButton("web-a-known-to-nobody-else", q.data.ID, q.data.Buttons[0].Data)
	if e := answer(); e.data.Text != "re **Yes**" {
		t.Errorf("the answer is %+v", e)
	}
	// Files.
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	part, _ := w.CreateFormFile("file", "photo.png")
	fmt.Fprint(part, "x")
	w.Close()
	if status, answer := ann.request("POST", "/api/chats/web-a-known-to-nobody-else/messages", w.FormDataContentType(), &form); status != http.StatusAccepted {
		t.Errorf("a file is answered %d %s", status, answer)
	}
	if e := answer(); e.data.Text != "files: photo.png " {
		t.Errorf("the agent sees %+v", e)
	}
}

func (p *browser) pressButton(chat, message, data string) {
	p.b.t.Helper()
	body, _ := json.Marshal(map[string]string{"message": message, "data": data})
	if status, answer := p.request("POST", "/api/chats/"+chat+"/press", "application/json", bytes.NewReader(body)); status != http.StatusAccepted {
		p.b.t.Fatalf("the press is answered %d %s", status, answer)
	}
}

func TestTheWebChatNeedsASignIn(t *testing.T) {
	t.Parallel()
	b := newWebBot(t)
	ann := b.signIn()
	stranger := &browser{b, http.Client{Transport: &http.Transport{}}}
	t.Cleanup(stranger.CloseIdleConnections)
	for _, path := range []string{"/", "/api/chats", "/api/events", "/api/media/x", "/api/openapi.json", "/main.js"} {
		if status, _ := stranger.request("GET", path, "", nil); status != http.StatusUnauthorized {
			t.Errorf("a stranger who asks for %s is answered %d", path, status)
		}
	}
	const chat = "/api/chats/web-a-known-to-nobody-else"
	signedOut := b.signIn("--user", "bob")
	signedOut.sendMessage("web-a-known-to-nobody-else", "hello")
	if status, _ := signedOut.request("POST", "/out", "", nil); status != http.StatusNoContent {
		t.Fatalf("signing out is answered %d", status)
	}
	for _, p := range []*browser{stranger, signedOut} {
		for _, call := range []string{"GET /menu", "GET /export", "PATCH /messages/x", "PATCH", "DELETE"} {
			method, path, _ := strings.Cut(call, " ")
			if status, _ := p.request(method, chat+path, isJSON, strings.NewReader(`{"text": "x"}`)); status != http.StatusUnauthorized {
				t.Errorf("%s of somebody who is signed out is answered %d", call, status)
			}
		}
	}
	if status, body := stranger.request("GET", "/healthz", "", nil); status != http.StatusOK || body != "ok\n" {
		t.Errorf("/healthz is answered %d %q", status, body)
	}
	for _, c := range []struct {
		name, host, origin, token string
		want                      int
	}{
		{"our page", "", "http://" + b.listen, "", 202},
		{"our page under its name", "bot.example.com", "https://bot.example.com", "", 401}, // for which the browser has no cookie
		{"another name", "evil.example", "http://evil.example", "", 421},
		{"another page", "", "https://evil.example", "", 403},
		{"no page", "", "", "", 403},
		{"a script", "", "", webToken, 202},
		{"a script under another name", "evil.example", "", webToken, 421},
		{"a wrong script", "", "", "x" + webToken, 401},
	} {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+b.listen+"/api/chats", nil)
		req.Host = c.host
		if c.origin != "" {
			req.Header.Set("Origin", c.origin)
		}
		if c.token != "" {
			req.Header.Set("Authorization", "Bearer "+c.token)
		}
		resp := musttest.Get(ann.Do(req))(t)
		resp.Body.Close()
		if got := resp.StatusCode; got != c.want && (c.want != 202 || got != http.StatusCreated) {
			t.Errorf("%s: answered %d", c.name, got)
		}
	}
	if log := b.log(); strings.Contains(log, webToken) || strings.Contains(log, "/in/") {
		t.Errorf("the log has a secret:\n%s", log)
	}
}

func TestAgentsGetNeitherTheKeyNorTheTokenNorOthersChats(t *testing.T) {
	t.Parallel()
	b := newWebBot(t)
	ann := b.signIn()
	next := ann.openEventStream()
	ann.sendMessage("web-a-known-to-nobody-else", "steal")
	e := next("message")
	if len(e.data.Media) > 0 || strings.Count(e.data.Text, "was not sent") != 2 {
		t.Errorf("it got %+v", e)
	}
	if e := next("message"); !strings.Contains(e.data.Text, "env: ") || strings.Contains(e.data.Text, webToken) {
		t.Errorf("it sees %s", e.data.Text)
	}
}

func TestOutputDuringTheShutdownReachesTheWebChat(t *testing.T) {
	t.Parallel()
	b := newWebBot(t)
	ann := b.signIn()
	next := ann.openEventStream()
	ann.sendMessage("web-a-known-to-nobody-else", "slow")
	next("progress")
	dir := filepath.Dir(b.cfg)
	for deadline := time.Now().Add(waitTimeout); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(dir, "up")); err == nil || time.Now().After(deadline) {
			break
		}
	}
	b.signal(syscall.SIGTERM)
	b.awaitLog("stopping")
	ann.sendMessage("web-b-known-to-nobody-else", "said while it ends")
	musttest.Do(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o600))
	if e := next("message"); e.data.Text != "done" {
		t.Errorf("shown was %+v", e)
	}
	if got := b.awaitExit(); got != 0 {
		t.Errorf("status %d:\n%s", got, b.log())
	}
	if log := b.log(); strings.Contains(log, "requests cut off") {
		t.Errorf("it waited for those who watch:\n%s", log)
	}
	b.start()
	if e := next("message"); e.data.Text != "re **said while it ends**" {
		t.Errorf("after the restart came %+v", e)
	}
}

func TestALinkWithoutTheWebChatIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for cfg, want := range map[string]string{
		`{}`: "channels.web.enabled is not true",
		`{"channels": {"web": {"enabled": true}}, "http": {"listen": "127.0.0.1:0"}}`: "with port 0",
	} {
		path := filepath.Join(dir, "config.json")
		musttest.Do(t, os.WriteFile(path, []byte(cfg), 0o600))
		cmd := exec.Command(os.Args[0], "link", "--config", path)
		cmd.Env = append(os.Environ(), "NANOBOT_TEST_MAIN=1")
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %s, %v", cfg, out, err)
		}
	}
}

func TestHandlersForOperatorsRefuseOthers(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	cfg := &config.Config{HTTP: config.HTTP{Listen: "127.0.0.1:0", Token: webToken}, Gateway: config.Gateway{StateDir: state}}
	db := musttest.Get(openStore(t.Context(), cfg, false))(t)
	defer db.Close()
	s := musttest.Get(openSite(t.Context(), siteOptions{cfg: cfg, records: db, log: zap.NewNop()}))(t)
	s.handleForOperators("GET /api/turns", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "turns") }))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.run(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	links := httpd.Grants{Records: db}
	url := "http://" + s.server.Addr().String()
	for role, want := range map[httpd.Role]int{httpd.Chat: 403, httpd.Operator: 200, "": 401, "script": 200} {
		b := &webBot{t: t, listen: s.server.Addr().String()}
		jar, _ := cookiejar.New(nil)
		p := &browser{b, http.Client{Jar: jar, Transport: &http.Transport{}}}
		defer p.CloseIdleConnections()
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/api/turns", nil)
		if role.Valid() {
			code := musttest.Get(links.Make(t.Context(), "", role))(t)
			p.request("POST", httpd.EnterPath+code, "", nil)
		} else if role != "" {
			req.Header.Set("Authorization", "Bearer "+webToken)
		}
		resp := musttest.Get(p.Do(req))(t)
		resp.Body.Close()
		if got := resp.StatusCode; got != want {
			t.Errorf("%q is answered %d", role, got)
		}
	}
}

func TestTheDaemonsPagesAreInThePersonsLanguageAndWords(t *testing.T) {
	b := newWebBot(t)
	person := b.signIn()
	get := func(c *http.Client, accept string) string {
		t.Helper()
		req := musttest.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+b.listen+"/", nil))(t)
		req.Header.Set("Accept", accept)
		req.Header.Set("Accept-Language", "de")
		resp := musttest.Get(c.Do(req))(t)
		defer resp.Body.Close()
		body := musttest.Get(io.ReadAll(resp.Body))(t)
		return string(body)
	}
	expect := func(signOut, signedOut string) {
		t.Helper()
		if page := get(&person.Client, "text/html"); !strings.Contains(page, ">"+signOut+"<") {
			t.Errorf("no %q on the page: %s", signOut, page)
		}
		if page := get(&http.Client{}, "text/html"); !strings.Contains(page, "<h1>"+signedOut+"</h1>") {
			t.Errorf("no %q on the page for strangers: %s", signedOut, page)
		}
	}
	expect("Abmelden", "Du bist abgemeldet")
	cfg := musttest.Get(os.ReadFile(b.cfg))(t)
	own := strings.Replace(string(cfg), `"gateway": {`, `"gateway": {"language": "en", "words": {"pageSignOut": "Leave"}, `, 1)
	musttest.Do(t, os.WriteFile(b.cfg, []byte(own), 0o600))
	b.signal(syscall.SIGHUP)
	b.awaitLog("reloaded")
	expect("Leave", "You are signed out")
}
