package main

import (
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"nanobot/channels/telegram/telegramtest"
)

// awaitShown waits until a chat shows a message that has these words, and buttons or none.
func (b *telegramBot) awaitShown(chat int64, words string, buttons bool) telegramtest.Message {
	b.t.Helper()
	var found telegramtest.Message
	shown, ok := b.api.AwaitMessages(chat, telegramtest.WaitLimit, func(all []telegramtest.Message) bool {
		i := slices.IndexFunc(all, func(m telegramtest.Message) bool {
			return strings.Contains(m.TextOrCaption(), words) && len(m.Buttons()) > 0 == buttons
		})
		if i >= 0 {
			found = all[i]
		}
		return i >= 0
	})
	if !ok {
		b.t.Fatalf("%q with buttons %v is not shown: %+v\n%s", words, buttons, shown, b.log())
	}
	return found
}

func TestAPickerOfAnACPAgentIsNoTurn(t *testing.T) {
	t.Parallel()
	b := startTelegramBot(t, telegramSetup{protocol: "acp", command: acpAgent(t, "-modes -configs")})
	b.api.UserSends(7, "/model")
	picker := b.awaitMessage(7, "Which model?")
	b.pressButton(picker, "Large")
	b.awaitShown(7, "Model: Large", false)
	if b.awaitMessage(7, "→ Large (by ").ID != picker.ID {
		t.Error("the picker does not show the choice")
	}
	// Another message closes the picker and is not delayed by it, and neither is a command.
	b.api.UserSends(7, "/mode")
	first := b.awaitShown(7, "Which mode?", true)
	b.api.UserSends(7, "state")
	b.awaitShown(7, "mode code, model large", false)
	closed := b.awaitShown(7, "Which mode?\n\n→ nothing chosen", false)
	if closed.ID != first.ID {
		t.Error("another message was closed")
	}
	b.api.UserSends(7, "/mode")
	b.awaitShown(7, "Which mode?", true)
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
	b.awaitShown(7, "Which mode?", true)
	b.api.UserSends(7, "Plan first")
	b.awaitShown(7, "Mode: Plan first", false)
}

func TestAPermissionOfAnACPAgentNeverBlocksTheChat(t *testing.T) {
	t.Parallel()
	b := startTelegramBot(t, telegramSetup{protocol: "acp", command: acpAgent(t, "")})
	const work = "tool t1 execute make test\nask t1 execute make test\nstatus t1 completed"
	b.api.UserSends(7, work+"\nsay first done")
	question := b.awaitShown(7, "🔐", true)
	b.api.UserSends(7, "say the next prompt")
	b.awaitMessage(7, "permission selected no\nfirst done")
	b.awaitShown(7, "the next prompt", false)
	if ended := b.awaitMessage(7, "→ refused, since "); ended.ID != question.ID || len(ended.Buttons()) > 0 {
		t.Errorf("the question is %+v", ended)
	}
	b.api.UserSends(7, work+"\nsay second done")
	b.awaitShown(7, "🔐", true)
	b.api.UserSends(7, "1")
	b.awaitMessage(7, "permission selected yes\nsecond done")
}

