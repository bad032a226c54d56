package discord_test

import (
	"testing"

	"nanobot/channels/channelstest"
	"nanobot/channels/discord/discordtest"
)

func TestTheChannelKeepsItsContract(t *testing.T) {
	servers := map[*testing.T]*discordtest.Server{} // one for each check: ids of chats are not ours to choose
	channelstest.Run(t, func(t *testing.T) channelstest.Subject {
		if servers[t] == nil {
			servers[t] = discordtest.New(t)
		}
		r := newRigOn(t, servers[t], t.TempDir())
		return channelstest.Subject{
			Channel:    r.Channel,
			Chat:       chatOf(r.dm),
			Sent:       func() []channelstest.Sent { return sent(r.server, r.dm) },
			Say:        func(text string) { r.server.Say(r.dm, ada, text) },
			Redelivers: true,
			Normal:     channelstest.Letters,
		}
	})
}

// sent is what a chat was shown, one element a call.
func sent(s *discordtest.Server, channel string) []channelstest.Sent {
	var out []channelstest.Sent
	for _, m := range s.Shown(channel) {
		one := channelstest.Sent{Text: m.Content}
		for _, a := range m.Attachments {
			one.Files = append(one.Files, channelstest.SentFile{Name: a.Filename, Content: string(a.Content)})
		}
		out = append(out, one)
	}
	return out
}
