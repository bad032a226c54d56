package gateway_test

import (
	"slices"
	"strings"
	"testing"

	"nanobot/channels/discord/discordtest"
	"nanobot/channels/telegram/telegramtest"
)

// offering is an agent that offers colours, and repeats every other text.
const offering = `read -r line; text=${line#*\"text\":\"}; text=${text%%\"*}
case $text in
offer) echo '{"type":"delta","text":"Which"}'; echo '{"type":"delta","text":" colour?"}'; echo '{"type":"message","buttons":["Dark red","Blue"]}';;
*) echo "{\"type\":\"message\",\"text\":\"you said $text\"}";;
esac`

func TestAPressIsTheNextMessageAlsoAfterARestart(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, offering).start()
	fx.net.UserWrites("1", "u", "offer")
	offer := fx.awaitText("1", "Which colour?")
	if len(offer.Buttons) != 2 || !strings.HasPrefix(offer.Buttons[0], "say:") {
		t.Fatalf("shown is %+v", offer)
	}
	fx.awaitReceipts()
	fx.stop()
	fx.start()
	fx.net.UserPresses("1", "w", offer.Buttons[0])
	fx.net.UserPresses("1", "u", offer.Buttons[1])
	fx.net.UserWrites("1", "u", "the end")
	fx.expect("1", "Which colour?", "you said Dark red", "you said the end")
}

func TestAPressOnNetworksRemovesTheButtons(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*fixture) chatNetwork{"telegram": openTelegram, "discord": openDiscord} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fx := newFixture(t, offering)
			n := open(fx)
			n.say("offer")
			n.await("Which colour?")
			n.press("Dark red")
			n.await("you said Dark red")
			var ok bool
			switch n := n.(type) {
			case telegramNetwork:
				_, ok = n.api.AwaitMessages(adaOnTelegram, testTimeout, func(all []telegramtest.Message) bool {
					return !slices.ContainsFunc(all, func(m telegramtest.Message) bool { return len(m.Buttons()) > 0 })
				})
			case discordNetwork:
				_, ok = n.api.AwaitMessages(n.dm, testTimeout, func(all []discordtest.Message) bool {
					return !slices.ContainsFunc(all, func(m discordtest.Message) bool { return len(m.Buttons()) > 0 })
				})
			}
			if !ok {
				t.Error("the buttons are still there")
			}
			fx.stop()
		})
	}
}

func TestAPressInATelegramGroupIsOfThePersonWhoPressed(t *testing.T) {
	t.Parallel()
	fx, api := newTelegramFixture(t, "true")
	fx.protocol = newFixture(t, "true").protocol
	fx.terminal.Command = strings.Replace(offering, "*) echo", `*) printf '%s\n' "$line" > pressed; echo`, 1)
	api.AddChat(telegramtest.Chat{ID: -77})
	api.AddUser(telegramtest.User{ID: 8, FirstName: "Bob"})
	fx.start()
	api.UserPosts(telegramtest.UserPost{Chat: -77, From: 7, Text: "@" + api.Bot.Username + " offer"})
	offer := awaitTelegramText(t, api, -77, "Which colour?")
	if strings.Contains(offer.Text, "Dark red") || len(offer.Buttons()) != 2 {
		t.Errorf("shown is %+v", offer)
	}
	api.UserPresses(-77, 8, offer.ID, offer.Buttons()[1].Data)
	awaitTelegramText(t, api, -77, "you said Blue")
	if got := fx.readWorkspace("pressed"); !strings.Contains(got, `"id":"8"`) || !strings.Contains(got, `"group":true`) {
		t.Errorf("the envelope is %s", got)
	}
	fx.stop()
}
