package main

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/channels/discord/discordtest"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/gateway/choice"
	"nanobot/gateway/store"
	"nanobot/gateway/store/sqlite"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

func TestRoutesSaysWhatTheChoiceOfAChatChanges(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "config.json")
	musttest.Do(t, os.WriteFile(path, []byte(`{"terminal": {"command": "cat"}, "agents": {"coder": {"command": "cat"}, "faq": {"command": "cat"}},
		"routes": [{"match": {"command": "faq"}, "agent": "faq"}, {"match": {"kind": "group"}, "agent": "default", "switch": ["coder"]}]}`), 0o600))
	db := musttest.Get(sqlite.Open(t.Context(), filepath.Join(filepath.Dir(path), ".nanobot"), sqlite.Options{}))(t)
	in := channels.Incoming{Chat: channels.Chat{Channel: "discord", ID: "7"}, ID: "1", User: channels.User{ID: "5"}, Group: true}
	musttest.Get(db.Receive(t.Context(), store.ReceiveRequest{In: in, Settle: true, Remember: choice.Remember("coder")}))(t)
	musttest.Do(t, db.Close())
	for text, want := range map[string]string{
		"hello": "coder answers: the chat has chosen it, and rule 2 allows that.\nRule 2 matches: kind group.\n" +
			"Without the chat's choice, default would answer.\nPeople can choose with /agent: coder, default.\n",
		"/faq": "faq answers: rule 1.\nRule 1 matches: command faq.\nIt gets the text \"\".\n" +
			"The chat has chosen coder, which does not count for this message.\n",
	} {
		out, err := programCommand(t, "routes", "--config", path, "--chat", "discord:7", text).CombinedOutput()
		if err != nil || string(out) != want {
			t.Errorf("%s: %v\n%s", text, err, out)
		}
	}
}

// routedAgents returns sections with agents that say their names and the text, and with rules.
func routedAgents(rules ...string) string {
	var agents []string
	for _, name := range []string{"faq", "ops", "eyes", "vip"} {
		command := fmt.Sprintf(`case "$NANOBOT_TEXT" in slow) while [ ! -e go ]; do sleep 0.01; done;; esac; echo "%s: $NANOBOT_TEXT"`, name)
		agents = append(agents, fmt.Sprintf(`%q: {"command": %q, "stdin": "none"}`, name, command))
	}
	return `}, "agents": {` + strings.Join(agents, ", ") + `}, "routes": [` + strings.Join(rules, ", ") + `], "log": {"level": "info"`
}

// replaceConfig replaces a part of a config and has the daemon read it.
func replaceConfig(t *testing.T, p *program, path, before, after string) {
	t.Helper()
	text := string(musttest.Get(os.ReadFile(path))(t))
	if !strings.Contains(text, before) {
		t.Fatalf("the config has no %s", before)
	}
	musttest.Do(t, os.WriteFile(path, []byte(strings.ReplaceAll(text, before, after)), 0o600))
	p.signal(syscall.SIGHUP)
	p.awaitLog("config reloaded")
}

func TestTelegramMessagesAreRoutedByTopicPersonCommandAndFile(t *testing.T) {
	t.Parallel()
	b := &telegramBot{api: telegramtest.New(t)}
	topic := b.api.AddTopic(supergroup, "ops")
	other := b.api.AddTopic(supergroup, "other")
	inTopic := fmt.Sprintf(`{"match": {"chat": "%d", "topic": "%d"}, "agent": "ops"}`, supergroup, topic)
	setup := telegramSetup{agent: echo, allow: `7", "8`, gateway: routedAgents(`{"match": {"command": "faq"}, "agent": "faq"}`, inTopic,
		`{"match": {"media": "image/*"}, "agent": "eyes"}`, `{"match": {"user": "8"}, "agent": "vip", "switch": ["faq"]}`)}
	b.cfg = setup.writeConfig(t, b.api)
	b.program = startProgram(t, "serve", "--config", b.cfg)
	post := func(topic int, text string) {
		b.api.UserPosts(telegramtest.UserPost{Chat: supergroup, From: 7, Topic: topic, Text: text})
	}
	post(topic, "@nano_test_bot up?")
	b.api.WaitForText(t, supergroup, "ops: up?")
	post(other, "@nano_test_bot up?")
	b.api.WaitForText(t, supergroup, "you said up?")
	post(topic, "/faq@nano_test_bot how?")
	b.api.WaitForText(t, supergroup, "faq: how?")
	b.api.UserPosts(telegramtest.UserPost{Chat: 7, Text: "look", Media: &telegramtest.Media{Kind: "photo", Content: telegramtest.PNG(9, 9)}})
	b.api.WaitForText(t, 7, "eyes: look")
	b.api.UserSends(8, "hello")
	b.api.WaitForText(t, 8, "vip: hello")
	b.api.UserSends(8, "/agent faq")
	b.api.WaitForText(t, 8, "Your next message goes to faq.")
	b.api.UserSends(8, "hello")
	b.api.WaitForText(t, 8, "faq: hello")
	b.awaitMenu(t, `{"command":"faq","description":"ask faq"}`)

	// A message that waits goes to the agent that it was accepted for.
	post(topic, "@nano_test_bot slow")
	post(topic, "@nano_test_bot waits")
	db := musttest.Get(sqlite.Open(t.Context(), filepath.Join(filepath.Dir(b.cfg), ".nanobot"), sqlite.Options{Shared: true}))(t)
	for deadline := time.Now().Add(waitTimeout); musttest.Get(db.CountPending(t.Context(), channels.Chat{}))(t) == 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no message waits")
		}
	}
	musttest.Do(t, db.Close())
	replaceConfig(t, b.program, b.cfg, fmt.Sprintf(`"topic": "%d"}, "agent": "ops"`, topic), fmt.Sprintf(`"topic": "%d"}, "agent": "vip"`, topic))
	post(topic, "@nano_test_bot after")
	b.api.AwaitPending(0, telegramtest.WaitLimit)
	musttest.Do(t, os.WriteFile(filepath.Join(filepath.Dir(b.cfg), "go"), nil, 0o600))
	for _, want := range []string{"ops: slow", "ops: waits", "vip: after"} {
		b.api.WaitForText(t, supergroup, want)
	}
	replaceConfig(t, b.program, b.cfg, `"command": "faq"}`, `"command": "ask"}`)
	b.awaitMenu(t, `{"command":"ask","description":"ask faq"}`)
	b.stopCleanly()
}

