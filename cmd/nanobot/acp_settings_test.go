package main

import (
	"slices"
	"strings"
	"syscall"
	"testing"

	"nanobot/channels/telegram/telegramtest"
)

func TestChosenSettingsOfAnACPAgentOutliveTheDaemon(t *testing.T) {
	t.Parallel()
	b := startTelegramBot(t, telegramSetup{protocol: "acp", command: acpAgent(t, "-resume -forgetful -modes -options")})
	b.api.UserSends(7, "/mode plan")
	b.awaitMessage(7, "Mode: Plan first")
	b.api.UserSends(7, "/config")
	b.pressButton(b.awaitMessage(7, "Which setting?"), "Extended thinking: off")
	b.pressButton(b.awaitMessage(7, "Extended thinking?"), "on")
	b.awaitMessage(7, "Extended thinking: on")
	b.restart(syscall.SIGKILL, func() {})
	b.api.UserSends(7, "state\noptions\nraw {\"sessionUpdate\":\"usage_update\",\"used\":1200,\"size\":9000,\"cost\":{\"amount\":0.372,\"currency\":\"USD\"}}")
	b.awaitMessage(7, "mode plan, model smalleffort low, thinking true")
	const status = "acptest · Small · Plan first · 1k of 9k tokens · 0.37 USD"
	isShown := func(text string) bool { return strings.Contains(text, status) }
	for n := 1; !slices.ContainsFunc(b.texts(7), isShown); n++ { // the details are stored in the background
		b.api.UserSends(7, "/status")
		waiting := func(all []telegramtest.Message) bool {
			answered := 0
			for _, m := range all {
				answered += strings.Count(m.TextOrCaption(), "Waiting: ")
			}
			return answered >= n
		}
		if shown, ok := b.api.AwaitMessages(7, telegramtest.WaitLimit, waiting); !ok || n > 200 {
			t.Fatalf("/status shows %+v", shown)
		}
	}
	b.api.UserSends(7, "/new")
	b.awaitMessage(7, "This is a new conversation")
	b.api.UserSends(7, "history\nstate")
	b.awaitMessage(7, "prompts so far: 1mode plan")
}

func TestACommandWithADashIsInTheMenuAndReachesTheAgent(t *testing.T) {
	t.Parallel()
	b := startTelegramBot(t, telegramSetup{protocol: "acp", command: acpAgent(t, "-resume")})
	b.api.UserSends(7, `raw {"sessionUpdate":"available_commands_update","availableCommands":[{"name":"security-review","description":"Look for holes"}]}`)
	inMenu := func(all []telegramtest.Call) bool {
		return slices.ContainsFunc(all, func(c telegramtest.Call) bool { return strings.Contains(c.Params["commands"], `"security_review"`) })
	}
	if calls, ok := b.api.AwaitCalls("setMyCommands", telegramtest.WaitLimit, inMenu); !ok {
		t.Fatalf("the menus are %+v", calls)
	}
	b.api.UserSends(7, "/security_review all of it")
	b.awaitMessage(7, "You said: /security-review all of it")
	b.api.UserSends(7, "/new")
	b.awaitMessage(7, "This is a new conversation")
	b.restart(syscall.SIGTERM, func() {})
	b.api.UserSends(7, "/security_review again")
	b.awaitMessage(7, "You said: /security-review again")
	b.api.UserSends(7, "/other_command x")
	b.awaitMessage(7, "You said: /other_command x")
}
