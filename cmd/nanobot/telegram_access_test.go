package main

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"nanobot/channels/telegram/telegramtest"
	"nanobot/gateway/store/sqlite/sqlitetest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// runPair runs nanobot pair while the daemon runs.
func (b *telegramBot) runPair(args ...string) (string, error) {
	b.t.Helper()
	out, err := programCommand(b.t, append([]string{"pair", "--config", b.cfg}, args...)...).CombinedOutput()
	return string(out), err
}

// mustRunPair runs nanobot pair and fails unless it succeeds.
func (b *telegramBot) mustRunPair(args ...string) string {
	b.t.Helper()
	out, err := b.runPair(args...)
	if err != nil {
		b.t.Fatalf("pair %v: %v, %s", args, err, out)
	}
	return out
}

// awaitPairingCode waits for the pairing code that a stranger is told.
func (b *telegramBot) awaitPairingCode(user int64) string {
	b.t.Helper()
	shown := b.api.WaitForCount(b.t, user, 1)
	_, code, ok := strings.Cut(shown[len(shown)-1].TextOrCaption(), "nanobot pair ")
	if !ok {
		b.t.Fatalf("user %d is told %q", user, b.texts(user))
	}
	code, _, _ = strings.Cut(code, "\n")
	return code
}

// awaitFile waits for a file in the workspace and returns its lines.
func (b *telegramBot) awaitFile(name string) []string {
	b.t.Helper()
	for until := time.Now().Add(telegramtest.WaitLimit); time.Now().Before(until); time.Sleep(5 * time.Millisecond) {
		if text, err := os.ReadFile(filepath.Join(filepath.Dir(b.cfg), name)); err == nil && strings.HasSuffix(string(text), "\n") {
			return strings.Split(strings.TrimSpace(string(text)), "\n")
		}
	}
	b.t.Fatalf("%s was never written", name)
	return nil
}

// awaitProcessExit waits until a process that an agent wrote down has ended.
func (b *telegramBot) awaitProcessExit(pid string) {
	b.t.Helper()
	n := musttest.Get(strconv.Atoi(pid))(b.t)
	for until := time.Now().Add(telegramtest.WaitLimit); time.Now().Before(until); time.Sleep(5 * time.Millisecond) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", n))
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
	}
	b.t.Errorf("process %d lives on", n)
}

// welcomeText returns the first messages to a person who was paired by a code.
func welcomeText(code string) string {
	return "This bot is private. Its operator can let you in with:\n\nnanobot pair " + code + "\n\nThe code is valid for 15 minutes.|You have access now."
}

func TestTelegramStrangerIsLetInByPairing(t *testing.T) {
	t.Parallel()
	b := startTelegramBot(t, telegramSetup{agent: echo})
	b.api.AddUser(telegramtest.User{ID: 8, FirstName: "Eve"})
	b.api.UserSends(8, "anybody there?")
	code := b.awaitPairingCode(8)
	b.api.UserSends(8, "let me in")
	if !b.api.AwaitPending(0, telegramtest.WaitLimit) {
		t.Fatal("it was not received")
	}
	// The message first waits for what may belong to it.
	state := filepath.Join(filepath.Dir(b.cfg), ".nanobot")
	if !b.api.AwaitFor(telegramtest.WaitLimit, func() bool { return sqlitetest.CountWaiting(t, state, "let me in") == 1 }) {
		t.Fatal("the message is not the newest one")
	}
	if out := b.mustRunPair("--list"); !strings.Contains(out, "telegram:7\tin allowFrom") || !strings.Contains(out, `telegram:8 ("Eve")`+"\twaiting, code "+code) {
		t.Errorf("the list is %q", out)
	}
	if out := b.mustRunPair(code); !strings.Contains(out, "telegram:8") {
		t.Errorf("the operator is told %q", out)
	}
	b.api.WaitForText(t, 8, "you said let me in")
	b.api.UserSends(8, "thanks")
	b.api.WaitForText(t, 8, "you said thanks")
	wanttest.Equal(t, "the chat shows", strings.Join(b.lasting(8), "|"), welcomeText(code)+"|you said let me in|you said thanks")
	if out := b.mustRunPair("--list"); !strings.Contains(out, `telegram:8 ("Eve")`+"\tpaired ") {
		t.Errorf("the list is %q", out)
	}
	if out, err := b.runPair(code); err == nil || !strings.Contains(out, "is unknown or has expired") {
		t.Errorf("the code again: %s, %v", out, err)
	}
}

