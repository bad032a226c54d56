package main

import (
	"encoding/json"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestDemoAnswersInABrowser(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	self := filepath.Join(t.TempDir(), "nanobot") // which is also its agent
	copyFile(t, os.Args[0], self)
	p := startBinary(t, self, "demo", "--no-browser")
	link := ""
	for !strings.Contains(link, "http://") {
		link = strings.TrimSpace(p.line())
	}
	base, _, _ := strings.Cut(link, "/in/")
	b := &webBot{program: p, t: t, listen: strings.TrimPrefix(base, "http://")}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	person := &browser{b, http.Client{Jar: jar, Transport: &http.Transport{}}}
	t.Cleanup(person.CloseIdleConnections)
	if status, body := person.ask("POST", strings.TrimPrefix(link, base), "", nil); status != http.StatusOK || !strings.Contains(body, "<html") {
		t.Fatalf("the link leads to %d %.200s", status, body)
	}
	var chat struct{ ID string }
	_, body := person.ask("POST", "/api/chats", "application/json", strings.NewReader("{}"))
	if err := json.Unmarshal([]byte(body), &chat); err != nil {
		t.Fatal(err, body)
	}
	for word, want := range map[string]string{"hello": "You said: hello", "ask": "Which colour do you like best?", "fail": "what an error frame looks like"} {
		if status, body := person.ask("POST", "/api/chats/"+chat.ID+"/messages", "application/json", strings.NewReader(`{"text":"`+word+`"}`)); status != http.StatusAccepted {
			t.Fatalf("%s: %d %s", word, status, body)
		}
		for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			_, body := person.ask("GET", "/api/chats/"+chat.ID+"/messages", "", nil)
			if strings.Contains(body, want) {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("never answered %q: %s", want, body)
			}
		}
		if word == "ask" { // or the others wait behind it
			person.ask("POST", "/api/chats/"+chat.ID+"/messages", "application/json", strings.NewReader(`{"text":"Green"}`))
		}
	}
	for path, want := range map[string]string{"/api/turns": `"text":"hello"`, "/api/health": `"ok":true`, "/metrics": "nanobot_turns_total", "/readyz": "ready", "/api/undelivered": "[]"} {
		if status, body := person.ask("GET", path, "", nil); status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: %d %.300s", path, status, body)
		}
	}
	p.signal(syscall.SIGINT)
	if got := p.status(); got != 0 {
		t.Errorf("status %d", got)
	}
}

func TestDemoIsForThisMachineOnly(t *testing.T) {
	p := startProgram(t, "demo", "--listen", "0.0.0.0:0")
	if got := p.status(); got != exitUsage || !strings.Contains(p.log(), "this machine only") {
		t.Errorf("status %d, %s", got, p.log())
	}
}

// copyFile makes a second file of a program, which a link would not be: a program finds its own file by the kernel.
func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b, 0o700); err != nil {
		t.Fatal(err)
	}
}
