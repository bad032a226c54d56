package main

import (
	"bytes"
	"crypto/md5" //nolint:gosec // the agent proves by it that it has the password
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/gateway/store"
	"nanobot/gateway/store/sqlite"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

const password = "hunter2-4711"

// passwordSum is what secretAgent says when it has the password.
func passwordSum() string {
	sum := md5.Sum([]byte(password)) //nolint:gosec // see above
	return "sum " + hex.EncodeToString(sum[:])
}

// secretAgent asks for a password and says its sum.
const secretAgent = `read -r line; echo '{"type":"ask","id":"pw","text":"Password?","secret":true}'
	read -r answer; text=${answer#*'"text":"'}; sum=$(printf %s "${text%%'"'*}" | md5sum)
	echo "{\"type\":\"message\",\"text\":\"sum ${sum%% *}\"}"`

// everything is what a config says to log and record as much as possible.
const everything = `, "onCrash": "retry", "record": "recorded"}, "log": {"level": "debug"}, "audit": {"text": true`

// checkNoSecret fails if a file below a folder contains the password.
func checkNoSecret(t *testing.T, dir string) {
	t.Helper()
	files := 0
	musttest.Do(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		files++
		content, err := os.ReadFile(path)
		if bytes.Contains(content, []byte(password)) {
			t.Errorf("%s contains the password", path)
		}
		return err
	}))
	if files < 3 {
		t.Errorf("only %d files were searched", files)
	}
}

// checkNoTrace fails if the bot's files or its calls contain the password. It searches again after
// the daemon has ended, which moves its write-ahead log into the database.
func (b *telegramBot) checkNoTrace() {
	b.t.Helper()
	checkNoSecret(b.t, filepath.Dir(b.cfg))
	for _, c := range b.api.Calls("") {
		for name, value := range c.Params {
			if strings.Contains(value, password) {
				b.t.Errorf("%s has the password in %s: %s", c.Method, name, value)
			}
		}
	}
	if strings.Contains(b.log(), password) {
		b.t.Errorf("the log has the password:\n%s", b.log())
	}
	b.signal(syscall.SIGTERM)
	b.awaitExit()
	checkNoSecret(b.t, filepath.Dir(b.cfg))
}

// awaitDeletion waits until the bot deletes a message of a person.
func (b *telegramBot) awaitDeletion(m telegramtest.Message) {
	b.t.Helper()
	if calls, ok := b.api.AwaitCalls("deleteMessage", telegramtest.WaitLimit, func(all []telegramtest.Call) bool {
		return slices.ContainsFunc(all, func(c telegramtest.Call) bool { return c.IntParam("message_id") == int64(m.ID) })
	}); !ok {
		b.t.Fatalf("message %d is not deleted: %+v\n%s", m.ID, calls, b.log())
	}
}

func TestAPasswordThatAnAgentAsksForStaysNowhere(t *testing.T) {
	t.Parallel()
	b := startTelegramBot(t, telegramSetup{
		agent: secretAgent + "\nwhile [ ! -e go ]; do sleep 0.05; done", terminal: `, "interactive": true`, gateway: everything,
	})
	b.api.UserSends(7, "log in")
	b.awaitMessage(7, "Password?")
	m := b.api.UserSends(7, password)
	b.awaitMessage(7, passwordSum())
	checkNoSecret(t, filepath.Dir(b.cfg)) // the turn has it, and still runs
	b.awaitMessage(7, "Password?\n\n→ 🔒 not shown (by ")
	b.awaitDeletion(m)
	musttest.Do(t, os.WriteFile(filepath.Join(filepath.Dir(b.cfg), "go"), nil, 0o600))
	b.awaitTurns(1)
	b.checkNoTrace()
}

func TestAPasswordInAFormOfAnACPAgentStaysNowhere(t *testing.T) {
	t.Parallel()
	b := startTelegramBot(t, telegramSetup{protocol: "acp", command: acpAgent(t, ""), gateway: everything})
	b.api.UserSends(7, `quiet elicitation/create {"sessionId":"SESSION","mode":"form","message":"Sign in.","requestedSchema":{"type":"object","properties":{`+
		`"name":{"type":"string","title":"Name"},"password":{"type":"string","title":"Password","format":"password","minLength":5,"maxLength":99,"default":"changeme"}},`+
		`"required":["name","password"]}}`+"\nsay signed in")
	b.awaitMessage(7, "Name (1 of 2)")
	b.api.UserSends(7, "Ada")
	question := b.awaitMessage(7, "Password (2 of 2)")
	if slices.Contains(buttonLabels(question), "changeme") {
		t.Error("the default password is shown")
	}
	short := b.api.UserSends(7, password[:3]) // is asked for again, and no less secret
	b.awaitMessage(7, "⚠")
	m := b.api.UserSends(7, password)
	b.awaitMessage(7, "→ 🔒 not shown (by ")
	b.awaitDeletion(short)
	b.awaitDeletion(m)
	b.awaitMessage(7, "signed in")
	b.checkNoTrace()
	if record, err := os.ReadFile(filepath.Join(filepath.Dir(b.cfg), ".nanobot", "audit.jsonl")); err != nil || !bytes.Contains(record, []byte("Sign in. → Ada")) {
		t.Errorf("the other answer is not in the audit log, although audit.text is on: %s, %v", record, err)
	}
}