func TestTelegramSomebodyIsLetInByID(t *testing.T) {
	t.Parallel()
	b := startTelegramBot(t, telegramSetup{agent: echo})
	b.api.AwaitPoll(t)
	wanttest.Equal(t, "the operator is told", b.mustRunPair("telegram:9"), "telegram:9 may talk to the bot now.\n")
	wanttest.Equal(t, "then the operator is told", b.mustRunPair("telegram:9"), "telegram:9 has access already.\n")
	b.api.UserSends(9, "hello")
	b.api.WaitForText(t, 9, "you said hello")
	b.api.UserSends(8, "/start")
	code := b.awaitPairingCode(8)
	b.mustRunPair("telegram:8")
	b.api.WaitForCount(t, 8, 3)
	wanttest.Equal(t, "who had a code is shown", strings.Join(b.texts(8), "|"), welcomeText(code)+"|Hello! Send me a message to begin. /help lists the commands.")
	if got := b.lasting(9); len(got) != 1 {
		t.Errorf("who had not written is shown %q", got)
	}
	for nonsense, want := range map[string]string{
		"telegram:@bob": "a user ID is a number", "telegram:-100123": "group", "telegram:": "a number", "telegram:007": "no user has this ID",
		"irc:7": `no channel "irc"`, "web:7": "nanobot link", ":7": "no channel",
	} {
		out, err := b.runPair(nonsense)
		if err == nil || !strings.Contains(out, want) {
			t.Errorf("%s: %v, %q", nonsense, err, out)
		}
		if out, err = b.runPair("--revoke", nonsense); err == nil || !strings.Contains(out, want) {
			t.Errorf("--revoke %s: %v, %q", nonsense, err, out)
		}
	}
}

func TestTelegramAdmittedPersonIsWelcomedAndAnsweredOnceAcrossKills(t *testing.T) {
	t.Parallel()
	b := startTelegramBot(t, telegramSetup{agent: `echo run >> runs; ` + echo})
	b.api.UserSends(8, "let me in")
	code := b.awaitPairingCode(8)
	b.restart(syscall.SIGKILL, func() { b.mustRunPair(code) })
	// Killed at whatever it does, until it had the time to do all of it.
	for i := range 6 {
		b.awaitLog("ready")
		time.Sleep(time.Duration(i) * 150 * time.Millisecond) // when it is killed, not how long anything may take
		b.restart(syscall.SIGKILL, func() {})
	}
	b.api.UserSends(8, "after all")
	b.api.WaitForText(t, 8, "you said after all")
	// What was in flight when it was killed is repeated and marked, as the README says.
	counts := map[string]int{}
	for _, text := range b.texts(8) {
		counts[text]++
	}
	for _, text := range []string{"You have access now.", "you said let me in"} {
		cutOff := strings.HasPrefix(text, "you said") && strings.Contains(strings.Join(b.texts(8), "|"), "I was restarted while working on this")
		if counts[text] > 1 || counts[text]+counts["↻ "+text] == 0 && !cutOff {
			t.Errorf("%q is shown %d times, and %d times as a repetition; the chat shows %q", text, counts[text], counts["↻ "+text], b.texts(8))
		}
	}
	if runs := len(b.awaitFile("runs")); runs > 2 {
		t.Errorf("the agent ran %d times", runs)
	}
}

