package gateway_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/channels/channelstest"
	"nanobot/channels/discord"
	"nanobot/channels/discord/discordtest"
	"nanobot/channels/telegram"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/gateway"
	"nanobot/internal/musttest"
	"nanobot/internal/words"
)

// wordsAgent fails for a message with "mistake", and else works until the file "go" exists.
const wordsAgent = `read -r line; case $line in
	*mistake*) exit 3;;
	*) while ! test -e go; do sleep 0.01; done; echo worked;; esac`

func TestInATelegramGroupEverybodyReadsTheirOwnLanguage(t *testing.T) {
	t.Parallel()
	const group, anna, bob = -100123, 7, 8
	fx := newFixture(t, wordsAgent)
	fx.boardDelay = time.Millisecond
	fx.settings.Words.Overrides = map[string]string{"queued": "One moment, please.", "queued.de": "Einen Moment bitte."}
	api := telegramtest.New(t)
	api.AddUser(telegramtest.User{ID: anna, FirstName: "Anna", LanguageCode: "de"})
	api.AddUser(telegramtest.User{ID: bob, FirstName: "Bob", LanguageCode: "en"})
	api.AddChat(telegramtest.Chat{ID: group, Type: "supergroup", Title: "Team"})
	ch := musttest.Get(telegram.New(telegram.Options{Token: api.Token, APIBase: api.URL, Folder: channelstest.ChatFolders(fx.dir), NoReactions: true, Unpaced: true}))(t)
	fx.otherChannels = map[string]channels.Channel{telegram.Name: ch}
	fx.start()
	writes := func(from int64, text string) int {
		return api.UserPosts(telegramtest.UserPost{Chat: group, From: from, Text: text}).ID
	}
	// answered waits for a message that answers another one.
	answered := func(to int, text string) telegramtest.Message {
		t.Helper()
		m := awaitTelegramText(t, api, group, text)
		if m.ReplyTo == nil || m.ReplyTo.ID != to {
			t.Errorf("%q answers %+v, want %d", text, m.ReplyTo, to)
		}
		return m
	}
	answered(writes(anna, "/help@nano_test_bot"), "/help: diese Befehle auflisten")
	answered(writes(bob, "/help@nano_test_bot"), "/help: list these commands")

	board := answered(writes(anna, "@nano_test_bot work"), "In Arbeit…")
	if b := board.Buttons(); len(b) != 1 || b[0].Text != "Stopp" {
		t.Errorf("the board has the buttons %+v", b)
	}
	waits := answered(writes(bob, "@nano_test_bot work, too"), "One moment, please.")
	if b := waits.Buttons(); len(b) != 1 || b[0].Text != "Cancel" {
		t.Errorf("the notice has the buttons %+v", b)
	}
	waits = answered(writes(anna, "@nano_test_bot mistake"), "Einen Moment bitte.")
	if b := waits.Buttons(); len(b) != 1 || b[0].Text != "Abbrechen" {
		t.Errorf("the notice has the buttons %+v", b)
	}
	fx.touchFile("go")
	awaitTelegramText(t, api, group, "Exit-Code: 3")
	answered(writes(bob, "@nano_test_bot mistake"), "Exit code: 3")
}

func TestTheMenusOfTelegramFollowTheWordsWithoutARestart(t *testing.T) {
	t.Parallel()
	fx, api := newTelegramFixture(t, "true")
	fx.start()
	menu := func(language, part string) func([]telegramtest.Call) bool {
		return func(all []telegramtest.Call) bool {
			return slices.ContainsFunc(all, func(c telegramtest.Call) bool {
				return c.Params["language_code"] == language && strings.Contains(c.Params["commands"], part)
			})
		}
	}
	for language, part := range map[string]string{"": "start a new conversation", "de": "ein neues Gespräch beginnen"} {
		if _, ok := api.AwaitCalls("setMyCommands", testTimeout, menu(language, part)); !ok {
			t.Fatalf("no menu in %q has %q", language, part)
		}
	}
	fx.reload(func(s *gateway.Settings) {
		s.Words = words.Settings{Overrides: map[string]string{"helpNew": "forget it all", "helpNew.de": "alles vergessen"}}
	})
	for language, part := range map[string]string{"": "forget it all", "de": "alles vergessen"} {
		if _, ok := api.AwaitCalls("setMyCommands", testTimeout, menu(language, part)); !ok {
			t.Fatalf("no menu in %q has %q", language, part)
		}
	}
	calls := len(api.Calls("setMyCommands"))
	fx.reload(func(s *gateway.Settings) { s.RatePerMinute = 100 })
	fx.stop()
	if got := len(api.Calls("setMyCommands")); got != calls {
		t.Errorf("%d menus were set without a change", got-calls)
	}
}

func TestDiscordSpeaksTheLanguageOfAnInteraction(t *testing.T) {
	t.Parallel()
	const anna, bob = "81", "82"
	fx := newFixture(t, "true")
	api := discordtest.New(t)
	api.AddUser(discordtest.User{ID: anna, Username: "anna", Locale: "de"})
	api.AddUser(discordtest.User{ID: bob, Username: "bob"})
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	ch := musttest.Get(discord.New(discord.Options{
		Token: api.Token, APIBase: api.URL, Log: zap.NewNop(), People: []string{anna, bob}, Client: &http.Client{Transport: transport},
		Folder: channelstest.ChatFolders(fx.dir),
	}))(t)
	fx.otherChannels = map[string]channels.Channel{discord.Name: ch}
	fx.start()
	api.AwaitReady(t)
	described := func(description, german string) {
		t.Helper()
		fx.awaitTrue(description, func() bool {
			return slices.ContainsFunc(api.Commands(""), func(c discordtest.Command) bool {
				return c.Name == "new" && c.Description == description && c.Descriptions["de"] == german
			})
		})
	}
	described("start a new conversation", "ein neues Gespräch beginnen")
	for user, want := range map[string]string{anna: "Es läuft nichts.", bob: "Nothing is running."} {
		dm := api.DM(user).ID
		musttest.Get(api.UserRunsCommand(dm, user, "stop", nil))(t)
		shown, ok := api.AwaitMessages(dm, testTimeout, func(all []discordtest.Message) bool {
			return slices.ContainsFunc(all, func(m discordtest.Message) bool { return m.Content == want })
		})
		if !ok {
			t.Errorf("%s reads %+v, want %q", user, shown, want)
		}
	}
	fx.reload(func(s *gateway.Settings) {
		s.Words = words.Settings{Overrides: map[string]string{"helpNew": "forget it all", "helpNew.de": "alles vergessen"}}
	})
	described("forget it all", "alles vergessen")
}
