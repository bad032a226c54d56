package gateway_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/channels/channelstest"
	"nanobot/channels/telegram"
	"nanobot/channels/telegram/telegramtest"
)

// onTelegram adds a strict Bot API on loopback to a rig, which refuses what is more than Telegram
// allows.
func onTelegram(t *testing.T, script string) (*rig, *telegramtest.Server) {
	t.Helper()
	r := newStream(t, script)
	api := telegramtest.New(t)
	api.SetFloodControl(telegramtest.TelegramFloodLimits)
	ch, err := telegram.New(telegram.Options{
		Token: api.Token, APIBase: api.URL,
		Folder: channelstest.ChatFolders(r.dir),
	})
	if err != nil {
		t.Fatal(err)
	}
	r.also = map[string]channels.Channel{telegram.Name: ch}
	return r, api
}

// awaitWords waits until the bot shows a chat a message with these words.
func awaitWords(t *testing.T, api *telegramtest.Server, chat int64, words string) telegramtest.Message {
	t.Helper()
	var found telegramtest.Message
	shown, ok := api.AwaitMessages(chat, 2*patience, func(all []telegramtest.Message) bool {
		i := slices.IndexFunc(all, func(m telegramtest.Message) bool { return strings.Contains(m.TextOrCaption(), words) })
		if i >= 0 {
			found = all[i]
		}
		return i >= 0
	})
	if !ok {
		t.Fatalf("chat %d does not show %q but %q", chat, words, shownWords(shown))
	}
	return found
}

func shownWords(all []telegramtest.Message) (out []string) {
	for _, m := range all {
		out = append(out, m.TextOrCaption())
	}
	return out
}

// refusals are the calls that were too much.
func refusals(api *telegramtest.Server) (n int) {
	for _, c := range api.Calls("") {
		if c.Status == 429 {
			n++
		}
	}
	return n
}

func TestTelegramShowsAnAnswerWhileItIsWritten(t *testing.T) {
	t.Parallel()
	for name, chat := range map[string]int64{"a person": 7, "a group": -77} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, api := onTelegram(t, `i=0; while [ $i -lt 60 ]; do i=$((i+1)); echo "partial **piece** $i"; sleep 0.1; done; echo "message **piece** 60, and the end"`)
			if chat < 0 {
				api.AddChat(telegramtest.Chat{ID: chat})
			}
			r.start()
			began := time.Now()
			api.UserPosts(telegramtest.UserPost{Chat: chat, From: 7, Text: "@" + api.Bot.Username + " write"})
			first := awaitWords(t, api, chat, "piece")
			last := awaitWords(t, api, chat, "and the end")
			took := time.Since(began)
			r.stop()
			all := api.BotMessages(chat)
			if len(all) != 1 || last.ID != first.ID || len(last.Entities) != 1 || last.Entities[0].Type != "bold" {
				t.Errorf("shown is %+v", all)
			}
			// The agent takes six seconds, and longer on a busy machine.
			if last.Edits < 2 || last.Edits > 1+int(took/(1500*time.Millisecond)) || refusals(api) > 0 {
				t.Errorf("%d edits in %s, %d refusals", last.Edits, took, refusals(api))
			}
		})
	}
}

func TestTelegramNotifiesOfAnAnswerThatTookItsTime(t *testing.T) {
	t.Parallel()
	r, api := onTelegram(t, `echo partial slow; `+until("shown")+`echo message slow and steady`)
	r.notifyAfter = time.Nanosecond
	r.start()
	api.UserSends(7, "write")
	first := awaitWords(t, api, 7, "slow")
	r.touch("shown")
	last := awaitWords(t, api, 7, "steady")
	if last.ID == first.ID || last.Edits > 0 {
		t.Errorf("an edit notifies nobody: %+v", last)
	}
	if shown, ok := api.AwaitMessages(7, patience, func(all []telegramtest.Message) bool { return len(all) == 1 }); !ok {
		t.Errorf("what was shown before stays: %q", shownWords(shown))
	}
}

func TestTelegramAlbumTakesThePlaceOfWhatWasWritten(t *testing.T) {
	t.Parallel()
	r, api := onTelegram(t, `echo partial look; `+until("shown")+`echo "message file=$PWD/a.png look at this"; `+until("go"))
	if err := os.WriteFile(filepath.Join(r.dir, "a.png"), telegramtest.PNG(40, 40), 0o600); err != nil {
		t.Fatal(err)
	}
	r.start()
	api.UserSends(7, "write")
	awaitWords(t, api, 7, "look")
	r.touch("shown")
	shown, ok := api.AwaitMessages(7, patience, func(all []telegramtest.Message) bool { return len(all) == 1 && all[0].Caption == "look at this" })
	if !ok {
		t.Errorf("shown is %q", shownWords(shown))
	}
	r.touch("go")
}

func TestTelegramAnswerGrowsIntoTransientsAndThenIntoADocument(t *testing.T) {
	t.Parallel()
	r, api := onTelegram(t, `echo partial words:300; `+until("one")+`echo partial words:1000; `+until("two")+`echo partial words:9000; echo "message words:9000"; `+until("go"))
	r.start()
	api.UserSends(7, "write")
	awaitWords(t, api, 7, "w00299")
	r.touch("one")
	awaitWords(t, api, 7, "w00999")
	if shown := api.BotMessages(7); len(shown) != 2 {
		t.Errorf("%d transients", len(shown))
	}
	r.touch("two")
	shown, ok := api.AwaitMessages(7, 2*patience, func(all []telegramtest.Message) bool { return len(all) == 1 && all[0].File() != nil })
	if !ok {
		t.Fatalf("shown is %q", shownWords(shown))
	}
	if sent := api.Calls("sendDocument"); len(sent) != 1 || string(sent[0].Uploads[0].Content) != words("9000") {
		t.Errorf("%d documents", len(sent))
	}
	r.touch("go")
}

func TestTelegramStormOnEditsDoesNotKeepTheAnswerWaiting(t *testing.T) {
	t.Parallel()
	for name, seconds := range map[string]int{"short": 1, "long": 1800} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, api := onTelegram(t, `echo partial one; `+until("shown")+`echo partial one two; sleep 3; echo message one two three; echo message next`)
			api.SetFault(func(c telegramtest.Call) telegramtest.Fault {
				if c.Method == "editMessageText" {
					return telegramtest.RateLimited(seconds)
				}
				return telegramtest.Fault{}
			})
			r.start()
			began := time.Now()
			api.UserSends(7, "write")
			awaitWords(t, api, 7, "one")
			r.touch("shown")
			awaitWords(t, api, 7, "next")
			took := time.Since(began)
			r.stop()
			if got := strings.Join(shownWords(api.BotMessages(7)), "|"); got != "one two three|next" {
				t.Errorf("shown is %s", got)
			}
			if n := len(api.Calls("editMessageText")); n > max(6, 1+int(took/(1500*time.Millisecond))) {
				t.Errorf("%d edits were tried in %s", n, took)
			}
		})
	}
}
