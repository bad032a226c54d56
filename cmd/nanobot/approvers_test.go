package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"nanobot/channels/telegram/telegramtest"
)

// runsCommand is an agent of protocol blocks that wants to run a command.
const runsCommand = `outbox=$(cat)
	case "$outbox" in
	*"[OK] RUN_COMMAND"*) printf '[DONE]\nit ran\n[/DONE]\n';;
	*"Sequence: 1"*) printf '[RUN_COMMAND]\necho yes > ran\n[/RUN_COMMAND]\n';;
	*) printf '[DONE]\nit did not run\n[/DONE]\n';;
	esac`

// awaitQuestion waits for the question of a chat.
func (b *telegramBot) awaitQuestion(chat int64) (question telegramtest.Message) {
	b.t.Helper()
	_, ok := b.api.AwaitMessages(chat, telegramtest.WaitLimit, func(all []telegramtest.Message) bool {
		i := slices.IndexFunc(all, func(m telegramtest.Message) bool {
			return strings.HasPrefix(m.TextOrCaption(), "🔐 Run this command?")
		})
		if i >= 0 {
			question = all[i]
		}
		return i >= 0
	})
	if !ok {
		b.t.Fatalf("nothing was asked: %q", b.texts(chat))
	}
	return question
}

// awaitRefusals waits until people who are no approvers were told n times, and nobody else was.
func (b *telegramBot) awaitRefusals(chat int64, n int) {
	b.t.Helper()
	const refusal = "Only approvers can decide this."
	all, ok := b.api.AwaitCalls("answerCallbackQuery", telegramtest.WaitLimit, func(all []telegramtest.Call) bool {
		return len(slices.DeleteFunc(slices.Clone(all), func(c telegramtest.Call) bool { return c.Params["text"] != refusal })) == n
	})
	if !ok || slices.Contains(b.texts(chat), refusal) {
		b.t.Fatalf("there are not %d refusals: %+v, %q", n, all, b.texts(chat))
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(b.cfg), "ran")); err == nil {
		b.t.Fatal("the command was run")
	}
}

func TestOnlyApproversOfAnAgentPermitWhatItAsksForAlsoAfterAKillAndAReload(t *testing.T) {
	t.Parallel()
	const group, other = int64(-77), int64(-78) // two, because Telegram takes 20 messages a minute in each
	s := telegramSetup{agent: runsCommand, protocol: "blocks", allow: `7", "8`, terminal: `, "progress": "off", "approvers": ["telegram:7"]`, gateway: `, "onCrash": "retry"`}
	b := startTelegramBot(t, s)
	b.api.AddChat(telegramtest.Chat{ID: group})
	b.api.AddChat(telegramtest.Chat{ID: other})
	b.api.UserPosts(telegramtest.UserPost{Chat: group, From: 8, Text: "@nano_test_bot work"})
	question := b.awaitQuestion(group)
	yes := question.Buttons()[0].Data
	b.api.UserPresses(group, 8, question.ID, yes)
	b.awaitRefusals(group, 1)
	b.restart(syscall.SIGKILL, func() {})
	b.api.UserPresses(group, 8, question.ID, yes)
	b.awaitRefusals(group, 2)
	b.api.UserPresses(group, 7, question.ID, yes)
	b.api.WaitForText(t, group, "it ran")

	text, err := os.ReadFile(b.cfg)
	if err == nil {
		err = os.WriteFile(b.cfg, []byte(strings.Replace(string(text), "telegram:7", "telegram:8", 1)), 0o600)
	}
	if err == nil {
		err = os.Remove(filepath.Join(filepath.Dir(b.cfg), "ran"))
	}
	if err != nil {
		t.Fatal(err)
	}
	b.api.UserPosts(telegramtest.UserPost{Chat: other, From: 7, Text: "@nano_test_bot again"})
	question = b.awaitQuestion(other)
	b.signal(syscall.SIGHUP) // the list is that of the moment of the press
	b.awaitLog("config reloaded")
	b.api.UserPresses(other, 7, question.ID, question.Buttons()[0].Data)
	b.awaitRefusals(other, 3)
	b.api.UserPresses(other, 8, question.ID, question.Buttons()[0].Data)
	b.awaitFile("ran")
	b.stopCleanly()
}
