package gateway_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"nanobot/channels"
	"nanobot/channels/channelstest"
	"nanobot/channels/telegram"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/gateway/gatewaytest"
	"nanobot/gateway/store"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal/rich"
)

// A Bot API that sends the message and then answers with a server error leaves the outcome unknown:
// the message is repeated with the mark of a repetition, or, with at-most-once delivery, is
// recorded as unknown and not repeated.
func TestASendThatTakesEffectAndThenFailsOnTelegramIsRepeatedWithAMark(t *testing.T) {
	t.Parallel()
	for _, status := range []int{500, 502, 503, 504} {
		for name, atMostOnce := range map[string]bool{"at least once": false, "at most once": true} {
			t.Run(fmt.Sprintf("%d %s", status, name), func(t *testing.T) {
				t.Parallel()
				fx, api := newTelegramFixture(t, threeMessages)
				api.SetFloodControl(telegramtest.FloodLimits{})
				fx.protocol, fx.settings.AtMostOnce = rich.Protocol{}, atMostOnce
				fx.settings.AllowFrom[telegram.Name] = []string{"*"}
				var failed atomic.Bool
				api.SetFault(func(c telegramtest.Call) telegramtest.Fault {
					if c.Method == "sendMessage" && c.Params["text"] == "m2" && failed.CompareAndSwap(false, true) {
						return telegramtest.ErrorAfterEffect(status)
					}
					return telegramtest.Fault{}
				})
				fx.start()
				api.AddUser(telegramtest.User{ID: 7})
				api.UserSends(7, "go")
				awaitTelegramText(t, api, 7, "m3")
				want := "m1 m2 ↻ m2 m3"
				if atMostOnce {
					want = "m1 m2 m3"
				}
				wanttest.Equal(t, "shown is", strings.Join(messageTexts(api.BotMessages(7)), " "), want)
				left := musttest.Get(fx.store.Undelivered(t.Context(), channels.Chat{Channel: telegram.Name, ID: "7"}, 10))(t)
				unknown := slices.ContainsFunc(left, func(delivery store.Delivery) bool {
					return delivery.State == store.Unknown && delivery.Out.Text == "m2"
				})
				if unknown != atMostOnce || len(left) > 1 {
					t.Errorf("not sent are %+v", left)
				}
			})
		}
	}
}

// Telegram refuses an item of an album, which is then sent alone. Only the channel's memory knows
// what was sent, so after a restart the whole is repeated with the mark of a repetition, or, with
// at-most-once delivery, not at all.
func TestAnAlbumThatARestartCutsInTheMiddleIsMarkedOrNotRepeated(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		atMostOnce bool
		captions   string
	}{"at least once": {false, "look||↻ look||"}, "at most once": {true, "look||after"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fx, api := newTelegramFixture(t, `cp wide.png bad.png; echo '{"type":"message","text":"look","media":["'$PWD'/a.png","'$PWD'/a.png","'$PWD'/bad.png"]}'
				echo '{"type":"message","text":"after"}'`)
			writePNG(t, fx.dir, "a.png", 10, 10)
			writePNG(t, fx.dir, "wide.png", 1, 5000)
			api.SetFloodControl(telegramtest.FloodLimits{})
			fx.protocol, fx.settings.AtMostOnce = rich.Protocol{}, c.atMostOnce
			fx.settings.AllowFrom[telegram.Name] = []string{"*"}
			refused := make(chan struct{}, 99)
			api.SetFault(func(c telegramtest.Call) telegramtest.Fault {
				if c.Method == "sendDocument" {
					refused <- struct{}{}
					return telegramtest.ErrorResponse(401, "Unauthorized")
				}
				return telegramtest.Fault{}
			})
			fx.start()
			api.AddUser(telegramtest.User{ID: 7})
			api.UserSends(7, "go")
			<-refused
			fx.stop()
			api.SetFault(nil)
			o := telegram.Options{Token: api.Token, APIBase: api.URL, Folder: channelstest.ChatFolders(fx.dir), NoDrafts: true}
			ch := musttest.Get(telegram.New(o))(t)
			fx.otherChannels = map[string]channels.Channel{telegram.Name: ch}
			fx.start()
			awaitTelegramText(t, api, 7, "after")
			if got := strings.Join(messageTexts(api.BotMessages(7)), "|"); !strings.HasPrefix(got, c.captions) {
				t.Errorf("shown is %q, want %q", got, c.captions)
			}
		})
	}
}

func writePNG(t *testing.T, dir, name string, width, height int) {
	t.Helper()
	musttest.Do(t, os.WriteFile(filepath.Join(dir, name), telegramtest.PNG(width, height), 0o600))
}

// wrappingChannel is a channel that wraps its errors.
type wrappingChannel struct{ *gatewaytest.Channel }

func (w wrappingChannel) Send(ctx context.Context, o channels.Outgoing) (channels.Receipt, error) {
	receipt, err := w.Channel.Send(ctx, o)
	if err != nil {
		err = fmt.Errorf("through a proxy: %w", err)
	}
	return receipt, err
}

func TestAWrappedErrorDoesNotLoseTheMarkOfARepetition(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, threeMessages)
	fx.wrapChannel = func(c *gatewaytest.Channel) channels.Channel { return wrappingChannel{c} }
	fx.net.Fault = faultOnce("m2", gatewaytest.Fault{Disconnect: true})
	fx.start()
	fx.net.UserWrites("1", "u", "go")
	fx.awaitText("1", "m3")
	var repeated []string
	for _, c := range fx.net.Sent("1") {
		if c.Repeat {
			repeated = append(repeated, c.Text)
		}
	}
	if strings.Join(repeated, " ") != "m2" {
		t.Errorf("repeated with the mark are %q", repeated)
	}
}
