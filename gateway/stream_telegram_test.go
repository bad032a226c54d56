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
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// newTelegramFixture is a fixture with a strict Bot API on loopback, which refuses what exceeds
// Telegram's limits. Unfinished answers are shown by edits, also in private chats.
func newTelegramFixture(t *testing.T, script string) (*fixture, *telegramtest.Server) {
	t.Helper()
	return newTelegramFixtureWith(t, script, func(o *telegram.Options) { o.NoDrafts = true })
}

// newTelegramFixtureWith is newTelegramFixture with changed options.
func newTelegramFixtureWith(t *testing.T, script string, change func(*telegram.Options)) (*fixture, *telegramtest.Server) {
	t.Helper()
	fx := newStreamFixture(t, script)
	api := telegramtest.New(t)
	api.SetFloodControl(telegramtest.TelegramFloodLimits)
	o := telegram.Options{Token: api.Token, APIBase: api.URL, Folder: channelstest.ChatFolders(fx.dir)}
	change(&o)
	ch := musttest.Get(telegram.New(o))(t)
	fx.otherChannels = map[string]channels.Channel{telegram.Name: ch}
	return fx, api
}

// awaitTelegramText waits until the bot shows a chat a message with this text.
func awaitTelegramText(t *testing.T, api *telegramtest.Server, chat int64, words string) telegramtest.Message {
	t.Helper()
	var found telegramtest.Message
	shown, ok := api.AwaitMessages(chat, 2*testTimeout, func(all []telegramtest.Message) bool {
		i := slices.IndexFunc(all, func(m telegramtest.Message) bool { return strings.Contains(m.TextOrCaption(), words) })
		if i >= 0 {
			found = all[i]
		}
		return i >= 0
	})
	if !ok {
		t.Fatalf("chat %d does not show %q but %q", chat, words, messageTexts(shown))
	}
	return found
}

func messageTexts(all []telegramtest.Message) (out []string) {
	for _, m := range all {
		out = append(out, m.TextOrCaption())
	}
	return out
}

// countRefusals returns the number of refused calls.
func countRefusals(api *telegramtest.Server) (n int) {
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
			fx, api := newTelegramFixture(t, `i=0; while [ $i -lt 60 ]; do i=$((i+1)); echo "partial **piece** $i"; sleep 0.1; done; echo "message **piece** 60, and the end"`)
			if chat < 0 {
				api.AddChat(telegramtest.Chat{ID: chat})
			}
			fx.start()
			began := time.Now()
			api.UserPosts(telegramtest.UserPost{Chat: chat, From: 7, Text: "@" + api.Bot.Username + " write"})
			first := awaitTelegramText(t, api, chat, "piece")
			last := awaitTelegramText(t, api, chat, "and the end")
			took := time.Since(began)
			fx.stop()
			all := api.BotMessages(chat)
			if len(all) > 0 && strings.HasPrefix(all[len(all)-1].Text, "✓ done") {
				all = all[:len(all)-1] // it took longer than five seconds
			}
			if len(all) != 1 || last.ID != first.ID || len(last.Entities) != 1 || last.Entities[0].Type != "bold" {
				t.Errorf("shown is %+v", all)
			}
			if len(first.Buttons()) != 1 || len(last.Buttons()) != 0 {
				t.Errorf("the buttons were %+v, and %+v in the end", first.Buttons(), last.Buttons())
			}
			for _, c := range api.Calls("sendMessage") {
				if strings.Contains(c.Params["text"], "⏳") {
					t.Errorf("there was a board: %q", c.Params["text"])
				}
			}
			// The agent takes six seconds, and longer on a busy machine.
			if last.Edits < 2 || last.Edits > 1+int(took/(1500*time.Millisecond)) || countRefusals(api) > 0 {
				t.Errorf("%d edits in %s, %d refusals", last.Edits, took, countRefusals(api))
			}
		})
	}
}

func TestTelegramShowsAnUnfinishedAnswerAsADraftInAPrivateChat(t *testing.T) {
	t.Parallel()
	fx, api := newTelegramFixtureWith(t, `echo partial slow; sleep 5; `+waitForFileScript("shown")+`echo message slow and steady`, func(*telegram.Options) {})
	fx.start()
	api.UserSends(7, "write")
	fx.awaitTrue("the draft", func() bool { d, _ := api.Draft(7); return d.Text == "slow" })
	fx.touchFile("shown")
	last := awaitTelegramText(t, api, 7, "steady")
	fx.stop()
	if shown := api.BotMessages(7); len(shown) != 1 || last.Silent || last.Edits > 0 {
		t.Errorf("shown is %+v", shown)
	}
	if d, ok := api.Draft(7); ok {
		t.Errorf("the draft is still shown: %+v", d)
	}
}