// admitUser pairs a user by ID.
func (b *telegramBot) admitUser(user int64) {
	b.t.Helper()
	b.api.AwaitPoll(b.t)
	b.mustRunPair(fmt.Sprint("telegram:", user))
}

// slow is an agent that writes down itself and what it starts, says so, and works until it is
// killed, unless it is told to be quick.
const slow = `read -r line; echo run >> runs; case "$line" in *quick*) echo '{"type":"message","text":"quick"}'; exit;; esac
	setsid sleep 300 & echo $! > child; sleep 300 & echo $! > job; echo $$ > agent
	echo '{"type":"message","text":"beginning"}'; trap '' TERM; while :; do sleep 0.05; echo '{"type":"message","text":"more"}'; done`

func TestTelegramRevokedPersonsTurnsEnd(t *testing.T) {
	t.Parallel()
	const group = int64(-77)
	b := startTelegramBot(t, telegramSetup{agent: slow})
	b.api.AddChat(telegramtest.Chat{ID: group})
	b.admitUser(8)
	b.api.UserPosts(telegramtest.UserPost{Chat: group, From: 8, Text: "@nano_test_bot work"})
	b.api.WaitForText(t, group, "beginning")
	b.api.UserPosts(telegramtest.UserPost{Chat: group, From: 8, Text: "@nano_test_bot wait"})
	b.api.UserPosts(telegramtest.UserPost{Chat: group, From: 7, Text: "@nano_test_bot quick"})
	b.api.UserSends(8, "quick") // in a chat of its own, which has ended by then
	b.api.WaitForText(t, 8, "quick")
	wanttest.Equal(t, "the operator is told", b.mustRunPair("--revoke", "telegram:8"), "telegram:8 no longer has access.\n")
	sent := map[int]bool{}
	for _, m := range b.api.BotMessages(group) {
		sent[m.ID] = true
	}
	for _, name := range []string{"agent", "child", "job"} {
		b.awaitProcessExit(b.awaitFile(name)[0])
	}
	b.api.WaitForText(t, group, "quick") // of user 7, who waited behind them
	b.signal(syscall.SIGTERM)
	b.awaitExit()
	for _, m := range b.api.BotMessages(group) {
		if text := m.TextOrCaption(); !sent[m.ID] && text != "quick" && !isTemporary(text) { // which may take longer than the revocation
			t.Errorf("after that the group is shown %q", text)
		}
	}
	if runs := b.awaitFile("runs"); len(runs) != 3 {
		t.Errorf("the agent ran %d times", len(runs))
	}
	if out, err := b.runPair("--revoke", "telegram:8"); err == nil || !strings.Contains(out, "has no access") {
		t.Errorf("once more: %v, %s", err, out)
	}
	if out, err := b.runPair("--revoke", "telegram:7"); err == nil || !strings.Contains(out, "allowFrom") {
		t.Errorf("who is in the config: %v, %s", err, out)
	}
}

func TestTelegramRevokedWhileTheDaemonIsDownGetsNoTurn(t *testing.T) {
	t.Parallel()
	for _, onCrash := range []string{"retry", "report"} {
		t.Run(onCrash, func(t *testing.T) {
			t.Parallel()
			b := startTelegramBot(t, telegramSetup{agent: slow, gateway: `, "onCrash": "` + onCrash + `"`})
			b.admitUser(8)
			b.api.UserSends(8, "work")
			b.api.WaitForText(t, 8, "beginning")
			b.api.UserSends(8, "quick")
			b.api.UserSends(8, "quick")
			if !b.api.AwaitPending(0, telegramtest.WaitLimit) {
				t.Fatal("they were not received")
			}
			var sent int
			b.restart(syscall.SIGKILL, func() {
				b.mustRunPair("--revoke", "telegram:8")
				sent = len(b.api.BotMessages(8))
			})
			b.awaitProcessExit(b.awaitFile("agent")[0])
			b.api.UserSends(7, "quick")
			b.api.WaitForText(t, 7, "quick")
			b.signal(syscall.SIGTERM)
			b.awaitExit()
			if runs := b.awaitFile("runs"); len(runs) != 2 {
				t.Errorf("the agent ran %d times", len(runs))
			}
			if shown := b.texts(8); len(shown) > sent {
				t.Errorf("after that the chat is shown %q", shown[sent:])
			}
		})
	}
}

