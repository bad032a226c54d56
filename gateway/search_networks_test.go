package gateway_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/channels/channelstest"
	"nanobot/channels/discord"
	"nanobot/channels/discord/discordtest"
	"nanobot/channels/telegram"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/musttest"
)

// searchAgent answers with a word of its own.
const searchAgent = `echo "the answer is Übergröße"`

func TestSearchLinksToMessagesOfATelegramGroupAndOfNoOtherChat(t *testing.T) {
	t.Parallel()
	const group, anna = -1001234567890, 7
	fx := newFixture(t, searchAgent)
	fx.settings.Timezone = "UTC"
	api := telegramtest.New(t)
	api.AddUser(telegramtest.User{ID: anna, FirstName: "Anna"})
	api.AddChat(telegramtest.Chat{ID: group, Type: "supergroup", Title: "Team"})
	ch := musttest.Get(telegram.New(telegram.Options{Token: api.Token, APIBase: api.URL, Folder: channelstest.ChatFolders(fx.dir), NoReactions: true, NoDrafts: true, Unpaced: true}))(t)
	fx.otherChannels = map[string]channels.Channel{telegram.Name: ch}
	fx.start()
	asked := api.UserPosts(telegramtest.UserPost{Chat: group, From: anna, Text: "@nano_test_bot which size?"}).ID
	answered := awaitTelegramText(t, api, group, "Übergröße").ID
	api.UserPosts(telegramtest.UserPost{Chat: anna, From: anna, Text: "which one?"})
	awaitTelegramText(t, api, anna, "Übergröße")
	links := func(chat int64, text, want string) (links []string) {
		t.Helper()
		api.UserPosts(telegramtest.UserPost{Chat: chat, From: anna, Text: text})
		for _, e := range awaitTelegramText(t, api, chat, want).Entities {
			if e.URL != "" {
				links = append(links, e.URL)
			}
		}
		return links
	}
	for text, c := range map[string]struct {
		want string
		id   int
	}{
		"/search@nano_test_bot which":     {"Anna: which size?", asked},
		"/search@nano_test_bot ubergross": {"", 0},
		"/search@nano_test_bot ubergröß":  {"bot: the answer is Übergröße", answered},
	} {
		if c.want == "" {
			links(group, text, "No message of this chat has all these words.")
		} else if got := links(group, text, c.want); !slices.Equal(got, []string{fmt.Sprintf("https://t.me/c/1234567890/%d", c.id)}) {
			t.Errorf("%s: the links are %q", text, got)
		}
	}
	if got := links(anna, "/search which", "Anna: which one?"); len(got) > 0 {
		t.Errorf("messages of a private chat have links: %q", got)
	}
	if got := links(anna, "/search size", "No message of this chat has all these words."); len(got) > 0 {
		t.Errorf("messages of another chat are found: %q", got)
	}
}

func TestSearchLinksToMessagesOfDiscord(t *testing.T) {
	t.Parallel()
	const anna = "81"
	fx := newFixture(t, searchAgent)
	api := discordtest.New(t)
	api.AddUser(discordtest.User{ID: anna, Username: "anna"})
	guild := api.AddGuild("home").ID
	room := api.AddChannel(guild, "general").ID
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	ch := musttest.Get(discord.New(discord.Options{
		Token: api.Token, APIBase: api.URL, Log: zap.NewNop(), People: []string{anna}, Client: &http.Client{Transport: transport},
		Folder: channelstest.ChatFolders(fx.dir), Groups: "all",
	}))(t)
	fx.otherChannels = map[string]channels.Channel{discord.Name: ch}
	fx.start()
	api.AwaitReady(t)
	await := func(channel, text string) (found discordtest.Message) {
		t.Helper()
		shown, ok := api.AwaitMessages(channel, testTimeout, func(all []discordtest.Message) bool {
			i := slices.IndexFunc(all, func(m discordtest.Message) bool { return m.Author.ID != anna && strings.Contains(m.Content, text) })
			if i >= 0 {
				found = all[i]
			}
			return i >= 0
		})
		if !ok {
			t.Fatalf("%s shows %+v, want %q", channel, shown, text)
		}
		return found
	}
	for channel, server := range map[string]string{room: guild, api.DM(anna).ID: "@me"} {
		asked := api.UserSends(channel, anna, "which size?").ID
		answered := await(channel, "Übergröße").ID
		address := "](https://discord.com/channels/" + server + "/" + channel + "/"
		api.UserSends(channel, anna, "/search size")
		await(channel, address+asked+"), anna: which size?")
		api.UserSends(channel, anna, "/search answer")
		await(channel, address+answered+"), bot: the answer is Übergröße")
	}
}