func TestWithoutDraftsTheFirstAnswerInAPrivateChatGrowsAndCanBeStopped(t *testing.T) {
	t.Parallel()
	fx, api := newTelegramFixtureWith(t, `echo partial slow; `+waitForFileScript("never"), func(*telegram.Options) {})
	api.ForgetMethods("sendMessageDraft")
	fx.start()
	api.UserSends(7, "write")
	shown := awaitTelegramText(t, api, 7, "slow")
	wanttest.Equal(t, "drafts tried:", len(api.Calls("sendMessageDraft")), 1)
	if all := api.Calls("sendMessage"); len(all) != 1 || len(shown.Buttons()) != 1 {
		t.Fatalf("%d messages, the buttons are %+v", len(all), shown.Buttons())
	}
	api.UserPresses(7, 7, shown.ID, shown.Buttons()[0].Data)
	if all, ok := api.AwaitMessages(7, testTimeout, func(all []telegramtest.Message) bool {
		return !slices.ContainsFunc(all, func(m telegramtest.Message) bool { return m.Text == "slow" || len(m.Buttons()) > 0 })
	}); !ok {
		t.Errorf("shown is %+v", all)
	}
}

func TestTelegramNotifiesOfASlowAnswer(t *testing.T) {
	t.Parallel()
	fx, api := newTelegramFixture(t, `echo partial slow; sleep 5; `+waitForFileScript("shown")+`echo message slow and steady`)
	api.AddUser(telegramtest.User{ID: 7, FirstName: "Anna", LanguageCode: "de"})
	fx.start()
	api.UserSends(7, "write")
	first := awaitTelegramText(t, api, 7, "slow")
	fx.touchFile("shown")
	last := awaitTelegramText(t, api, 7, "steady")
	done := awaitTelegramText(t, api, 7, "✓ fertig, ")
	fx.stop()
	if last.ID != first.ID || !last.Silent || done.Silent {
		t.Errorf("shown is %+v, then %+v", last, done)
	}
	if shown := api.BotMessages(7); len(shown) != 2 {
		t.Errorf("shown is %q", messageTexts(shown))
	}
}

func TestATelegramTextThatWasStreamedBecomesTheCaptionOfItsFile(t *testing.T) {
	t.Parallel()
	fx, api := newTelegramFixture(t, `echo partial look; `+waitForFileScript("shown")+`echo "message file=$PWD/a.png look at this"; `+waitForFileScript("go"))
	musttest.Do(t, os.WriteFile(filepath.Join(fx.dir, "a.png"), telegramtest.PNG(40, 40), 0o600))
	fx.start()
	api.UserSends(7, "write")
	awaitTelegramText(t, api, 7, "look")
	fx.touchFile("shown")
	shown, ok := api.AwaitMessages(7, testTimeout, func(all []telegramtest.Message) bool {
		return len(all) == 1 && all[0].Caption == "look at this" && all[0].File() != nil
	})
	if !ok {
		t.Errorf("shown is %q", messageTexts(shown))
	}
	fx.touchFile("go")
}

func TestATelegramAnswerGrowsIntoSeveralMessagesAndThenADocument(t *testing.T) {
	t.Parallel()
	fx, api := newTelegramFixture(t, `echo partial words:300; `+waitForFileScript("one")+`echo partial words:1000; `+waitForFileScript("two")+`echo partial words:9000; echo "message words:9000"; `+waitForFileScript("go"))
	fx.start()
	api.UserSends(7, "write")
	awaitTelegramText(t, api, 7, "w00299")
	fx.touchFile("one")
	awaitTelegramText(t, api, 7, "w00999")
	if shown := api.BotMessages(7); len(shown) != 2 {
		t.Errorf("%d transients", len(shown))
	}
	fx.touchFile("two")
	shown, ok := api.AwaitMessages(7, 2*testTimeout, func(all []telegramtest.Message) bool { return len(all) == 3 && all[2].File() != nil })
	if !ok || !strings.Contains(shown[0].Text, "w00000") || !strings.HasSuffix(shown[1].Text, "w00999\n\n… (the whole answer is in the file below)") {
		t.Fatalf("shown is %q", messageTexts(shown))
	}
	if end := shown[2].Caption; !strings.HasPrefix(end, "…") || !strings.HasSuffix(end, "w08998 w08999") {
		t.Errorf("the document comes with %q", end)
	}
	if sent := api.Calls("sendDocument"); len(sent) != 1 || string(sent[0].Uploads[0].Content) != numberedWords("9000") {
		t.Errorf("%d documents", len(sent))
	}
	fx.touchFile("go")
}

func TestRateLimitedEditsOnTelegramDoNotDelayTheAnswer(t *testing.T) {
	t.Parallel()
	for name, seconds := range map[string]int{"short": 1, "long": 1800} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fx, api := newTelegramFixture(t, `echo partial one; `+waitForFileScript("shown")+`echo partial one two; sleep 3; echo message one two three; echo message next`)
			api.SetFault(func(c telegramtest.Call) telegramtest.Fault {
				if c.Method == "editMessageText" {
					return telegramtest.RateLimited(seconds)
				}
				return telegramtest.Fault{}
			})
			fx.start()
			began := time.Now()
			api.UserSends(7, "write")
			awaitTelegramText(t, api, 7, "one")
			fx.touchFile("shown")
			awaitTelegramText(t, api, 7, "next")
			took := time.Since(began)
			fx.stop()
			wanttest.Equal(t, "shown is", strings.Join(messageTexts(api.BotMessages(7)), "|"), "one two three|next")
			if n := len(api.Calls("editMessageText")); n > max(6, 1+int(took/(1500*time.Millisecond))) {
				t.Errorf("%d edits were tried in %s", n, took)
			}
		})
	}
}