func TestTypedAnswersAreInTheAuditLogOnlyWithAuditText(t *testing.T) {
	t.Parallel()
	b := startTelegramBot(t, telegramSetup{protocol: "acp", command: acpAgent(t, "")})
	b.api.UserSends(7, `quiet elicitation/create {"sessionId":"SESSION","mode":"form","message":"Tell me.","requestedSchema":{"type":"object","properties":{`+
		`"name":{"type":"string","title":"Name"},"size":{"type":"string","title":"Size","enum":["Small","Large"]}},"required":["size"]}}`+"\nsay thanks")
	b.awaitMessage(7, "Name (1 of 2)") // has the buttons Skip and Cancel
	b.api.UserSends(7, password)
	b.pressButton(b.awaitMessage(7, "Size (2 of 2)"), "Large")
	b.awaitMessage(7, "thanks")
	record, err := os.ReadFile(filepath.Join(filepath.Dir(b.cfg), ".nanobot", "audit.jsonl"))
	if err != nil || bytes.Contains(record, []byte(password)) || !bytes.Contains(record, []byte(`"decision":"text"`)) || !bytes.Contains(record, []byte(`"decision":"Large"`)) {
		t.Errorf("the audit log is %s, %v", record, err)
	}
}

func TestAPasswordThatWasStoredWhenTheDaemonWasKilledReachesTheTurnAndIsRemovedThen(t *testing.T) {
	t.Parallel()
	b := startTelegramBot(t, telegramSetup{agent: secretAgent, terminal: `, "interactive": true`, gateway: everything})
	b.api.UserSends(7, "log in")
	b.awaitMessage(7, "Password?")
	state := filepath.Join(filepath.Dir(b.cfg), ".nanobot")
	b.restart(syscall.SIGKILL, func() {
		// The daemon was killed between the answer's storage and its delivery to the turn.
		s := musttest.Get(sqlite.Open(t.Context(), state, sqlite.Options{}))(t)
		chat := channels.Chat{Channel: "telegram", ID: "7"}
		open, err := s.OpenQuestions(t.Context(), chat)
		if err != nil || len(open) != 1 {
			t.Fatalf("open are %+v, %v", open, err)
		}
		in := channels.Incoming{Chat: chat, ID: "4711", User: channels.User{ID: "7", Name: "Ann"}, Text: password}
		musttest.Get(s.Receive(t.Context(), store.ReceiveRequest{In: in, Secret: true, Reply: &store.Reply{Question: open[0].ID, Text: password, By: "7"}}))(t)
		musttest.Do(t, s.Close())
	})
	b.awaitMessage(7, passwordSum())
	if calls, ok := b.api.AwaitCalls("deleteMessage", telegramtest.WaitLimit, func(all []telegramtest.Call) bool {
		return slices.ContainsFunc(all, func(c telegramtest.Call) bool { return c.IntParam("message_id") == 4711 })
	}); !ok {
		t.Errorf("the message is not deleted after the crash: %+v", calls)
	}
	asked := 0
	for _, c := range b.api.Calls("sendMessage") {
		if c.Params["text"] == "Password?" { // the kill may have made it doubtful whether it was sent, which adds a ↻
			asked++
		}
	}
	wanttest.Equal(t, "the password was asked for … times:", asked, 1)
	b.checkNoTrace()
}

func TestAPersonIsAskedToDeleteAPasswordThatTheBotMayNotDelete(t *testing.T) {
	t.Parallel()
	const group = -100500
	b := startTelegramBot(t, telegramSetup{agent: secretAgent, terminal: `, "interactive": true`, gateway: everything, channel: `, "groups": "all"`})
	b.api.AddUser(telegramtest.User{ID: 7, FirstName: "Ann", LanguageCode: "de"})
	b.api.AddChat(telegramtest.Chat{ID: group, Type: "supergroup", Title: "Team"})
	b.api.UserPosts(telegramtest.UserPost{Chat: group, From: 7, Text: "log in"})
	b.awaitMessage(group, "Password?")
	m := b.api.UserPosts(telegramtest.UserPost{Chat: group, From: 7, Text: password})
	notice := b.awaitMessage(group, "bitte lösche sie selbst")
	if notice.ReplyTo == nil || notice.ReplyTo.ID != m.ID {
		t.Errorf("the notice is %+v", notice)
	}
	b.awaitMessage(group, passwordSum())
	b.checkNoTrace()
}

