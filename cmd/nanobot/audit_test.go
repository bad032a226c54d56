package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"nanobot/channels/telegram/telegramtest"
	"nanobot/gateway/audit"
	"nanobot/internal/musttest"
)

// readAudit returns what a bot's record has.
func (b *telegramBot) readAudit() (all []audit.Record, raw string) {
	b.t.Helper()
	text, err := os.ReadFile(filepath.Join(filepath.Dir(b.cfg), ".nanobot", "audit.jsonl"))
	if err != nil && !os.IsNotExist(err) { // as long as it starts
		b.t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var r audit.Record
		if err := json.Unmarshal(line, &r); err != nil {
			b.t.Fatalf("%q: %v", line, err)
		}
		all = append(all, r)
	}
	return all, string(text)
}

// awaitAudit waits for a record.
func (b *telegramBot) awaitAudit(what string, is func(audit.Record) bool) audit.Record {
	b.t.Helper()
	for deadline := time.Now().Add(telegramtest.WaitLimit); ; time.Sleep(10 * time.Millisecond) {
		all, raw := b.readAudit()
		if i := slices.IndexFunc(all, is); i >= 0 {
			return all[i]
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("nothing was written down of %s:\n%s", what, raw)
		}
	}
}

func isEvent(name string) func(audit.Record) bool {
	return func(r audit.Record) bool { return r.Event == name }
}

const auditAgent = `read -r line
	case "$line" in
	*paint*) echo '{"type":"ask","id":"q1","text":"Which one?","options":["Red","Blue"]}'; read -r answer; echo '{"type":"message","text":"painted"}';;
	*christen*) echo '{"type":"ask","id":"q2","text":"What name?"}'; read -r answer; echo '{"type":"message","text":"named"}';;
	*fail*) echo '{"type":"message","text":"1234567890","media":["'$PWD'/a.png","'$PWD'/b.png"]}'; exit 3;;
	*hang*) echo '{"type":"message","text":"up"}'; exec sleep 300;;
	esac`

func TestTheAuditLogRecordsWhoStartedWhat(t *testing.T) {
	t.Parallel()
	b := startTelegramBot(t, telegramSetup{
		command:  "PASSWORD=hunter2hunter2 sh agent.sh {message}",
		terminal: `, "interactive": true, "env": {"API_KEY": "hunter2hunter2"}`, agent: auditAgent,
	})
	b.api.AddUser(telegramtest.User{ID: 7, FirstName: "Ada", Username: "ada"})
	picture := telegramtest.Media{Kind: "photo", Content: telegramtest.PNG(30, 30), Width: 30, Height: 30}
	b.api.UserSendsAlbum(telegramtest.UserPost{Chat: 7, Text: "please fail privately"}, picture, picture)
	begun := b.awaitAudit("the start", isEvent(audit.TurnStart))
	if begun.Decision != audit.Allowed || begun.Channel != "telegram" || begun.Chat != "7" || begun.User != (audit.User{ID: "7", Name: "Ada", Username: "ada"}) ||
		begun.Run == 0 || begun.Attempt != 1 || begun.Message == "" || begun.In != (audit.Size{Bytes: len("please fail privately"), Media: 2}) {
		t.Errorf("the start is %+v", begun)
	}
	started := b.awaitAudit("how it is started", isEvent(audit.Launched))
	if want := []string{"/bin/sh", "-c", "PASSWORD=[secret] sh agent.sh {message}"}; !slices.Equal(started.Argv, want) ||
		started.Cwd != filepath.Dir(b.cfg) || started.Digest == "" || started.Digest != begun.Digest {
		t.Errorf("started is %q in %s, with the digests %s and %s", started.Argv, started.Cwd, started.Digest, begun.Digest)
	}
	if !slices.Contains(started.Env, "API_KEY") || !slices.Contains(started.Env, "PATH") ||
		slices.ContainsFunc(started.Env, func(n string) bool { return strings.Contains(n, "=") }) {
		t.Errorf("the environment is %q", started.Env)
	}
	ended := b.awaitAudit("the end", isEvent(audit.TurnEnd))
	if ended.Run != begun.Run || ended.User != begun.User || ended.End == nil || ended.End.Exit != 3 || ended.End.Status != "failed" || ended.Out.Media != 2 || ended.Out.Bytes < 10 {
		t.Errorf("the end is %+v, %+v", ended, ended.End)
	}
	b.checkAuditOfAnswers()
	b.checkAuditOfStrangers()
	b.api.UserSends(7, "hang")
	b.api.WaitForText(t, 7, "up")
	b.api.UserSends(7, "/STOP")
	b.api.WaitForText(t, 7, "Stopped.")
	if r := b.awaitAudit("the command", isEvent(audit.Command)); r.Command != "/stop" || r.User.ID != "7" {
		t.Errorf("the command is %+v", r)
	}
	b.awaitAudit("the end by /stop", func(r audit.Record) bool {
		return r.End != nil && r.End.Status == "stopped" && r.End.Signal == "SIGTERM"
	})
	b.stopCleanly()
	_, raw := b.readAudit()
	for _, secret := range []string{"hunter2", "privately", "Grace", b.api.Token} {
		if strings.Contains(raw, secret) {
			t.Errorf("%s is written down:\n%s", secret, raw)
		}
	}
	if info, err := os.Stat(filepath.Join(filepath.Dir(b.cfg), ".nanobot", "audit.jsonl")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the mode is %v, %v", info.Mode(), err)
	}
}

