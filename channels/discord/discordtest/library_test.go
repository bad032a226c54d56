package discordtest_test

import (
	"bytes"
	"errors"
	"net/http"
	"net/url"
	"testing"

	"github.com/bwmarrin/discordgo"

	"nanobot/channels/discord/discordtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// redirectTransport sends requests for discord.com to the server, so that the library's global
// addresses stay unchanged.
type redirectTransport struct {
	to   *url.URL
	next http.RoundTripper
}

func (e redirectTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host, r.Host = e.to.Scheme, e.to.Host, e.to.Host
	return e.next.RoundTrip(r)
}

// newLibrarySession returns a session of discordgo that is not open yet.
func (bot *testBot) newLibrarySession() *discordgo.Session {
	bot.t.Helper()
	d := musttest.Get(discordgo.New("Bot " + bot.Token))(bot.t)
	to, _ := url.Parse(bot.URL)
	d.Client.Transport = redirectTransport{to, bot.client.Transport}
	d.Identify.Intents = discordgo.IntentsGuilds | discordgo.IntentsGuildMessages | discordgo.IntentsDirectMessages |
		discordgo.IntentMessageContent
	d.SyncEvents = true
	return d
}

func TestTheLibraryFindsNothingWrongInREST(t *testing.T) {
	bot := newTestBot(t)
	d := bot.newLibrarySession()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	m, err := d.ChannelMessageSendComplex(bot.channel, &discordgo.MessageSend{
		Content: "hi", Files: []*discordgo.File{{Name: "a.txt", Reader: bytes.NewReader([]byte("A"))}},
		AllowedMentions: &discordgo.MessageAllowedMentions{},
		Components: []discordgo.MessageComponent{discordgo.ActionsRow{Components: []discordgo.MessageComponent{
			discordgo.Button{Label: "ok", CustomID: "ok"},
		}}},
	})
	check(err)
	if len(m.Attachments) != 1 || m.Components[0].(*discordgo.ActionsRow).Components[0].(*discordgo.Button).CustomID != "ok" {
		t.Errorf("%+v", m)
	}
	text := "changed"
	_, err = d.ChannelMessageEditComplex(&discordgo.MessageEdit{
		ID: m.ID, Channel: bot.channel, Content: &text, Attachments: &m.Attachments, Components: &[]discordgo.MessageComponent{},
	})
	check(err)
	thread, err := d.MessageThreadStart(bot.channel, m.ID, "talk", 60)
	check(err)
	_, err = d.ChannelMessageSendReply(bot.channel, "reply", m.Reference())
	check(err)
	all, err := d.ChannelMessages(bot.channel, 100, "", "0", "")
	check(err)
	if len(all) != 2 || all[1].Content != "changed" || all[0].ReferencedMessage.ID != m.ID || thread.ID != m.ID {
		t.Errorf("history: %+v", all)
	}
	check(d.ChannelTyping(bot.channel))
	check(d.ChannelMessageDelete(bot.channel, m.ID))
	dm, err := d.UserChannelCreate(bot.user)
	check(err)
	if dm.ID != bot.DM(bot.user).ID {
		t.Errorf("dm: %+v", dm)
	}
	_, err = d.ApplicationCommandBulkOverwrite(bot.ApplicationID, "", []*discordgo.ApplicationCommand{{
		Name: "ask", Description: "it", Options: []*discordgo.ApplicationCommandOption{{
			Type: discordgo.ApplicationCommandOptionString, Name: "text", Description: "what", Required: true,
		}},
	}})
	check(err)
	commands, err := d.ApplicationCommands(bot.ApplicationID, "")
	check(err)
	if len(commands) != 1 || commands[0].Options[0].Name != "text" {
		t.Errorf("commands: %+v", commands)
	}
	_, err = d.ChannelMessageSend("1", "x")
	var apiErr *discordgo.RESTError
	if !errors.As(err, &apiErr) || apiErr.Message.Code != discordgo.ErrCodeUnknownChannel {
		t.Errorf("an unknown channel: %v", err)
	}
}

func TestTheLibraryReceivesResumesAndResponds(t *testing.T) {
	bot := newTestBot(t)
	d := bot.newLibrarySession()
	received, pressed, ready := make(chan string, 10), make(chan error, 1), make(chan bool, 10)
	d.AddHandler(func(_ *discordgo.Session, m *discordgo.MessageCreate) {
		if !m.Author.Bot {
			received <- m.Content
		}
	})
	d.AddHandler(func(_ *discordgo.Session, _ *discordgo.Resumed) { ready <- true })
	d.AddHandler(func(d *discordgo.Session, i *discordgo.InteractionCreate) {
		pressed <- d.InteractionRespond(i.Interaction, &discordgo.InteractionResponse{
			Type: discordgo.InteractionResponseUpdateMessage, Data: &discordgo.InteractionResponseData{Content: i.MessageComponentData().CustomID},
		})
	})
	musttest.Do(t, d.Open())
	defer d.Close()
	bot.AwaitReady(t)
	bot.UserSends(bot.channel, bot.user, "one")
	wanttest.Equal(t, "received", <-received, "one")
	bot.CutConnections()
	bot.UserSends(bot.channel, bot.user, "two")
	wanttest.Equal(t, "received", <-received, "two")
	<-ready
	m := musttest.Get(d.ChannelMessageSendComplex(bot.channel, &discordgo.MessageSend{
		Content: "?", Components: []discordgo.MessageComponent{discordgo.ActionsRow{Components: []discordgo.MessageComponent{
			discordgo.Button{Label: "Stop", CustomID: "stop"},
		}}},
	}))(t)
	i := musttest.Get(bot.UserPresses(bot.user, m.ID, "stop"))(t)
	if err := <-pressed; err != nil {
		t.Error(err)
	}
	if done := bot.AwaitInteraction(t, i.ID); done.Type != discordtest.UpdateMessage {
		t.Errorf("%+v", done)
	}
	bot.WaitForText(t, bot.channel, "stop")
}