func TestAFormOfAnACPAgentIsFilledInOnTelegram(t *testing.T) {
	t.Parallel()
	b := startTelegramBot(t, telegramSetup{protocol: "acp", command: acpAgent(t, "")})
	const form = `call elicitation/create {"sessionId":"SESSION","mode":"form","message":"Tell me.","requestedSchema":{"type":"object","properties":{` +
		`"size":{"type":"string","title":"Size","oneOf":[{"const":"s","title":"Small"},{"const":"l","title":"Large"}]},` +
		`"name":{"type":"string","title":"Name"},"count":{"type":"integer","title":"Count"}},"required":["size","name","count"]}}`
	b.api.UserSends(7, form)
	b.pressButton(b.awaitMessage(7, "Size (1 of 3)"), "Large")
	b.awaitMessage(7, "Name (2 of 3)")
	b.api.UserSends(7, "Ada")
	b.awaitMessage(7, "Count (3 of 3)")
	b.api.UserSends(7, "many")
	b.awaitMessage(7, "Please write a whole number.")
	b.api.UserSends(7, "12")
	b.awaitMessage(7, `{"action":"accept","content":{"count":12,"name":"Ada","size":"l"}}`)
	// A link, and /stop.
	b.api.UserSends(7, `call elicitation/create {"sessionId":"SESSION","mode":"url","message":"Sign in.","elicitationId":"1","url":"https://example.com/a_b"}`)
	b.pressButton(b.awaitMessage(7, "Sign in.\n\nhttps://example.com/a_b"), "Done")
	b.awaitMessage(7, `{"action":"accept"}`)
	b.api.UserSends(7, `call elicitation/create {"sessionId":"SESSION","mode":"url","message":"Sign in again.","elicitationId":"2","url":"https://bank.example@evil.example"}`)
	b.pressButton(b.awaitMessage(7, "Sign in again.\n\nhttps://bank.example@evil.example (leads to evil.example)"), "Cancel")
	b.awaitMessage(7, `{"action":"cancel"}`)
	b.api.UserSends(7, form)
	b.awaitShown(7, "Size (1 of 3)", true)
	b.api.UserSends(7, "/stop")
	b.awaitMessage(7, "Stopped.")
	b.awaitMessage(7, "→ no answer")
}

func TestAPressOnTelegramCostsOneEdit(t *testing.T) {
	t.Parallel()
	b := startTelegramBot(t, telegramSetup{protocol: "acp", command: acpAgent(t, "")})
	b.api.UserSends(7, `call elicitation/create {"sessionId":"SESSION","mode":"form","message":"Sure?","requestedSchema":{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}}`)
	question := b.awaitShown(7, "Sure?", true)
	edits := func() (all []telegramtest.Call) {
		for _, method := range []string{"editMessageText", "editMessageReplyMarkup"} {
			for _, c := range b.api.Calls(method) {
				if c.Params["message_id"] == strconv.Itoa(question.ID) {
					all = append(all, c)
				}
			}
		}
		return all
	}
	if question.TextOrCaption() != "Sure?" {
		t.Errorf("the options are named twice: %q", question.TextOrCaption())
	}
	b.pressButton(question, "Yes")
	b.awaitShown(7, `{"action":"accept","content":{"ok":true}}`, false)
	b.awaitShown(7, "→ Yes (by ", false)
	b.signal(syscall.SIGTERM) // after which no call is under way
	if got := b.awaitExit(); got != 0 {
		t.Errorf("status %d", got)
	}
	if all := edits(); len(all) != 1 {
		t.Errorf("the press cost %d edits: %+v", len(all), all)
	}
}

func TestARejectedPermissionIsNotReportedAsNoOutput(t *testing.T) {
	t.Parallel()
	b := startTelegramBot(t, telegramSetup{protocol: "acp", command: acpAgent(t, "")})
	const ask = `{"sessionId":"SESSION","toolCall":{"toolCallId":"t1","title":"make"},"options":[{"optionId":"n","name":"Reject","kind":"reject_once"}]}`
	b.api.UserSends(7, "quiet session/request_permission "+ask)
	b.pressButton(b.awaitShown(7, "🔐", true), "Reject")
	b.awaitShown(7, "→ Reject (by ", false)
	b.api.UserSends(7, "say next")
	b.awaitShown(7, "next", false)
	shown, _ := b.api.AwaitMessages(7, telegramtest.WaitLimit, func([]telegramtest.Message) bool { return true })
	if slices.ContainsFunc(shown, func(m telegramtest.Message) bool { return strings.Contains(m.TextOrCaption(), "no output") }) {
		t.Errorf("the chat shows %+v", shown)
	}
}
