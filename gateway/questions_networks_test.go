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
	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/musttest"
)

func TestTelegramShowsHowAQuestionEnded(t *testing.T) {
	t.Parallel()
	fx, api := newTelegramFixture(t, "true")
	p := newPermissionProtocol()
	fx.protocol = p
	api.AddUser(telegramtest.User{ID: 7, FirstName: "A_d_a *x*"})
	fx.start()
	api.UserSends(7, "work")
	became := func(question telegramtest.Message, words string) {
		t.Helper()
		shown, ok := api.AwaitMessages(7, 2*testTimeout, func(all []telegramtest.Message) bool {
			return slices.ContainsFunc(all, func(m telegramtest.Message) bool {
				return m.ID == question.ID && m.TextOrCaption() == words && len(m.Buttons()) == 0
			})
		})
		if !ok {
			t.Errorf("the question never became %q: %+v", words, shown)
		}
	}
	p.ask <- "Run **make**?"
	question := awaitTelegramText(t, api, 7, "Run make?")
	api.UserPresses(7, 7, question.ID, question.Buttons()[0].Data)
	became(question, "Run make?\n\n→ Allow (by A_d_a *x*)") // a name is no Markdown
	p.ask <- "Delete it?"
	question = awaitTelegramText(t, api, 7, "Delete it?")
	p.withdraw <- "Delete it?"
	became(question, "Delete it?\n\n→ no answer")
	close(p.ask)
	fx.stop()
}

func TestDiscordShowsHowAQuestionEnded(t *testing.T) {
	t.Parallel()
	const ada = "4200000000000000042"
	fx := newStreamFixture(t, "true")
	p := newPermissionProtocol()
	fx.protocol = p
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
	shows := func(words string, buttons int) (found discordtest.Message) {
		t.Helper()
		shown, ok := api.AwaitMessages(dm, testTimeout, func(all []discordtest.Message) bool {
			i := slices.IndexFunc(all, func(m discordtest.Message) bool {
				return strings.HasPrefix(m.Content, words) && len(m.Buttons()) == buttons
			})
			if i >= 0 {
				found = all[i]
			}
			return i >= 0
		})
		if !ok {
			t.Fatalf("%q is not shown, but %+v", words, shown)
		}
		return found
	}
	api.UserSends(dm, ada, "work")
	p.ask <- "Run make?"
	question := shows("Run make?", 2)
	musttest.Get(api.UserPresses(ada, question.ID, question.Buttons()[0].CustomID))(t)
	if ended := shows("Run make?\n\n→ Allow (by ada)", 0); ended.ID != question.ID {
		t.Errorf("it is another message: %+v", ended)
	}
	p.ask <- "Delete it?"
	question = shows("Delete it?", 2)
	p.withdraw <- "Delete it?"
	if ended := shows("Delete it?\n\n→ no answer", 0); ended.ID != question.ID {
		t.Errorf("it is another message: %+v", ended)
	}
	close(p.ask)
	fx.stop()
}
