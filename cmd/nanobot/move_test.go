package main

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nanobot/cmd/nanobot/exit"
	"nanobot/internal/musttest"
	"nanobot/internal/postgrestest"
	"nanobot/internal/wanttest"
)

// setGateway adds settings to the section gateway of a bot's config.
func (b *webBot) setGateway(format string, args ...any) {
	b.t.Helper()
	text := string(musttest.Get(os.ReadFile(b.cfg))(b.t))
	text = strings.Replace(text, `"gateway": {`, `"gateway": {`+fmt.Sprintf(format, args...)+", ", 1)
	musttest.Do(b.t, os.WriteFile(b.cfg, []byte(text), 0o600))
}

func TestADaemonGoesOnWithAMovedState(t *testing.T) {
	t.Parallel()
	url, name := postgrestest.URL(t), strings.ToLower(rand.Text()[:10])
	b := newWebBot(t)
	dir := filepath.Dir(b.cfg)
	person, chat := b.signIn("--user", "ann"), "web-a-known-to-nobody-else"
	person.sendMessage(chat, "first")
	person.awaitAnswer(chat, "re **first**")
	person.sendMessage(chat, "slow")
	for deadline := time.Now().Add(waitTimeout); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(dir, "up")); err == nil {
			break
		} else if time.Now().After(deadline) {
			t.Fatal("the turn never began")
		}
	}
	person.sendMessage(chat, "last")

	move := func(status int, says ...string) {
		t.Helper()
		out, got := runProgram(t, "move", "--to", url, "--config", b.cfg)
		if got != status {
			t.Fatalf("status %d: %s", got, out)
		}
		for _, want := range says {
			if !strings.Contains(out, want) {
				t.Errorf("no %q in %s", want, out)
			}
		}
	}
	move(exit.Usage, "set gateway.bot")
	b.setGateway(`"bot": %q, "storePassword": "unused"`, name)
	move(exit.Failed, "nothing was copied", "stop it first")
	b.kill()
	out, status := runProgram(t, "move", "--to", "postgres://a:b@host/db", "--config", b.cfg)
	if status != exit.Usage || !strings.Contains(out, "must not contain the password") {
		t.Errorf("status %d: %s", status, out)
	}
	move(0, "schema nanobot_"+name, "inbox 3", "web_events", "set gateway.store")
	move(exit.Failed, "no rows were copied", "is not empty")

	b.setGateway(`"store": %q, "member": {"name": "a", "ttl": 60}`, url)
	move(exit.Usage, "is set already")
	musttest.Do(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o600))
	b.start()
	person.awaitAnswer(chat, "re **last**") // with the session of before
	for _, text := range []string{"re **first**", "done", "re **last**"} {
		_, page := person.request("GET", "/api/chats/"+chat+"/messages", "", nil)
		wanttest.Equal(t, "times that it says "+text, strings.Count(page, `"`+text+`"`), 1)
	}
	for _, command := range []string{"backup", "restore"} {
		out, status := runProgram(t, command, "--config", b.cfg, filepath.Join(dir, "x.tar.gz"))
		if status != exit.Failed || !strings.Contains(out, "pg_dump") || !strings.Contains(out, "bot-"+name) {
			t.Errorf("%s: status %d: %s", command, status, out)
		}
	}
}
