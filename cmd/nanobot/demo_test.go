package main

import (
	"encoding/json"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"nanobot/cmd/nanobot/exit"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// startDemo runs the demo and returns it with the link that it prints.
func startDemo(t *testing.T, args ...string) (b *webBot, link string) {
	t.Helper()
	return startDemoWith(t, nil, args...)
}

// startDemoWith is startDemo with more in the environment.
func startDemoWith(t *testing.T, env []string, args ...string) (b *webBot, link string) {
	t.Helper()
	self := filepath.Join(t.TempDir(), "nanobot") // which is also its agent
	linkProgram(t, self)
	env = append([]string{"XDG_CACHE_HOME=" + t.TempDir()}, env...)
	b = &webBot{program: startBinary(t, self, env, append([]string{"demo"}, args...)...), t: t}
	return b, b.readLink()
}

// readLink waits for the next link that the program prints.
func (b *webBot) readLink() (link string) {
	b.t.Helper()
	for !strings.Contains(link, "http://") {
		link = strings.TrimSpace(b.readLine())
	}
	base, _, _ := strings.Cut(link, "/in/")
	b.listen = strings.TrimPrefix(base, "http://")
	return link
}

// openLink returns a browser that has signed in with a link.
func (b *webBot) openLink(link string) *browser {
	b.t.Helper()
	jar := musttest.Get(cookiejar.New(nil))(b.t)
	p := &browser{b, http.Client{Jar: jar, Transport: &http.Transport{}}}
	b.t.Cleanup(p.CloseIdleConnections)
	if status, body := p.request("POST", strings.TrimPrefix(link, "http://"+b.listen), "", nil); status != http.StatusOK || !strings.Contains(body, "<html") {
		b.t.Fatalf("the link leads to %d %.200s", status, body)
	}
	return p
}

// newChat makes one.
func (p *browser) newChat() string {
	p.b.t.Helper()
	var chat struct{ ID string }
	_, body := p.request("POST", "/api/chats", "application/json", strings.NewReader("{}"))
	if err := json.Unmarshal([]byte(body), &chat); err != nil || chat.ID == "" {
		p.b.t.Fatal(err, body)
	}
	return chat.ID
}

// awaitAnswer waits until a chat's newest message from the bot has a text, and returns its files.
func (p *browser) awaitAnswer(chat, text string) []demoFile {
	p.b.t.Helper()
	for deadline := time.Now().Add(waitTimeout); ; time.Sleep(20 * time.Millisecond) {
		var all struct {
			Messages []struct {
				From, Text string
				Media      []demoFile
			}
		}
		_, body := p.request("GET", "/api/chats/"+chat+"/messages", "", nil)
		if err := json.Unmarshal([]byte(body), &all); err != nil {
			p.b.t.Fatal(err, body)
		}
		if n := len(all.Messages); n > 0 && all.Messages[n-1].From == "bot" && strings.Contains(all.Messages[n-1].Text, text) {
			return all.Messages[n-1].Media
		}
		if time.Now().After(deadline) {
			p.b.t.Fatalf("never answered %q: %s", text, body)
		}
	}
}

type demoFile struct{ ID, Name, Type string }

func TestDemoShowsItsAgentsInABrowser(t *testing.T) {
	t.Parallel()
	b, link := startDemo(t, "--no-browser")
	person := b.openLink(link)
	person.awaitAnswer("web-demo", "Write one of these words:") // without a message of the person
	chat := person.newChat()
	next := person.openEventStream()
	answer := func() (e webEvent) { // also to what came before the last turn had ended
		for e = next("message"); strings.HasPrefix(e.data.Text, "Queued"); e = next("message") {
		}
		return e
	}

	person.sendMessage(chat, "hello")
	if e := next("progress"); !strings.Contains(e.data.Text, "Thinking") {
		t.Errorf("before the echo came %+v", e)
	}
	if e := answer(); e.data.Text != "You said: hello" {
		t.Errorf("the echo is %+v", e)
	}
	if e := answer(); !strings.Contains(e.data.Text, "Try: album, slow, ask, stream, buttons, markdown, fail, or help") {
		t.Errorf("then came %+v", e)
	}
	person.sendMessage(chat, "/album")
	next("progress")
	pictures := person.awaitAnswer(chat, "Three pictures")
	if len(pictures) != 3 {
		t.Fatalf("the album is %+v", pictures)
	}
	for _, f := range pictures {
		if status, body := person.request("GET", "/api/media/"+f.ID, "", nil); status != http.StatusOK || !strings.HasPrefix(body, "\x89PNG") {
			t.Errorf("%s is answered %d %.20q", f.Name, status, body)
		}
	}
	answer()
	person.sendMessage(chat, "slow")
	p := next("progress")
	for !strings.Contains(p.data.Text, "Working") { // the album's, whose button would drop what waits behind it
		p = next("progress")
	}
	person.pressButton(chat, p.data.ID, p.data.Buttons[0].Data)
	if e := answer(); !strings.Contains(e.data.Text, "Stopped") {
		t.Errorf("after Stop came %+v", e)
	}
	person.sendMessage(chat, "ask")
	q := answer()
	if len(q.data.Buttons) != 3 {
		t.Fatalf("the question is %+v", q)
	}
	person.pressButton(chat, q.data.ID, q.data.Buttons[1].Data)
	if e := answer(); e.data.Text != "You like Green." {
		t.Errorf("the answer is %+v", e)
	}
	person.sendMessage(chat, "buttons")
	q = answer()
	if len(q.data.Buttons) != 3 || q.data.Buttons[1].Label != "stream" {
		t.Fatalf("the buttons are %+v", q)
	}
	person.pressButton(chat, q.data.ID, q.data.Buttons[1].Data)
	if e := answer(); !strings.Contains(e.data.Text, "This answer comes **word by word**") || !strings.Contains(e.data.Text, "sent once.") {
		t.Errorf("the stream ends as %+v", e)
	}
	person.sendMessage(chat, "markdown")
	if e := answer(); !strings.Contains(e.data.HTML, "<table") || !strings.Contains(e.data.HTML, "<pre") {
		t.Errorf("shown was %+v", e)
	}
	person.sendMessage(chat, "fail")
	if e := answer(); !strings.Contains(e.data.Text, "Error (DEMO): this is what an error frame looks like") || e.data.Kind != "error" || !strings.Contains(e.data.Text, "Exit code: 1") {
		t.Errorf("shown was %+v", e)
	}
	for path, want := range map[string]string{"/api/turns": `"text":"hello"`, "/api/health": `"ok":true`, "/metrics": "nanobot_turns_total", "/readyz": "ready", "/api/undelivered": "[]"} {
		if status, body := person.request("GET", path, "", nil); status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: %d %.300s", path, status, body)
		}
	}
	b.signal(syscall.SIGINT)
	wanttest.Equal(t, "status", b.awaitExit(), 0)
	wanttest.Equal(t, "it warns:", b.log(), "")
}

