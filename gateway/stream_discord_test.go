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

func TestDiscordShowsAnAnswerWhileItIsWritten(t *testing.T) {
	t.Parallel()
	const ada = "4200000000000000042"
	fx := newStreamFixture(t, `echo partial **one**; `+waitForFileScript("shown")+`echo partial **one** two; `+waitForFileScript("edited")+`echo message **one** two three; echo message next`)
	api := discordtest.New(t)
	api.AddUser(discordtest.User{ID: ada, Username: "ada"})
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	ch := musttest.Get(discord.New(discord.Options{
		Token: api.Token, APIBase: api.URL, Log: zap.NewNop(), People: []string{ada}, Client: &http.Client{Transport: transport},
		Folder: channelstest.ChatFolders(fx.dir),
	}))(t)
	fx.otherChannels = map[string]channels.Channel{discord.Name: ch}
	fx.start()
	dm := api.DM(ada).ID
	api.AwaitReady(t)
	api.FailNext("POST /channels/{channel_id}/messages", discordtest.Fault{CutAfter: true}) // what becomes of the first transient is not known
	api.UserSends(dm, ada, "write")
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
	var all []string
	for _, m := range api.BotMessages(dm) {
		all = append(all, m.Content)
	}
	if len(first.Buttons()) != 1 || len(last.Buttons()) != 0 {
		t.Errorf("the buttons were %+v, and %+v in the end", first.Buttons(), last.Buttons())
	}
	if last.ID != first.ID || strings.Join(all, "|") != "**one** two three|next" {
		t.Errorf("shown is %q", all)
	}
}
