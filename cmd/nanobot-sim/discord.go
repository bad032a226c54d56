package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"nanobot/channels/channelstest/fakenet"
	"nanobot/channels/discord/discordtest"
)

// discord implements network. It has one guild with one text channel.
type discord struct {
	*discordtest.Server
	guild   discordtest.Guild
	channel discordtest.Channel
}

func openDiscord(token string) (network, http.Handler, error) {
	s, handler := discordtest.Open()
	s.Token = cmp.Or(token, s.Token)
	if strings.ContainsAny(s.Token, " \t\r\n") {
		return nil, nil, errors.New("a token of Discord has no spaces; leave out the leading Bot")
	}
	guild := s.AddGuild("sim")
	return discord{s, guild, s.AddChannel(guild.ID, "general")}, handler, nil
}

func (d discord) hello(address string) map[string]any {
	d.URL = address
	return map[string]any{
		"token": d.Token, "api": address + "/api", "gateway": "ws" + strings.TrimPrefix(address, "http") + "/gateway/",
		"bot": map[string]string{"id": d.Bot.ID, "username": d.Bot.Username}, "application": d.ApplicationID,
		"guild": d.guild.ID, "channel": d.channel.ID,
	}
}

// awaitBot waits until the bot has a session.
func (d discord) awaitBot(timeout time.Duration) bool { return d.AwaitConnected(timeout) }

func (d discord) check(a action) error {
	user, err := a.User.number()
	channel, known := d.FindChannel(string(a.Chat))
	switch {
	case err != nil || user == 0:
		return fmt.Errorf("user %q is no ID of a person: it is a whole number from 1", a.User)
	case string(a.User) == d.Bot.ID:
		return fmt.Errorf("user %s is the bot itself", a.User)
	case a.Chat != "" && !known:
		return fmt.Errorf("there is no channel %q; there is %s, named %s, and without a chat it is the user's DM",
			a.Chat, d.channel.ID, d.channel.Name)
	case channel.Type == discordtest.ForumChannel:
		return fmt.Errorf("channel %s is a forum, which takes only posts", a.Chat)
	case known && channel.Type == discordtest.DMChannel && channel.Recipients[0].ID != string(a.User):
		return fmt.Errorf("channel %s is the DM of user %s", a.Chat, channel.Recipients[0].ID)
	case utf8.RuneCountInString(a.Text) > 2000:
		return errors.New("the text is longer than 2000 characters, which no person can send")
	case a.File == nil && a.Text != "" && strings.TrimSpace(a.Text) == "":
		return errors.New("the text is only spaces, which no person can send")
	}
	return nil
}

func (d discord) act(a action) (map[string]any, error) {
	if !d.awaitBot(botWait) { // Discord does not store events for a bot that has never been connected
		return nil, errors.New("no bot is connected, so it would miss this")
	}
	channel, ok := d.FindChannel(string(a.Chat))
	if !ok {
		channel = d.DM(string(a.User))
	}
	chat, user := channel.ID, string(a.User)
	switch {
	case a.Button != "":
		return d.press(chat, user, a)
	case a.Command != "":
		i, err := d.UserRunsCommand(chat, user, a.Command, a.Options)
		return map[string]any{"chat": chat, "command": i.ID}, err
	}
	var files []discordtest.File
	if a.File != nil {
		files = []discordtest.File{{Name: cmp.Or(a.File.Name, "file"), Content: a.File.Content}}
	}
	var m discordtest.Message
	switch {
	case a.ReplyTo == "":
		m = d.UserSends(chat, user, a.Text, files...)
	case !slices.ContainsFunc(d.History(chat), func(m discordtest.Message) bool { return m.ID == string(a.ReplyTo) }):
		return nil, fmt.Errorf("channel %s shows no message %s to reply to", chat, a.ReplyTo)
	default:
		m = d.UserReplies(chat, user, string(a.ReplyTo), a.Text, files...)
	}
	return map[string]any{"chat": chat, "message": m.ID}, nil
}

// press presses a button once the channel shows it.
func (d discord) press(chat, user string, a action) (map[string]any, error) {
	var in, data string
	_, ok := d.AwaitMessages(chat, buttonWait, func(shown []discordtest.Message) (ok bool) {
		in, data, ok = findButton(shown, a, describeDiscord)
		return ok
	})
	if !ok {
		return nil, fmt.Errorf("channel %s shows no message of the bot with the button %q", chat, a.Button)
	}
	i, err := d.UserPresses(user, in, data, a.Values...)
	return map[string]any{"chat": chat, "message": in, "press": i.ID}, err
}

// describeDiscord returns the ID and the buttons of a message.
func describeDiscord(m discordtest.Message) (in string, buttons []sentButton) {
	for _, b := range m.Buttons() {
		buttons = append(buttons, sentButton{b.Label, b.CustomID, b.URL})
	}
	return m.ID, buttons
}

// sends reports whether a route sends or changes something.
func (d discord) sends(route string) bool { return !strings.HasPrefix(route, http.MethodGet+" ") }

func (d discord) sent(after int, wait time.Duration) []sentCall {
	out := []sentCall{}
	calls := d.AwaitEnded(after, wait, d.sends)
	changes := d.Changes("")
	for _, c := range calls {
		s := newSentCall(c.Route, c.Call, c.Args["channel_id"])
		if json.Valid(c.Body) {
			s.Params = c.Body
		}
		if c.Code != 0 {
			s.Error = "code " + strconv.Itoa(c.Code)
		}
		for _, f := range c.Files {
			s.Files = append(s.Files, sentFile{f.Name, f.Type, f.Content})
		}
		for _, change := range changes {
			if change.Call == c.ID {
				in, buttons := describeDiscord(change.Message)
				s.Chat, s.Text = change.Channel, change.Message.Content
				s.Messages, s.Buttons = append(s.Messages, in), append(s.Buttons, buttons...)
			}
		}
		out = append(out, s)
	}
	return out
}

func (d discord) faults() map[string]fakenet.Fault {
	return map[string]fakenet.Fault{
		"429":     discordtest.RateLimited(time.Second),
		"500":     discordtest.ErrorResponse(http.StatusInternalServerError, 0, "500: Internal Server Error"),
		"garbled": discordtest.TruncatedJSON(),
	}
}