func TestDemoPrintsANewLinkForABrowserThatIsSignedOut(t *testing.T) {
	t.Parallel()
	b, link := startDemo(t, "--no-browser")
	person := b.openLink(link)
	if status, body := person.request("POST", "/out", "", nil); status != http.StatusNoContent {
		t.Fatalf("signing out is answered %d %s", status, body)
	}
	if status, body := person.request("GET", "/api/chats", "", nil); status != http.StatusUnauthorized || !strings.Contains(body, "The terminal in which nanobot runs shows a new link.") {
		t.Fatalf("answered is %d %s", status, body)
	}
	next := b.readLink()
	if status, body := b.openLink(next).request("GET", "/api/chats", "", nil); status != http.StatusOK || next == link {
		t.Errorf("the new link %s leads to %d %s", next, status, body)
	}
}

func TestDemoSendsItsFirstMessageOnce(t *testing.T) {
	t.Parallel()
	cache := []string{"XDG_CACHE_HOME=" + t.TempDir()}
	for range 2 {
		b, link := startDemoWith(t, cache, "--no-browser")
		person := b.openLink(link)
		person.awaitAnswer("web-demo", "Write one of these words:")
		if _, body := person.request("GET", "/api/chats/web-demo/messages", "", nil); strings.Count(body, `"from":"user"`) != 1 {
			t.Errorf("the chat is %s", body)
		}
		b.signal(syscall.SIGINT)
		b.awaitExit()
	}
}

