package discord_test

import (
	"cmp"
	"fmt"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/channels/channelstest"
	"nanobot/channels/channelstest/fakenet"
	"nanobot/channels/discord"
	"nanobot/channels/discord/discordtest"
)

func TestTheChannelKeepsItsContract(t *testing.T) {
	servers := map[*testing.T]*discordtest.Server{} // one for each check, because Discord chooses the IDs of chats
	rooms := map[*testing.T]string{}                // where others talk
	channelstest.Run(t, func(t *testing.T) channelstest.Subject {
		if servers[t] == nil {
			servers[t] = discordtest.New(t)
			rooms[t] = servers[t].AddChannel(servers[t].AddGuild("home").ID, "general").ID
		}
		r := newTestChannelOn(t, servers[t], t.TempDir())
		return channelstest.Subject{
			Channel:     r.Channel,
			Chat:        chatOf(r.dm),
			Sent:        func() []channelstest.SentCall { return sentMessages(r.server, r.dm) },
			UserSends:   func(text string) { r.server.UserSends(r.dm, ada, text) },
			PressButton: func(label string) error { return r.pressNewest(label) },
			Redelivers:  true,
			Normalize:   channelstest.StripMarkup,
			Remote:      r.remote(),
			Optional:    r.optionalFields(rooms[t]),
		}
	})
}

// remote returns the fields of channelstest.Remote for Discord.
func (r *testChannel) remote() *channelstest.Remote {
	return &channelstest.Remote{
		New: func(settings channelstest.RemoteSettings) channels.Channel {
			return newTestChannelOn(r.t, r.server, r.dir, func(o *discord.Options) {
				o.Token, o.Admitted = cmp.Or(settings.Token, o.Token), settings.Admitted
			}).Channel
		},
		WrongToken: "MTE0.wrong.token-that-nobody-must-see",
		RenameUser: func(name string) {
			r.server.AddUser(discordtest.User{ID: ada, Username: "ada", GlobalName: name})
		},
		UserSendsFile: func(text, name, content string) {
			r.server.UserSends(r.dm, ada, text, discordtest.File{Name: name, Content: []byte(content)})
		},
		UserReplies:       func(to, text string) { r.server.UserReplies(r.dm, ada, to, text) },
		FailSend:          func(faults ...fakenet.Fault) { r.server.FailNext(discordtest.CreateMessage, faults...) },
		FailDownload:      func(faults ...fakenet.Fault) { r.server.FailNext(discordtest.CDN, faults...) },
		Downloads:         func() int { return len(r.server.Calls(discordtest.CDN)) },
		AdvanceClock:      r.server.AdvanceClock,
		AwaitDisconnected: r.server.AwaitDisconnected,
	}
}

// pressNewest presses a button under the newest message, as a person sees it.
func (r *testChannel) pressNewest(label string) error {
	all := r.server.BotMessages(r.dm)
	m := all[len(all)-1]
	for _, b := range m.Buttons() {
		if b.Label == label {
			_, err := r.server.UserPresses(ada, m.ID, b.CustomID)
			return err
		}
	}
	return fmt.Errorf("the buttons are %+v", m.Buttons())
}

// optionalFields returns the fields of channelstest.Optional for Discord.
func (r *testChannel) optionalFields(room string) channelstest.Optional {
	return channelstest.Optional{
		VisibleTexts: func() (out []string) {
			for _, m := range r.server.BotMessages(r.dm) {
				out = append(out, m.Content)
			}
			return out
		},
		TypingCount:   func() int { return r.server.TypingCount(r.dm) },
		Restart:       func() channels.Channel { return r.restartWithoutCursor().Channel },
		DeliversWhole: true,
		AdvanceCursor: func() {
			r.server.AdvanceClock(time.Hour)
			r.server.UserSends(room, ada, "not to the bot")
		},
		Menu: func() (out []string) {
			for _, c := range r.server.Commands("") {
				out = append(out, c.Name)
			}
			return out
		},
		Disconnect: r.server.Close,
		Secrets:    []string{r.server.Token},
	}
}

// sentMessages returns the calls that a channel has accepted.
func sentMessages(s *discordtest.Server, channel string) []channelstest.SentCall {
	var out []channelstest.SentCall
	for _, m := range s.BotMessages(channel) {
		one := channelstest.SentCall{Text: m.Content}
		for _, a := range m.Attachments {
			one.Files = append(one.Files, channelstest.SentFile{Name: a.Filename, Content: string(a.Content)})
		}
		out = append(out, one)
	}
	return out
}
