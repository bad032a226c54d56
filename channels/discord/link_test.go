package discord_test

import (
	"testing"

	"nanobot/channels/discord"
	"nanobot/internal/wanttest"
)

func TestMessagesHaveAddresses(t *testing.T) {
	r := newTestChannel(t, func(o *discord.Options) { o.Groups = "all" })
	guild := r.server.AddGuild("home").ID
	ch := r.server.AddChannel(guild, "general").ID
	r.startConnected()
	first := r.server.UserSends(ch, ada, "one").ID
	r.WaitForMessages(1)
	thread := r.server.AddThread(ch, "topic").ID
	r.server.UserSends(thread, ada, "two")
	r.WaitForMessages(2)
	const all = "https://discord.com/channels/"
	for _, c := range []struct {
		chat, id string
		group    bool
		want     string
	}{
		{ch, first, true, all + guild + "/" + ch + "/" + first},
		{thread, "12", true, all + guild + "/" + thread + "/12"},
		{thread, thread, true, all + guild + "/" + ch + "/" + thread},
		{r.dm, "12", false, all + "@me/" + r.dm + "/12"},
		{"12345", "12", true, ""}, // its server is not known
		{ch, "x", true, ""},
		{"x", "12", false, ""},
	} {
		wanttest.Equal(t, c.chat+": "+c.id, r.LinkMessage(chatOf(c.chat), c.group, c.id), c.want)
	}
}
