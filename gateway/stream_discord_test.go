package gateway_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/channels/channelstest"
	"nanobot/channels/discord"
	"nanobot/channels/discord/discordtest"
	"nanobot/internal/musttest"
)

const discordAda = "4200000000000000042"

// startDiscord starts a fixture with a strict server of Discord on loopback. It returns the server
// and the chat with Ada.
func startDiscord(t *testing.T, fx *fixture) (api *discordtest.Server, dm string) {
	t.Helper()
	api = discordtest.New(t)
	api.AddUser(discordtest.User{ID: discordAda, Username: "ada"})
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	ch := musttest.Get(discord.New(discord.Options{
		Token: api.Token, APIBase: api.URL, Log: zap.NewNop(), People: []string{discordAda}, Client: &http.Client{Transport: transport},
		Folder: channelstest.ChatFolders(fx.dir),
	}))(t)
	fx.otherChannels = map[string]channels.Channel{discord.Name: ch}
	fx.start()
	api.AwaitReady(t)
	return api, api.DM(discordAda).ID
}

func contents(all []discordtest.Message) (texts []string) {
	for _, m := range all {
		texts = append(texts, m.Content)
	}
	return texts
}

func TestDiscordShowsAnAnswerWhileItIsWritten(t *testing.T) {
	t.Parallel()
	fx := newStreamFixture(t, `echo partial **one**; `+waitForFileScript("shown")+`echo partial **one** two; `+waitForFileScript("edited")+`echo message **one** two three; echo message next`)
	api, dm := startDiscord(t, fx)
	api.FailNext("POST /channels/{channel_id}/messages", discordtest.Fault{CutAfter: true}) // what becomes of the first transient is not known
	api.UserSends(dm, discordAda, "write")
	shows := func(text string) discordtest.Message {
		t.Helper()
		var found discordtest.Message
		shown, ok := api.AwaitMessages(dm, testTimeout, func(all []discordtest.Message) bool {
			i := slices.IndexFunc(all, func(m discordtest.Message) bool { return m.Content == text })
			if i >= 0 {
				found = all[i]
			}
			return i >= 0
		})
		if !ok {
			t.Fatalf("%q is not shown, but %+v", text, shown)
		}
		return found
	}
	first := shows("**one**")
	fx.touchFile("shown")
	shows("**one** two")
	fx.touchFile("edited")
	last := shows("**one** two three")
	shows("next")
	fx.stop()
	all := contents(api.BotMessages(dm))
	if len(first.Buttons()) != 1 || len(last.Buttons()) != 0 {
		t.Errorf("the buttons were %+v, and %+v in the end", first.Buttons(), last.Buttons())
	}
	if last.ID != first.ID || strings.Join(all, "|") != "**one** two three|next" {
		t.Errorf("shown is %q", all)
	}
}

func TestALongDiscordAnswerShowsItsEndWhileItIsWrittenAndInTheEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ words, notice, file string }{
		"the five messages have room":    {"1400", "\n\n… (the whole answer is in the file below)", ""},
		"the five messages have no room": {"1425", "", "(the whole answer is in the file)\n\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testLongDiscordAnswer(t, c.words, c.notice, c.file)
		})
	}
}

// testLongDiscordAnswer streams an answer whose beginning fills five messages. notice is what the
// last of them has in the end, and file what the message with the file begins with.
func testLongDiscordAnswer(t *testing.T, count, notice, file string) {
	t.Helper()
	fx := newStreamFixture(t, `echo partial words:`+count+`; `+waitForFileScript("five")+`echo partial words:3000; `+waitForFileScript("long")+`echo message words:3001; `+waitForFileScript("go"))
	api, dm := startDiscord(t, fx)
	api.UserSends(dm, discordAda, "write")
	await := func(what string, ok func(texts []string) bool) []discordtest.Message {
		t.Helper()
		shown, found := api.AwaitMessages(dm, 2*testTimeout, func(all []discordtest.Message) bool { return ok(contents(all)) })
		if !found {
			t.Fatalf("%s: shown is %q", what, contents(shown))
		}
		return shown
	}
	isBeginning := func(texts []string) bool {
		return strings.HasPrefix(strings.Join(texts, " "), numberedWords(count))
	}
	await("five messages", func(texts []string) bool { return len(texts) == 5 && isBeginning(texts) })
	fx.touchFile("five")
	shown := await("the end while it is written", func(texts []string) bool {
		return len(texts) == 6 && isBeginning(texts) && strings.HasSuffix(texts[5], "w02998 w02999")
	})
	for i, m := range shown {
		if stops := len(m.Buttons()) == 1; stops != (i == 5) {
			t.Errorf("message %d has the buttons %+v", i, m.Buttons())
		}
	}
	fx.touchFile("long")
	shown = await("the end", func(texts []string) bool {
		return len(texts) == 6 && isBeginning(texts) && strings.HasSuffix(texts[5], "w02999 w03000")
	})
	if fifth := shown[4].Content; strings.Contains(fifth, "…") != (notice != "") || !strings.HasSuffix(fifth, notice) {
		t.Errorf("the fifth message ends with %q", fifth[len(fifth)-60:])
	}
	if last := shown[5]; !strings.HasPrefix(last.Content, file+"…") || len(last.Attachments) != 1 || last.Attachments[0].Filename != "answer.txt" || len(last.Buttons()) > 0 {
		t.Errorf("the last message is %q with %d files and the buttons %+v", last.Content, len(last.Attachments), last.Buttons())
	}
	fx.touchFile("go")
}

func TestDiscordNotifiesOfASlowAnswerOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ words, notifies string }{
		"it was edited":        {"100", "✓ done, "},
		"its last part is new": {"400", "w00399"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fx := newStreamFixture(t, `echo partial words:50; sleep 5; echo message words:`+c.words)
			api, dm := startDiscord(t, fx)
			api.UserSends(dm, discordAda, "write")
			_, ok := api.AwaitMessages(dm, 2*testTimeout, func(all []discordtest.Message) bool {
				return len(all) > 0 && strings.Contains(all[len(all)-1].Content, c.notifies)
			})
			fx.stop()
			if shown := api.BotMessages(dm); !ok || len(shown) != 2 || len(shown[0].Notified) != 0 || len(shown[1].Notified) != 1 {
				t.Errorf("shown is %+v", shown)
			}
		})
	}
}
