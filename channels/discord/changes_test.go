package discord_test

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"nanobot/channels"
	"nanobot/channels/discord"
	"nanobot/channels/discord/discordtest"
)

func TestAnEditIsReceivedAsAChange(t *testing.T) {
	r := newTestChannel(t)
	r.startConnected()
	id := r.server.UserSends(r.dm, ada, "delete prod https://example.com").ID
	r.waitForMessages(1)
	r.server.ResolveLinks(r.dm, id, discordtest.Embed{Title: "An example", URL: "https://example.com"}) // not an edit
	r.server.UserEdits(r.dm, id, "do NOT delete prod https://example.com")
	r.server.ResolveLinks(r.dm, id, discordtest.Embed{Title: "Another", URL: "https://example.com"}) // repeats the edit
	got := r.waitForMessages(3)
	for _, in := range got[1:] {
		if in.Change != channels.Edited || in.ID != id || in.Text != "do NOT delete prod https://example.com" || in.User.ID != ada || in.Chat.ID != r.dm || in.ChangedAt.IsZero() || in.Media != nil {
			t.Errorf("received %+v", in)
		}
	}
	if !got[1].ChangedAt.Equal(got[2].ChangedAt) {
		t.Errorf("the times are %v and %v", got[1].ChangedAt, got[2].ChangedAt)
	}
	bot := r.sendAnswer(channels.Message{Text: "one"})[0].ID
	if err := r.Edit(t.Context(), bot, r.planText("two")); err != nil {
		t.Fatal(err)
	}
	if n := len(r.receivedSoFar()); n != 3 {
		t.Errorf("%d messages were received", n)
	}
}

func TestOnAServerOnlyChangesOfMessagesToTheBotAreReceived(t *testing.T) {
	r := newTestChannel(t)
	g := r.server.AddGuild("home")
	ch := r.server.AddChannel(g.ID, "general").ID
	r.startConnected()
	other := r.server.UserSends(ch, bob, "not for the bot").ID
	toBot := r.server.UserSends(ch, ada, "<@"+r.server.Bot.ID+"> hello").ID
	r.waitForMessages(1)
	r.server.UserEdits(ch, other, "still not")
	r.server.UserEdits(ch, toBot, "no mention any more")
	r.server.UserDeletes(ch, other)
	r.server.ModeratorDeletes(ch, toBot, other)
	got := r.receivedSoFar(ch)
	if len(got) != 3 || got[1].Change != channels.Edited || got[1].Text != "no mention any more" || got[2].Change != channels.Deleted || got[2].ID != toBot || got[2].Chat.ID != ch {
		t.Errorf("received %+v", got)
	}
}

// The gateway must know a message before it learns of its change.
func TestAChangeIsReceivedAfterItsMessage(t *testing.T) {
	r := newTestChannel(t)
	var refused atomic.Int32
	full := make(chan struct{})
	r.recorder.Reject = func(channels.Incoming) error {
		select {
		case <-full:
			return nil
		default:
			refused.Add(1)
			return errors.New("the disk is full")
		}
	}
	r.startConnected()
	id := r.server.UserSends(r.dm, ada, "one").ID
	r.waitForLog("message not received, will retry")
	r.server.UserEdits(r.dm, id, "two")
	r.server.UserDeletes(r.dm, id)
	close(full)
	got := r.waitForMessages(3)
	if got[0].Text != "one" || got[1].Change != channels.Edited || got[2].Change != channels.Deleted || refused.Load() == 0 {
		t.Errorf("received %+v", got)
	}
}

func TestTheChangeOfAThreadsFirstMessageIsReceivedInTheThread(t *testing.T) {
	r := newTestChannel(t, func(o *discord.Options) { o.Thread, o.Groups = true, "all" })
	g := r.server.AddGuild("home")
	ch := r.server.AddChannel(g.ID, "general").ID
	r.startConnected()
	id := r.server.UserSends(ch, ada, "one").ID
	r.waitForMessages(1)
	r.server.UserEdits(ch, id, "two")
	r.server.UserDeletes(ch, id)
	for _, in := range r.waitForMessages(3) {
		if in.Chat.ID != id || in.ID != id || in.ThreadID != id {
			t.Errorf("received %+v", in)
		}
	}
}

func TestAForwardedMessageIsMarkedWithItsOrigin(t *testing.T) {
	r := newTestChannel(t)
	g := r.server.AddGuild("home")
	news := r.server.AddChannel(g.ID, "news").ID
	r.startConnected()
	r.server.UserPosts(r.dm, ada, discordtest.Message{
		Reference: &discordtest.Reference{Type: 1, MessageID: "1", ChannelID: news},
		Snapshots: json.RawMessage(`[{"message":{"content":"it is **out**","timestamp":"2026-03-01T10:00:00.123000+00:00","attachments":[]}}]`),
	})
	r.server.UserSends(r.dm, ada, "my own words")
	got := r.receivedSoFar()
	if len(got) != 2 {
		t.Fatalf("received %+v", got)
	}
	in, f := got[0], got[0].Forwarded
	if f == nil || in.Text != "it is **out**" || f.Chat == nil || f.Chat.ID != news || f.Chat.Title != "news" || f.Date != "2026-03-01T10:00:00Z" || f.From != nil {
		t.Errorf("received %+v, forwarded %+v", in, f)
	}
	if got[1].Forwarded != nil {
		t.Errorf("the person's own message is forwarded from %+v", got[1].Forwarded)
	}
}

func TestFilesHaveTheNamesThatPeopleGaveThem(t *testing.T) {
	r := newTestChannel(t)
	r.startConnected()
	first := r.server.UserSends(r.dm, ada, "look", discordtest.File{Name: "my report.txt", Content: []byte("a")}, discordtest.File{Name: "b.txt", Content: []byte("b")})
	r.server.UserReplies(r.dm, bob, first.ID, "and this?")
	got := r.waitForMessages(2)
	if in := got[0]; len(in.MediaNames) != 2 || in.MediaNames[0] != "my report.txt" || in.MediaNames[1] != "b.txt" {
		t.Errorf("the names are %q", in.MediaNames)
	}
	if base := filepath.Base(got[0].Media[0]); strings.Contains(base, " ") || !strings.HasSuffix(base, "my_report.txt") {
		t.Errorf("the file is saved as %q", base)
	}
	q := got[1].ReplyTo
	if q == nil || q.User == nil || q.User.ID != ada || q.User.Name != "Ada L" || q.Text != "look" || len(q.Media) != 2 || got[1].MediaNames != nil {
		t.Errorf("the reply is to %+v", q)
	}
}
