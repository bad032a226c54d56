package gateway_test

import (
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
