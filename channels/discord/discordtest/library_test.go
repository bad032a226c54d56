package discordtest_test

import (
	"bytes"
	"errors"
	"net/http"
	"net/url"
	"testing"

	"github.com/bwmarrin/discordgo"

	"nanobot/channels/discord/discordtest"
)

// elsewhere sends what is meant for discord.com to the server, so that the library's global
// addresses stay as they are.
type elsewhere struct {
	to   *url.URL
	next http.RoundTripper
}

func (e elsewhere) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host = e.to.Scheme, e.to.Host
	return e.next.RoundTrip(r)
}

// library is a session of discordgo, not yet open.
func (r *rig) library() *discordgo.Session {
	r.t.Helper()
	d, err := discordgo.New("Bot " + r.Token)
	if err != nil {
		r.t.Fatal(err)
	}
	to, _ := url.Parse(r.URL)
	d.Client.Transport = elsewhere{to, r.client.Transport}
	d.Identify.Intents = discordgo.IntentsGuilds | discordgo.IntentsGuildMessages | discordgo.IntentsDirectMessages |
		discordgo.IntentMessageContent
	d.SyncEvents = true
	return d
}

func TestTheLibraryFindsNothingWrongInREST(t *testing.T) {
	r := newRig(t)
	d := r.library()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	m, err := d.ChannelMessageSendComplex(r.channel, &discordgo.MessageSend{
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
		ID: m.ID, Channel: r.channel, Content: &text, Attachments: &m.Attachments, Components: &[]discordgo.MessageComponent{},
	})
	check(err)
	thread, err := d.MessageThreadStart(r.channel, m.ID, "talk", 60)
	check(err)
	_, err = d.ChannelMessageSendReply(r.channel, "reply", m.Reference())
	check(err)
	all, err := d.ChannelMessages(r.channel, 100, "", "0", "")
	check(err)
	if len(all) != 2 || all[1].Content != "changed" || all[0].ReferencedMessage.ID != m.ID || thread.ID != m.ID {
		t.Errorf("history: %+v", all)
	}
	check(d.ChannelTyping(r.channel))
	check(d.ChannelMessageDelete(r.channel, m.ID))
	dm, err := d.UserChannelCreate(r.user)
	check(err)
	if dm.ID != r.DM(r.user).ID {
		t.Errorf("dm: %+v", dm)
	}
	_, err = d.ApplicationCommandBulkOverwrite(r.ApplicationID, "", []*discordgo.ApplicationCommand{{
		Name: "ask", Description: "it", Options: []*discordgo.ApplicationCommandOption{{
			Type: discordgo.ApplicationCommandOptionString, Name: "text", Description: "what", Required: true,
		}},
	}})
	check(err)
	commands, err := d.ApplicationCommands(r.ApplicationID, "")
	check(err)
	if len(commands) != 1 || commands[0].Options[0].Name != "text" {
		t.Errorf("commands: %+v", commands)
	}
	_, err = d.ChannelMessageSend("1", "x")
	var no *discordgo.RESTError
	if !errors.As(err, &no) || no.Message.Code != discordgo.ErrCodeUnknownChannel {
		t.Errorf("an unknown channel: %v", err)
	}
}

func TestTheLibraryHearsResumesAndAnswers(t *testing.T) {
	r := newRig(t)
	d := r.library()
	heard, pressed, ready := make(chan string, 10), make(chan error, 1), make(chan bool, 10)
	d.AddHandler(func(_ *discordgo.Session, m *discordgo.MessageCreate) {
		if !m.Author.Bot {
			heard <- m.Content
		}
	})
	d.AddHandler(func(_ *discordgo.Session, _ *discordgo.Resumed) { ready <- true })
	d.AddHandler(func(d *discordgo.Session, i *discordgo.InteractionCreate) {
		pressed <- d.InteractionRespond(i.Interaction, &discordgo.InteractionResponse{
			Type: discordgo.InteractionResponseUpdateMessage, Data: &discordgo.InteractionResponseData{Content: i.MessageComponentData().CustomID},
		})
	})
	if err := d.Open(); err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	r.AwaitReady(t)
	r.UserSends(r.channel, r.user, "one")
	if got := <-heard; got != "one" {
		t.Errorf("heard %q", got)
	}
	r.CutConnections()
	r.UserSends(r.channel, r.user, "two")
	if got := <-heard; got != "two" {
		t.Errorf("heard %q", got)
	}
	<-ready
	m, err := d.ChannelMessageSendComplex(r.channel, &discordgo.MessageSend{
		Content: "?", Components: []discordgo.MessageComponent{discordgo.ActionsRow{Components: []discordgo.MessageComponent{
			discordgo.Button{Label: "Stop", CustomID: "stop"},
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	i, err := r.UserPresses(r.user, m.ID, "stop")
	if err != nil {
		t.Fatal(err)
	}
	if err := <-pressed; err != nil {
		t.Error(err)
	}
	if done := r.AwaitInteraction(t, i.ID); done.Type != discordtest.UpdateMessage {
		t.Errorf("%+v", done)
	}
	r.WaitForText(t, r.channel, "stop")
}