// awaitMenu waits until a call has set a menu of Telegram with a command, as JSON.
func (b *telegramBot) awaitMenu(t *testing.T, want string) {
	t.Helper()
	calls, ok := b.api.AwaitCalls("setMyCommands", telegramtest.WaitLimit, func(calls []telegramtest.Call) bool {
		return slices.ContainsFunc(calls, func(c telegramtest.Call) bool { return strings.Contains(c.Params["commands"], want) })
	})
	if !ok {
		t.Errorf("no menu has %s: %+v", want, calls)
	}
}

func TestDiscordMessagesAreRoutedByThreadPersonCommandAndFile(t *testing.T) {
	t.Parallel()
	b := &discordBot{test: t, api: discordtest.New(t)}
	b.dm = b.api.DM(ada).ID
	guild := b.api.AddGuild("guild").ID
	ops, hall := b.api.AddChannel(guild, "ops").ID, b.api.AddChannel(guild, "hall").ID
	ofOps, special := b.api.AddThread(ops, "one").ID, b.api.AddThread(hall, "two").ID
	setup := discordSetup{agent: echo, gateway: routedAgents(`{"match": {"command": "faq"}, "agent": "faq"}`, `{"match": {"chat": "`+ops+`"}, "agent": "ops"}`,
		`{"match": {"topic": "`+special+`"}, "agent": "vip"}`, `{"match": {"media": "image/*"}, "agent": "eyes"}`, `{"match": {"kind": "private", "user": "`+ada+`"}, "agent": "vip"}`)}
	b.cfg = setup.writeConfig(t, b.api)
	b.start()
	me := "<@" + b.api.Bot.ID + "> "
	for _, c := range []struct{ channel, text, want string }{
		{ops, me + "up?", "ops: up?"},
		{ofOps, me + "up?", "ops: up?"},
		{special, me + "up?", "vip: up?"},
		{hall, me + "up?", "you said up?"},
		{hall, me + "/faq how?", "faq: how?"},
		{b.dm, "hello", "vip: hello"},
	} {
		b.api.UserSends(c.channel, ada, c.text)
		b.api.WaitForText(t, c.channel, c.want)
	}
	b.api.UserSends(b.dm, ada, "look", discordtest.File{Name: "x.png", Content: []byte("x")})
	b.api.WaitForText(t, b.dm, "eyes: look")
	musttest.Get(b.api.UserRunsCommand(b.dm, ada, "faq", map[string]any{"text": "by menu"}))(t)
	b.api.WaitForText(t, b.dm, "faq: by menu")
	b.stop()
}

func TestThePageIsRoutedByChatPersonCommandAndFile(t *testing.T) {
	t.Parallel()
	b := newWebBotWith(t, `"command": "sh agent.sh", "protocol": "rich"`+routedAgents(`{"match": {"command": "faq"}, "agent": "faq"}`,
		`{"match": {"chat": "web-ops-known-to-nobody-else"}, "agent": "ops"}`, `{"match": {"media": "image/*"}, "agent": "eyes"}`, `{"match": {"user": "bob"}, "agent": "vip"}`))
	send := func(p *browser, chat, text, want string) {
		t.Helper()
		next := p.openEventStream()
		p.sendMessage(chat, text)
		wanttest.Equal(t, text, next("message").data.Text, want)
	}
	ann, bob := b.signIn("--user", "ann"), b.signIn("--user", "bob")
	send(ann, "web-a-known-to-nobody-else", "hello", "re **hello**")
	send(ann, "web-a-known-to-nobody-else", "/faq how?", "faq: how?")
	send(ann, "web-ops-known-to-nobody-else", "up?", "ops: up?")
	send(bob, "web-b-known-to-nobody-else", "hello", "vip: hello")
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	musttest.Do(t, w.WriteField("text", "look"))
	_, err := musttest.Get(w.CreateFormFile("file", "x.png"))(t).Write([]byte("x"))
	musttest.Do(t, err)
	musttest.Do(t, w.Close())
	next := ann.openEventStream()
	status, body := ann.request("POST", "/api/chats/web-a-known-to-nobody-else/messages", w.FormDataContentType(), &form)
	if answer := next("message").data.Text; status != 202 || answer != "eyes: look" {
		t.Errorf("the picture is answered %d %s %q", status, body, answer)
	}
}
