package gateway_test

import (
	"strings"
	"testing"

	"nanobot/channels"
	"nanobot/channels/channelstest"
	"nanobot/channels/telegram"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/gateway/store"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal/rich"
)

func TestTheReactionToAnAnsweredMessageComesAfterARestart(t *testing.T) {
	t.Parallel()
	const group = -77
	for name, c := range map[string]struct {
		crash      bool // after the answer was sent, before that is stored; otherwise it waits in the outbox
		atMostOnce bool
		script     string
		texts, end string
	}{
		"the answer waits":                    {script: echo, texts: "you said go", end: "👌"},
		"the answer of a failed turn waits":   {script: echo + "; exit 3", texts: "you said go|Exit code: 3", end: "💔"},
		"sent and not stored":                 {crash: true, script: echo, texts: "you said go|↻ you said go", end: "👌"},
		"sent and not stored, never repeated": {crash: true, atMostOnce: true, script: echo, texts: "you said go", end: "👌"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fx, api := newTelegramFixture(t, c.script)
			api.SetFloodControl(telegramtest.FloodLimits{})
			fx.protocol, fx.settings.AtMostOnce = rich.Protocol{}, c.atMostOnce
			fx.settings.AllowFrom[telegram.Name] = []string{"*"}
			api.AddChat(telegramtest.Chat{ID: group})
			api.AddUser(telegramtest.User{ID: 7})
			released := make(chan struct{})
			api.SetFault(func(call telegramtest.Call) telegramtest.Fault {
				switch {
				case call.Method != "sendMessage":
					return telegramtest.Fault{}
				case c.crash:
					return telegramtest.Fault{HangUntil: released}
				default:
					return telegramtest.RateLimited(1)
				}
			})
			if c.crash {
				fx.startCrashing(storeWrite{method: "Settle", number: 1})
			} else {
				fx.start()
			}
			question := api.UserPosts(telegramtest.UserPost{Chat: group, From: 7, Text: "@" + api.Bot.Username + " go"})
			fx.awaitTrue("the end of the turn", func() bool {
				recent := musttest.Get(fx.store.Recent(t.Context(), channels.Chat{Channel: telegram.Name, ID: "-77"}, 1))(t)
				return len(recent) == 1 && recent[0].State == store.Done
			})
			fx.awaitTrue("the first reaction", func() bool { return api.Reaction(group, question.ID) == "👀" })
			close(released)
			if c.crash {
				fx.awaitCrash()
			} else {
				fx.stop()
			}
			wanttest.Equal(t, "the reaction before the restart", api.Reaction(group, question.ID), "👀")
			api.SetFault(nil)
			o := telegram.Options{Token: api.Token, APIBase: api.URL, Folder: channelstest.ChatFolders(fx.dir), NoDrafts: true}
			fx.otherChannels = map[string]channels.Channel{telegram.Name: musttest.Get(telegram.New(o))(t)}
			fx.wrapStore = nil
			fx.start()
			fx.awaitTrue("the last reaction", func() bool { return api.Reaction(group, question.ID) == c.end })
			wanttest.Equal(t, "shown is", strings.Join(messageTexts(api.BotMessages(group)), "|"), c.texts)
			fx.stop()
			wanttest.Equal(t, "reactions", len(api.Calls("setMessageReaction")), 2)
		})
	}
}
