package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/musttest"
	"nanobot/internal/pausetest"
)

// maxCallsPerSecond is Telegram's limit for a bot. The daemon aims at less, because calls may
// arrive closer together than they were made.
const maxCallsPerSecond = 30

func TestFiftyChatsWithBoardsStayWithinTheCallsOfASecond(t *testing.T) {
	t.Parallel()
	// On a busy machine calls of different moments arrive together, so that a second is too short.
	const window = 3 * time.Second
	pausetest.Try(t, time.Second, func() error {
		at, actions, err := callsForFiftyChats(t)
		if err != nil {
			return err
		}
		most := 0
		for i, first := 0, 0; i < len(at); i++ {
			for at[i].Sub(at[first]) >= window {
				first++
			}
			most = max(most, i-first+1)
		}
		t.Logf("%d calls, %d of them chat actions, at most %d within %s", len(at), actions, most, window)
		if most > maxCallsPerSecond*int(window/time.Second) || actions == 0 {
			return fmt.Errorf("%d calls within %s, %d chat actions in all", most, window, actions)
		}
		return nil
	})
}

// callsForFiftyChats returns when calls that Telegram limits arrived while boards were shown in
// fifty chats, and how many were chat actions. The error is of a call that Telegram refused.
func callsForFiftyChats(t *testing.T) (at []time.Time, actions int, err error) {
	t.Helper()
	const chats = 50
	b := &telegramBot{api: telegramtest.New(t)}
	b.cfg = telegramSetup{allow: "*", agent: `i=0
		while ! [ -e go ]; do i=$((i+1)); echo "{\"type\":\"progress\",\"text\":\"part $i\"}"; sleep 1; done
		echo '{"type":"message","text":"answer"}'`}.writeConfig(t, b.api)
	runFiftyAgents(t, b.cfg)
	b.program = startProgram(t, "serve", "--config", b.cfg)
	t.Cleanup(func() { _ = os.WriteFile(filepath.Join(filepath.Dir(b.cfg), "go"), nil, 0o600) }) // ends the agents
	for chat := range int64(chats) {
		b.api.UserSends(1000+chat, "work")
	}
	shown := func(text string) func(calls []telegramtest.Call) bool {
		return func(calls []telegramtest.Call) bool {
			seen := map[string]bool{}
			for _, c := range calls {
				if c.Status == 200 && strings.Contains(c.Params["text"], text) {
					seen[c.Params["chat_id"]] = true
				}
			}
			return len(seen) == chats
		}
	}
	if _, ok := b.api.AwaitCalls("", telegramtest.WaitLimit, shown("part")); !ok {
		t.Fatal("not every chat has a board")
	}
	musttest.Do(t, os.WriteFile(filepath.Join(filepath.Dir(b.cfg), "go"), nil, 0o600))
	calls, ok := b.api.AwaitCalls("", telegramtest.WaitLimit, shown("answer"))
	if !ok {
		t.Fatal("not every chat has an answer")
	}
	for _, c := range calls {
		switch c.Method {
		case "getUpdates", "getMe", "setMyCommands", "getMyCommands", "deleteWebhook", "getWebhookInfo":
			continue
		case "sendChatAction":
			actions++
		}
		if c.Status == 429 {
			err = fmt.Errorf("refused: %s %s", c.Method, c.Description)
		}
		at = append(at, c.At)
	}
	return at, actions, err
}

// runFiftyAgents lets fifty agents run at the same time.
func runFiftyAgents(t *testing.T, cfg string) {
	t.Helper()
	text, err := os.ReadFile(cfg)
	if err == nil {
		text = bytes.Replace(text, []byte(`"maxConcurrent": 8`), []byte(`"maxConcurrent": 50`), 1)
		err = os.WriteFile(cfg, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
