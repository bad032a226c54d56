package gateway_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"nanobot/channels"
	"nanobot/channels/telegram"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/gateway/store"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal/rich"
)

func TestAPersonWhoHasBlockedTheBotOnTelegramCostsOneRefusedCall(t *testing.T) {
	t.Parallel()
	fx, api := newTelegramFixture(t, threeMessages)
	api.SetFloodControl(telegramtest.FloodLimits{})
	fx.protocol = rich.Protocol{}
	fx.settings.AllowFrom[telegram.Name] = []string{"*"}
	fx.start()
	api.AddUser(telegramtest.User{ID: 7})
	api.UserSends(7, "go")
	api.Block(7)
	chat := channels.Chat{Channel: telegram.Name, ID: "7"}
	fx.awaitTrue("the failures", func() bool {
		left := musttest.Get(fx.store.Undelivered(t.Context(), chat, 10))(t)
		return len(left) > 0 && left[0].State == store.Failed && left[0].Out.Text == "m3"
	})
	left := musttest.Get(fx.store.Undelivered(t.Context(), chat, 10))(t)
	for _, delivery := range left {
		if !strings.Contains(delivery.Err, "bot was blocked by the user") {
			t.Errorf("the reason is %q", delivery.Err)
		}
	}
	sent := 3 - len(left) // before the person has blocked the bot
	wanttest.Equal(t, "refused calls", len(api.Calls("sendMessage"))-sent, 1)
}

func TestAGroupThatHasRemovedTheBotCostsOneRefusedCallForAllItsTopics(t *testing.T) {
	t.Parallel()
	const group = -1001234567890
	fx, api := newTelegramFixtureWith(t, strings.Replace(echo, "; echo", "; "+waitForFileScript(`"$text"`)+"echo", 1), func(o *telegram.Options) {
		o.NoDrafts, o.NoReactions, o.Groups = true, true, "all"
	})
	api.SetFloodControl(telegramtest.FloodLimits{})
	api.SetPrivacyMode(false)
	fx.protocol, fx.slots = rich.Protocol{}, 6
	fx.settings.AllowFrom[telegram.Name] = []string{"*"}
	fx.start()
	var topics []int
	for i := range 6 {
		topics = append(topics, api.AddTopic(group, strconv.Itoa(i)))
	}
	ask := func(topic int, text string) {
		api.UserPosts(telegramtest.UserPost{Chat: group, From: 7, Topic: topic, Text: text})
	}
	ask(topics[0], "first")
	for _, topic := range topics[1:] {
		ask(topic, "later")
	}
	chat := func(topic int) channels.Chat {
		return channels.Chat{Channel: telegram.Name, ID: fmt.Sprintf("%d_%d", group, topic)}
	}
	fx.awaitTrue("six turns", func() bool {
		return !slices.ContainsFunc(topics, func(topic int) bool {
			recent := musttest.Get(fx.store.Recent(t.Context(), chat(topic), 1))(t)
			return len(recent) == 0 || recent[0].State != store.Running
		})
	})
	api.Kick(group)
	awaitFailures := func(topics ...int) {
		fx.awaitTrue("the failures", func() bool {
			return !slices.ContainsFunc(topics, func(topic int) bool {
				left := musttest.Get(fx.store.Undelivered(t.Context(), chat(topic), 10))(t)
				return len(left) != 1 || left[0].State != store.Failed || !strings.Contains(left[0].Err, "bot was kicked")
			})
		})
	}
	fx.touchFile("first")
	awaitFailures(topics[0])
	fx.touchFile("later")
	awaitFailures(topics...)
	refused := len(api.Calls("sendMessage")) // none if a typing indicator was refused before
	if refused > 1 {
		t.Errorf("%d calls were refused", refused)
	}
	api.Readmit(group)
	fx.touchFile("again")
	ask(topics[0], "again")
	awaitTelegramText(t, api, group, "you said again")
	wanttest.Equal(t, "calls", len(api.Calls("sendMessage")), refused+1)
}