func TestTelegramPersonRemovedFromTheConfigLosesAccess(t *testing.T) {
	t.Parallel()
	b := startTelegramBot(t, telegramSetup{agent: slow, allow: `7", "8`})
	b.api.UserSends(8, "work")
	b.api.WaitForText(t, 8, "beginning")
	b.api.UserSends(8, "quick")
	text := musttest.Get(os.ReadFile(b.cfg))(t)
	musttest.Do(t, os.WriteFile(b.cfg, []byte(strings.Replace(string(text), `"7", "8"`, `"7"`, 1)), 0o600))
	b.signal(syscall.SIGHUP)
	for _, name := range []string{"agent", "child", "job"} {
		b.awaitProcessExit(b.awaitFile(name)[0])
	}
	b.api.UserSends(7, "quick")
	b.api.WaitForText(t, 7, "quick")
	b.signal(syscall.SIGTERM)
	b.awaitExit()
	if runs := b.awaitFile("runs"); len(runs) != 2 {
		t.Errorf("the agent ran %d times", len(runs))
	}
	if last := b.texts(8); strings.Contains(strings.Join(last, "|"), "Stopped") {
		t.Errorf("the chat is shown %q", last)
	}
}

func TestTelegramStrangersLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	b := startTelegramBot(t, telegramSetup{agent: echo})
	for i := range int64(21) {
		b.api.UserSends(100+i, "let me in")
		b.awaitPairingCode(100 + i)
	}
	picture := telegramtest.Media{Kind: "photo", Content: telegramtest.PNG(30, 30), Width: 30, Height: 30}
	b.api.UserSendsAlbum(telegramtest.UserPost{Chat: 120, Text: "look"}, picture, picture)
	for i := range 300 {
		b.api.UserSends(120, fmt.Sprint("please ", i))
	}
	b.api.UserSends(7, "hello")
	b.api.WaitForText(t, 7, "you said hello")
	db := musttest.Get(sql.Open("sqlite", filepath.Join(filepath.Dir(b.cfg), ".nanobot", "nanobot.db")+"?_pragma=busy_timeout(10000)"))(t)
	defer func() { _ = db.Close() }()
	for kept := 0; kept == 0; time.Sleep(5 * time.Millisecond) { // until the last one has been received
		musttest.Do(t, db.QueryRow("SELECT count(*) FROM pairing WHERE message LIKE '%please 299%'").Scan(&kept))
	}
	if out := b.mustRunPair("--list"); strings.Count(out, "waiting, code") != 20 || strings.Contains(out, "telegram:100\t") {
		t.Errorf("the list is %q", out)
	}
	b.mustRunPair("telegram:120")
	b.api.WaitForText(t, 120, "you said please 299")
	b.signal(syscall.SIGTERM)
	b.awaitExit()
	wanttest.Equal(t, "files were asked for:", len(b.api.Calls("getFile")), 0)
	if _, err := os.Stat(filepath.Join(filepath.Dir(b.cfg), "users", "100")); err == nil {
		t.Error("a stranger has a folder")
	}
	for query, want := range map[string]int{
		"SELECT count(*) FROM inbox": 2, "SELECT count(*) FROM outbox": 3, "SELECT count(*) FROM seen": 2,
		"SELECT count(*) FROM pairing WHERE message LIKE '%please%'": 0,
	} {
		var n int
		if err := db.QueryRow(query).Scan(&n); err != nil || n != want {
			t.Errorf("%s: %d, %v, want %d", query, n, err, want)
		}
	}
}