func TestDemoRunsTheExamplesOfTheProtocol(t *testing.T) {
	t.Parallel()
	without := false
	if _, err := exec.LookPath("python3"); err != nil {
		without = true
	}
	b, link := startDemo(t, "--no-browser")
	person := b.openLink(link)
	chat := person.newChat()
	for _, c := range []struct {
		text, want string
		files      int
	}{
		{"minimal hello", "You said: hello", 0},
		{"stateful one", "This is your first message.", 0},
		{"Stateful two", "This is your message number 2. The one before was: one", 0},
		{"image a lighthouse at night", "Painted: a lighthouse at night", 1},
		{"analyzer\nif x == None:", "The mended version:", 1},
		{"user-images", "Send me a picture", 0},
		{"errors 1 / 0", "Error (DIVISION_BY_ZERO): nothing can be divided by zero\nExit code: 1", 0},
	} {
		if without {
			c.want, c.files = "python3, which is not installed", 0
		}
		person.sendMessage(chat, c.text)
		if files := person.awaitAnswer(chat, c.want); len(files) != c.files {
			t.Errorf("%s: the files are %+v", c.text, files)
		}
	}
}

func TestDemoSaysThatPythonIsMissing(t *testing.T) {
	t.Parallel()
	b, link := startDemoWith(t, []string{"PATH=" + t.TempDir()}, "--no-browser")
	person := b.openLink(link)
	chat := person.newChat()
	person.sendMessage(chat, "minimal hello")
	person.awaitAnswer(chat, "Error (NO_PYTHON): This example needs python3, which is not installed on this machine.")
}

func TestDemoOpensTheBrowserWithoutShowingTheCodeToOthers(t *testing.T) {
	t.Parallel()
	path, awaitOpened := recordBrowser(t)
	b, link := startDemoWith(t, []string{path})
	shown := awaitOpened()
	_, code, _ := strings.Cut(link, "/in/")
	door, isFile := strings.CutPrefix(shown, "file://")
	if strings.Contains(shown, code) || !isFile {
		t.Errorf("everybody can see %q", shown)
	}
	if info, err := os.Stat(door); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v", info, err)
	}
	content, err := os.ReadFile(door)
	if err != nil || !strings.Contains(string(content), `content="0; url=`+link+`"`) {
		t.Errorf("it holds %q, %v", content, err)
	}
	b.openLink(link)
	b.signal(syscall.SIGINT)
	b.awaitExit()
	if _, err := os.Stat(door); err == nil {
		t.Error("the file stays")
	}
}

// recordBrowser returns a PATH with a browser, and a function that waits for what it is opened
// with.
func recordBrowser(t *testing.T) (path string, awaitOpened func() string) {
	bin, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	script := "#!/bin/sh\necho \"$@\" >" + out + ".new; mv " + out + ".new " + out + "\n"
	musttest.Do(t, os.WriteFile(filepath.Join(bin, "xdg-open"), []byte(script), 0o700))
	return "PATH=" + bin + ":/usr/bin:/bin", func() string {
		t.Helper()
		for deadline := time.Now().Add(waitTimeout); ; time.Sleep(5 * time.Millisecond) {
			if shown, err := os.ReadFile(out); err == nil {
				return strings.TrimSpace(string(shown))
			}
			if time.Now().After(deadline) {
				t.Fatal("the browser was never opened")
			}
		}
	}
}

func TestDemoIsForThisMachineOnly(t *testing.T) {
	t.Parallel()
	p := startProgram(t, "demo", "--listen", "0.0.0.0:0")
	if got := p.awaitExit(); got != exit.Usage || !strings.Contains(p.log(), "this machine only") {
		t.Errorf("status %d, %s", got, p.log())
	}
}
