package main

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nanobot/cmd/nanobot/exit"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// losses are ways in which somebody takes a daemon's state away.
var losses = map[string]func(state string) error{
	"removed":                   removeAll,
	"moved away":                func(state string) error { return os.Rename(state, state+".away") },
	"moved away and made again": func(state string) error { return errors.Join(os.Rename(state, state+".away"), os.Mkdir(state, 0o700)) },
	"only the database":         func(state string) error { return os.Remove(filepath.Join(state, "nanobot.db")) },
	"only the log":              func(state string) error { return os.Remove(filepath.Join(state, "nanobot.db-wal")) },
	"only the lock":             func(state string) error { return os.Remove(filepath.Join(state, "daemon.lock")) },
	"only the web's folder":     func(state string) error { return os.Rename(filepath.Join(state, "web"), state+".web") },
	"only the web's database":   func(state string) error { return os.Remove(filepath.Join(state, "web", "history.db")) },
	"only the spool":            func(state string) error { return os.Remove(filepath.Join(state, "spool")) },
}

// removeAll removes a folder that somebody may be writing to.
func removeAll(dir string) error {
	err := os.RemoveAll(dir)
	for range 100 {
		if err == nil {
			return nil
		}
		err = os.RemoveAll(dir)
	}
	return err
}

func TestADaemonWhoseStateIsRemovedConfirmsNothingAndExits(t *testing.T) {
	t.Parallel()
	for name, loss := range losses {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newWebBot(t)
			ann := b.signIn()
			const chat = "web-1-known-to-nobody-else"
			ann.sendMessage(chat, "slow") // a turn that would not end by itself
			for deadline := time.Now().Add(waitTimeout); ; time.Sleep(5 * time.Millisecond) {
				if _, err := os.Stat(filepath.Join(filepath.Dir(b.cfg), "up")); err == nil {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("the turn does not begin:\n%s", b.log())
				}
			}
			state := filepath.Join(filepath.Dir(b.cfg), ".nanobot")
			musttest.Do(t, loss(state))
			body := `{"text": "are you there?"}`
			status, _, err := ann.tryRequest("POST", "/api/chats/"+chat+"/messages", "application/json", strings.NewReader(body))
			if err == nil && status != http.StatusServiceUnavailable {
				t.Errorf("a message is answered %d", status)
			}
			if got := b.awaitExit(); got != exit.Lost {
				t.Errorf("status %d:\n%s", got, b.log())
			}
			for _, want := range []string{"removed or replaced", "before the next start"} {
				if !strings.Contains(b.log(), want) {
					t.Errorf("no %q in:\n%s", want, b.log())
				}
			}
		})
	}
	if stateCheckInterval+lostStateTimeout > 4*time.Second {
		t.Error("that takes longer than 5 s")
	}
}

func TestADaemonWhoseStateIsRemovedIsNotReady(t *testing.T) {
	listen := freeAddress(t)
	b := startBot(t, `{"terminal": {"command": "echo hi"}, "http": {"listen": "`+listen+`"}`+anybody)
	b.awaitLog("ready")
	awaitResponse(t, "http://"+listen+"/readyz", 200, "ready\n")
	musttest.Do(t, removeAll(filepath.Join(filepath.Dir(b.cfg), ".nanobot")))
	resp, err := http.Get("http://" + listen + "/readyz")
	for err == nil && resp.StatusCode == http.StatusOK { // until it says so, or is gone
		resp.Body.Close()
		resp, err = http.Get("http://" + listen + "/readyz")
	}
	if err == nil {
		resp.Body.Close()
		wanttest.Equal(t, "readyz says", resp.StatusCode, http.StatusServiceUnavailable)
	}
	if got := b.awaitExit(); got != exit.Lost {
		t.Errorf("status %d:\n%s", got, b.log())
	}
}

func TestUpdatesOfTelegramAreNotConfirmedOnceTheStateIsGone(t *testing.T) {
	t.Parallel()
	b := startTelegramBot(t, telegramSetup{agent: echo})
	b.api.UserSends(7, "before")
	b.api.WaitForText(t, 7, "you said before")
	musttest.Do(t, removeAll(filepath.Join(filepath.Dir(b.cfg), ".nanobot")))
	b.api.UserSends(7, "after")
	if got := b.awaitExit(); got != exit.Lost {
		t.Errorf("status %d:\n%s", got, b.log())
	}
	b.program = startProgram(t, "serve", "--config", b.cfg) // as systemd does
	b.api.WaitForText(t, 7, "you said after")
}

func TestAWebhookIsAnsweredWithoutSuccessOnceTheStateIsGone(t *testing.T) {
	t.Parallel()
	b := newWebhookBot(t)
	b.api.UserSends(7, "before")
	b.api.WaitForText(t, 7, "you said before")
	musttest.Do(t, os.Rename(filepath.Join(filepath.Dir(b.cfg), ".nanobot"), filepath.Join(filepath.Dir(b.cfg), "away")))
	b.api.UserSends(7, "after")
	if got := b.awaitExit(); got != exit.Lost {
		t.Errorf("status %d:\n%s", got, b.log())
	}
	b.start()
	b.api.WaitForText(t, 7, "you said after")
}