func TestALineTypedIntoATerminalWithoutEchoStaysNowhere(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	b := startTelegramBot(t, telegramSetup{
		protocol: "screen", command: "sh", terminal: `, "env": {"HOME": "` + home + `", "PS1": "shell> "}`, gateway: everything,
	})
	ask := func(mark string) {
		b.api.UserSends(7, `stty -echo; printf 'pass%s: ' `+mark+`; read p; stty echo; printf %s "$p" | md5sum > ~/`+mark+`; echo re''ad `+mark)
		b.awaitMessage(7, "pass"+mark+":")
	}
	check := func(mark string) {
		b.awaitMessage(7, "read "+mark)
		sum, err := os.ReadFile(filepath.Join(home, mark))
		if musttest.Do(t, err); !strings.HasPrefix("sum "+string(sum), passwordSum()) {
			t.Errorf("the program has read %s", sum)
		}
	}
	ask("one") // answered by a turn of its own, after the first has ended
	b.awaitTurns(1)
	m := b.api.UserSends(7, password)
	check("one")
	b.awaitDeletion(m)
	ask("two")
	m = b.api.UserSends(7, "/type "+password)
	check("two")
	b.awaitDeletion(m)
	m = b.api.UserSends(7, "echo not sec''ret")
	b.awaitMessage(7, "not secret")
	if slices.ContainsFunc(b.api.Calls("deleteMessage"), func(c telegramtest.Call) bool { return c.IntParam("message_id") == int64(m.ID) }) {
		t.Error("a line with echo was deleted")
	}
	b.checkNoTrace()
}

// awaitTurns waits until the log says that turns have ended.
func (b *telegramBot) awaitTurns(n int) {
	b.t.Helper()
	for until := time.Now().Add(telegramtest.WaitLimit); strings.Count(b.log(), "turn ended") < n; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(until) {
			b.t.Fatalf("%d turns have not ended:\n%s", n, b.log())
		}
	}
}

func TestADiscordUserIsAskedToDeleteAPasswordInADirectMessage(t *testing.T) {
	t.Parallel()
	b := startDiscordBot(t, discordSetup{agent: secretAgent, terminal: `, "interactive": true`, gateway: everything})
	b.api.UserSends(b.dm, ada, "log in")
	b.api.WaitForText(t, b.dm, "Password?")
	m := b.api.UserSends(b.dm, ada, password)
	b.api.WaitForText(t, b.dm, passwordSum())
	notice := b.api.WaitForText(t, b.dm, "I may not delete your message with the secret in this chat, so please delete it yourself.")
	if notice.Reference == nil || notice.Reference.MessageID != m.ID {
		t.Errorf("the notice is %+v", notice)
	}
	for _, text := range b.texts(b.dm) {
		if strings.Contains(text, password) {
			t.Errorf("shown is %q", text)
		}
	}
	checkNoSecret(t, filepath.Dir(b.cfg))
	b.stop()
	checkNoSecret(t, filepath.Dir(b.cfg))
}

func TestAPasswordIsRemovedFromThePageAndItsHistory(t *testing.T) {
	t.Parallel()
	b := newWebBot(t)
	musttest.Do(t, os.WriteFile(filepath.Join(filepath.Dir(b.cfg), "agent.sh"), []byte(secretAgent), 0o600))
	ann := b.signIn("--user", "ann")
	next := ann.openEventStream()
	const chat = "web-a-known-to-nobody-else"
	ann.sendMessage(chat, "log in")
	if e := next("message"); e.data.Text != "Password?" {
		t.Fatalf("asked is %+v", e)
	}
	ann.sendMessage(chat, password)
	if e := next("removed"); e.data.Chat != chat || e.data.ID == "" {
		t.Errorf("removed is %+v", e)
	}
	if e := next("message"); e.data.Text != passwordSum() {
		t.Errorf("answered is %+v", e)
	}
	if _, page := ann.request("GET", "/api/chats/"+chat+"/messages", "", nil); strings.Contains(page, password) || !strings.Contains(page, `"removed":true`) {
		t.Errorf("the history is %s", page)
	}
	checkNoSecret(t, filepath.Dir(b.cfg))
	b.kill()
	checkNoSecret(t, filepath.Dir(b.cfg))
}

func TestAPasswordIsNotShownWhileItIsTypedInAChat(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	musttest.Do(t, os.WriteFile(filepath.Join(dir, "agent.sh"), []byte(secretAgent), 0o600))
	musttest.Do(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte(`{"terminal": {"command": "sh agent.sh", "protocol": "rich", "interactive": true}}`), 0o600))
	shown := typeOnATerminal(t, []string{"log in\r", password + "\r", "\x04"}, []string{"--config", filepath.Join(dir, "config.json")}, "TERM=xterm")
	if strings.Contains(shown, password) || !strings.Contains(shown, passwordSum()) {
		t.Errorf("shown is %q", shown)
	}
	if history, err := os.ReadFile(filepath.Join(dir, ".nanobot", "history")); err != nil || string(history) != "log in\n" {
		t.Errorf("the history is %q, %v", history, err)
	}
}