// checkAuditOfAnswers checks the records of a pressed button and of a written answer.
func (b *telegramBot) checkAuditOfAnswers() {
	b.t.Helper()
	b.api.UserSends(7, "paint")
	question := b.api.WaitForText(b.t, 7, "Which one?")
	b.api.UserPresses(7, 7, question.ID, question.Buttons()[1].Data)
	b.api.WaitForText(b.t, 7, "painted")
	if r := b.awaitAudit("the answer", isEvent(audit.Answer)); r.Decision != "Blue" || r.User.ID != "7" || r.Run == 0 || r.Question == "" {
		b.t.Errorf("the answer is %+v", r)
	}
	b.api.UserSends(7, "christen")
	b.api.WaitForText(b.t, 7, "What name?")
	b.api.UserSends(7, "Grace")
	b.api.WaitForText(b.t, 7, "named")
	b.awaitAudit("the name", func(r audit.Record) bool { return r.Event == audit.Answer && r.Decision == "text" })
}

// checkAuditOfStrangers checks the records of a stranger's message and of the pairing.
func (b *telegramBot) checkAuditOfStrangers() {
	b.t.Helper()
	b.api.AddUser(telegramtest.User{ID: 8, FirstName: "Eve"})
	b.api.UserSends(8, "let me in")
	_, code, _ := strings.Cut(b.api.WaitForCount(b.t, 8, 1)[0].TextOrCaption(), "nanobot pair ")
	code, _, _ = strings.Cut(code, "\n")
	if r := b.awaitAudit("the stranger", isEvent(audit.Denied)); r.Decision != audit.Coded || r.User != (audit.User{ID: "8", Name: "Eve"}) {
		b.t.Errorf("the stranger is %+v", r)
	}
	b.mustRunPair(code)
	if r := b.awaitAudit("the pairing", isEvent(audit.Pairing)); r.Decision != audit.Paired || r.User.ID != "8" || r.Channel != "telegram" || r.By == "" {
		b.t.Errorf("the pairing is %+v", r)
	}
	if _, raw := b.readAudit(); strings.Contains(raw, code) {
		b.t.Errorf("the code is written down:\n%s", raw)
	}
}

func TestAuditCanBeSwitchedOffAndTurnsGoOnWithoutIt(t *testing.T) {
	t.Parallel()
	off := startTelegramBot(t, telegramSetup{agent: echo, gateway: `}, "audit": {"file": "off"`})
	off.api.UserSends(7, "one")
	off.api.WaitForText(t, 7, "you said one")
	off.stopCleanly()
	if found, _ := filepath.Glob(filepath.Join(filepath.Dir(off.cfg), "*", "audit*")); found != nil {
		t.Errorf("there is %v", found)
	}
	b := startTelegramBot(t, telegramSetup{agent: echo, gateway: `}, "audit": {"file": "logs/a.jsonl", "text": true`})
	logs := filepath.Join(filepath.Dir(b.cfg), "logs")
	b.api.UserSends(7, "one")
	b.api.WaitForText(t, 7, "you said one")
	if text, err := os.ReadFile(filepath.Join(logs, "a.jsonl")); err != nil || !strings.Contains(string(text), `"text":"one"`) {
		t.Errorf("with text it has %s, %v", text, err)
	}
	musttest.Do(t, os.RemoveAll(logs))
	if err := os.WriteFile(logs, nil, 0o600); err != nil { // in the way
		t.Fatal(err)
	}
	for _, text := range []string{"two", "three"} {
		b.api.UserSends(7, text)
		b.api.WaitForText(t, 7, "you said "+text)
	}
	b.signal(syscall.SIGTERM)
	if got := b.awaitExit(); got != 0 || strings.Count(b.log(), "audit log not written") != 1 {
		t.Errorf("status %d, and the log says\n%s", got, b.log())
	}
}
