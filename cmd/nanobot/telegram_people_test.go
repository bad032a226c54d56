package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"nanobot/channels/telegram/telegramtest"
)

// envelopeFieldAgent returns an agent that prints a field of its envelope.
func envelopeFieldAgent(name string) string {
	return `read -r line; value=${line#*'"` + name + `":"'}; echo "{\"type\":\"message\",\"text\":\"${value%%'"'*}\"}"`
}

func TestTelegramTopicsAreChatsOfTheirOwn(t *testing.T) {
	t.Parallel()
	const forum = int64(-1009876543210)
	b := startTelegramBot(t, telegramSetup{agent: envelopeFieldAgent("chat_id")})
	for _, name := range []string{"one", "two"} {
		topic := b.api.AddTopic(forum, name)
		asked := b.api.UserPosts(telegramtest.UserPost{Chat: forum, From: 7, Topic: topic, Text: "@nano_test_bot where are we?"})
		id := fmt.Sprintf("%d_%d", forum, topic)
		m := b.api.WaitForText(t, forum, id)
		if m.Thread != topic || m.ReplyTo == nil || m.ReplyTo.ID != asked.ID {
			t.Errorf("topic %d: the answer is %+v", topic, m)
		}
		if _, err := os.Stat(filepath.Join(filepath.Dir(b.cfg), "users", id)); err != nil {
			t.Error(err)
		}
	}
	asked := b.api.UserPosts(telegramtest.UserPost{Chat: forum, From: 7, Text: "@nano_test_bot and here?"})
	m := b.api.WaitForText(t, forum, fmt.Sprint(forum))
	if m.Thread == asked.ID && m.IsTopicMessage || m.ReplyTo == nil || m.ReplyTo.ID != asked.ID {
		t.Errorf("outside of topics the answer is %+v", m)
	}
}

func TestTelegramInGroupsTheBotAnswersWhoSpeaksToIt(t *testing.T) {
	t.Parallel()
	const group = int64(-77)
	b := startTelegramBot(t, telegramSetup{agent: echo})
	b.api.AddChat(telegramtest.Chat{ID: group})
	say := func(text string, replyTo int) telegramtest.Message {
		return b.api.UserPosts(telegramtest.UserPost{Chat: group, From: 7, Text: text, ReplyTo: replyTo})
	}
	say("good morning all", 0)
	asked := say("@nano_test_bot are you there?", 0)
	first := b.api.WaitForText(t, group, "you said are you there?")
	if first.ReplyTo == nil || first.ReplyTo.ID != asked.ID {
		t.Errorf("the answer is %+v", first)
	}
	say("/whoami@other_bot", 0)
	say("so am I", asked.ID)
	say("/whoami@nano_test_bot", 0)
	b.api.WaitForText(t, group, "user id: 7\nchat: telegram:-77")
	say("tell me more", first.ID)
	b.api.WaitForText(t, group, "you said tell me more")
	if got := b.answers(group); len(got) != 3 {
		t.Errorf("the group shows %q", got)
	}
}

func TestTelegramQuestionIsAnsweredOnlyByPeopleWhoMayPress(t *testing.T) {
	t.Parallel()
	const group = int64(-77)
	b := startTelegramBot(t, telegramSetup{terminal: `, "interactive": true`, agent: `read -r line
		echo '{"type":"ask","id":"q1","text":"Which one?","options":["Red","Blue"]}'
		read -r answer; text=${answer#*'"text":"'}
		echo "{\"type\":\"message\",\"text\":\"painting it ${text%%'"'*}\"}"`})
	b.api.AddChat(telegramtest.Chat{ID: group})
	b.api.UserPosts(telegramtest.UserPost{Chat: group, From: 7, Text: "@nano_test_bot paint"})
	question := b.api.WaitForText(t, group, "Which one?")
	buttons := question.Buttons()
	if len(buttons) != 2 || buttons[0].Text != "Red" || buttons[1].Text != "Blue" {
		t.Fatalf("the buttons are %+v", buttons)
	}
	stranger := b.api.UserPresses(group, 8, question.ID, buttons[0].Data)
	b.awaitAcknowledgement(stranger)
	if !b.api.AwaitPending(0, telegramtest.WaitLimit) {
		t.Fatal("the stranger's press was not received")
	}
	allowed := b.api.UserPresses(group, 7, question.ID, buttons[1].Data)
	b.awaitAcknowledgement(allowed)
	b.api.WaitForText(t, group, "painting it Blue")
	_, gone := b.api.AwaitMessages(group, telegramtest.WaitLimit, func(all []telegramtest.Message) bool {
		i := slices.IndexFunc(all, func(m telegramtest.Message) bool { return m.ID == question.ID })
		return len(all[i].Buttons()) == 0
	})
	if !gone {
		t.Error("the buttons are still there")
	}
}

// awaitAcknowledgement waits until a press was answered, which ends the waiting sign on the button.
func (b *telegramBot) awaitAcknowledgement(query string) {
	b.t.Helper()
	b.api.AwaitCalls("answerCallbackQuery", telegramtest.WaitLimit, func(calls []telegramtest.Call) bool {
		return slices.ContainsFunc(calls, func(c telegramtest.Call) bool { return c.Done && c.Params["callback_query_id"] == query })
	})
	if a, ok := b.api.QueryAnswer(query); !ok || a.Times != 1 {
		b.t.Errorf("the press was answered %d times", a.Times)
	}
}

func TestTelegramTurnThatAKillCutOffRunsAgainByItsButton(t *testing.T) {
	t.Parallel()
	b := startTelegramBot(t, telegramSetup{agent: `read -r line; if [ -e tried ]; then echo '{"type":"message","text":"done"}'; exit; fi
		touch tried; echo '{"type":"message","text":"beginning"}'; exec sleep 300`})
	b.api.UserSends(7, "work")
	b.api.WaitForText(t, 7, "beginning")
	b.restart(syscall.SIGKILL, func() {})
	var report telegramtest.Message
	shown, ok := b.api.AwaitMessages(7, telegramtest.WaitLimit, func(all []telegramtest.Message) bool {
		report = all[len(all)-1] // before it, "beginning" may have been repeated
		return len(report.Buttons()) == 1
	})
	if !ok || !strings.HasPrefix(report.TextOrCaption(), "I was restarted") {
		t.Fatalf("the chat shows %+v", shown)
	}
	b.api.UserPresses(7, 7, report.ID, report.Buttons()[0].Data)
	b.api.WaitForText(t, 7, "done")
}
