package discord_test

import (
	"testing"

	"nanobot/channels/discord"
)

func TestAMessageHasTheNameOfItsChannel(t *testing.T) {
	r := newTestChannel(t, func(o *discord.Options) { o.Groups = "all" })
	ch := r.server.AddChannel(r.server.AddGuild("home").ID, "general").ID
	r.startConnected()
	r.server.UserSends(ch, ada, "one")
	if in := r.WaitForMessages(1)[0]; in.Title != "#general" || !in.Group {
		t.Errorf("received %+v", in)
	}
	r.server.UserSends(r.dm, ada, "two")
	if in := r.WaitForMessages(2)[1]; in.Title != "" || in.Group {
		t.Errorf("received %+v", in)
	}
}
