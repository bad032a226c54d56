package main

import (
	"slices"
	"strings"
	"testing"

	"nanobot/channels/telegram/telegramtest"
)

// awaitText waits until a chat shows a message with exactly this text and these buttons.
func (b *telegramBot) awaitText(chat int64, text string, buttons ...string) telegramtest.Message {
	b.t.Helper()
	var found telegramtest.Message
	shown, ok := b.api.AwaitMessages(chat, telegramtest.WaitLimit, func(all []telegramtest.Message) bool {
		i := slices.IndexFunc(all, func(m telegramtest.Message) bool {
			var labels []string
			for _, button := range m.Buttons() {
				labels = append(labels, button.Text)
			}
			return m.TextOrCaption() == text && slices.Equal(labels, buttons)
		})
		if i >= 0 {
			found = all[i]
		}
		return i >= 0
	})
	if !ok {
		b.t.Fatalf("%q %q is not shown: %+v\n%s", text, buttons, shown, b.log())
	}
	return found
}

func TestAPickerOfAnACPAgentIsNoTurn(t *testing.T) {
	t.Parallel()
	b := startTelegramBot(t, telegramSetup{protocol: "acp", command: acpAgent(t, "-modes -configs")})
	b.api.UserSends(7, "/model")
	picker := b.awaitMessage(7, "Which model?")
	b.pressButton(picker, "Large")
	b.awaitText(7, "Model: Large")
	if b.awaitMessage(7, "→ Large (by ").ID != picker.ID {
		t.Error("the picker does not show the choice")
	}
	// Another message closes the picker and is not delayed by it, and neither is a command.
	b.api.UserSends(7, "/mode")
	first := b.awaitMessage(7, "Which mode?")
	b.api.UserSends(7, "state")
	b.awaitText(7, "mode code, model large")
	closed := b.awaitText(7, "Which mode?\n\n→ nothing chosen")
	if closed.ID != first.ID {
		t.Error("another message was closed")
	}
	b.api.UserSends(7, "/mode")
	b.awaitMessage(7, "Which mode?\n1.")
	b.api.UserSends(7, "/stop")
	b.awaitMessage(7, "Nothing is running")
	shown, ok := b.api.AwaitMessages(7, telegramtest.WaitLimit, func(all []telegramtest.Message) bool {
		return !slices.ContainsFunc(all, func(m telegramtest.Message) bool {
			return strings.HasPrefix(m.TextOrCaption(), "Which") && len(m.Buttons()) > 0
		})
	})
	if !ok {
		t.Errorf("a closed picker has buttons: %+v", shown)
	}
	// A name chooses like a button.
	b.api.UserSends(7, "/mode")
	b.awaitMessage(7, "Which mode?\n1.")
	b.api.UserSends(7, "Plan first")
	b.awaitText(7, "Mode: Plan first")
}

func TestAPermissionOfAnACPAgentNeverBlocksTheChat(t *testing.T) {
	t.Parallel()
	b := startTelegramBot(t, telegramSetup{protocol: "acp", command: acpAgent(t, "")})
	const work = "tool t1 execute make test\nask t1 execute make test\nstatus t1 completed"
	b.api.UserSends(7, work+"\nsay first done")
	question := b.awaitMessage(7, "make test\n1.")
	b.api.UserSends(7, "say something else")
	b.awaitMessage(7, "permission selected no\nfirst done")
	b.awaitText(7, "something else")
	if ended := b.awaitMessage(7, "→ refused, since "); ended.ID != question.ID || len(ended.Buttons()) > 0 {
		t.Errorf("the question is %+v", ended)
	}
	b.api.UserSends(7, work+"\nsay second done")
	b.awaitMessage(7, "make test\n1.")
	b.api.UserSends(7, "1")
	b.awaitMessage(7, "permission selected yes\nsecond done")
}
