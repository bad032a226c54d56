package discord_test

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/channels/discord"
	"nanobot/channels/discord/discordtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

func TestAnEditIsReceivedAsAChange(t *testing.T) {
	r := newTestChannel(t)
	r.startConnected()
	id := r.server.UserSends(r.dm, ada, "delete prod https://example.com").ID
	r.WaitForMessages(1)
	r.server.ResolveLinks(r.dm, id, discordtest.Embed{Title: "An example", URL: "https://example.com"}) // not an edit
	r.server.UserEdits(r.dm, id, "do NOT delete prod https://example.com")
	r.server.ResolveLinks(r.dm, id, discordtest.Embed{Title: "Another", URL: "https://example.com"}) // repeats the edit
	got := r.WaitForMessages(3)
	for _, in := range got[1:] {
		if in.Change != channels.Edited || in.ID != id || in.Text != "do NOT delete prod https://example.com" || in.User.ID != ada || in.Chat.ID != r.dm || in.ChangedAt.IsZero() || in.Media != nil {
			t.Errorf("received %+v", in)
		}
	}
	if !got[1].ChangedAt.Equal(got[2].ChangedAt) {
		t.Errorf("the times are %v and %v", got[1].ChangedAt, got[2].ChangedAt)
	}
	bot := r.SendAnswer(channels.Message{Text: "one"})[0].ID
	musttest.Do(t, r.Edit(t.Context(), bot, r.PlanText("two")))
	wanttest.Equal(t, "messages were received:", len(r.receivedSoFar()), 3)
}

func TestOnAServerOnlyChangesOfMessagesToTheBotAreReceived(t *testing.T) {
	r := newTestChannel(t)
	g := r.server.AddGuild("home")
	ch := r.server.AddChannel(g.ID, "general").ID
	r.startConnected()
	other := r.server.UserSends(ch, bob, "not for the bot").ID
	toBot := r.server.UserSends(ch, ada, "<@"+r.server.Bot.ID+"> hello").ID
	r.WaitForMessages(1)
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
	r.Recorder.Reject = func(channels.Incoming) error {
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
	r.WaitForLog("message not received, will retry")
	r.server.UserEdits(r.dm, id, "two")
	r.server.UserDeletes(r.dm, id)
	close(full)
	got := r.WaitForMessages(3)
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
	r.WaitForMessages(1)
	r.server.UserEdits(ch, id, "two")
	r.server.UserDeletes(ch, id)
	for _, in := range r.WaitForMessages(3) {
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
	r.server.UserSends(news, ada, "<@"+r.server.Bot.ID+"> hello")
	r.WaitForMessages(1) // the name of the server's channel is known now
	r.server.UserPosts(r.dm, ada, discordtest.Message{
		Reference: &discordtest.Reference{Type: 1, MessageID: "1", ChannelID: news},
		Snapshots: json.RawMessage(`[{"message":{"content":"it is **out**","timestamp":"2026-03-01T10:00:00.123000+00:00","attachments":[]}}]`),
	})
	r.server.UserSends(r.dm, ada, "my own words")
	got := r.receivedSoFar()
	if len(got) != 3 {
		t.Fatalf("received %+v", got)
	}
	in, f := got[1], got[1].Forwarded
	if f == nil || in.Text != "it is **out**" || f.Chat == nil || f.Chat.ID != news || f.Chat.Title != "news" || f.Date != "2026-03-01T10:00:00Z" || f.From != nil {
		t.Errorf("received %+v, forwarded %+v", in, f)
	}
	if got[2].Forwarded != nil {
		t.Errorf("the person's own message is forwarded from %+v", got[2].Forwarded)
	}
}

func TestFilesHaveTheNamesThatPeopleGaveThem(t *testing.T) {
	r := newTestChannel(t)
	r.startConnected()
	first := r.server.UserSends(r.dm, ada, "look", discordtest.File{Name: "my report.txt", Content: []byte("a")}, discordtest.File{Name: "b.txt", Content: []byte("b")})
	r.server.UserReplies(r.dm, bob, first.ID, "and this?")
	got := r.WaitForMessages(2)
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

func TestAChangeOfAnOldMessageIsReceivedAfterARestart(t *testing.T) {
	first := newTestChannel(t)
	g := first.server.AddGuild("home")
	ch := first.server.AddChannel(g.ID, "general").ID
	stop := first.startConnected()
	mention := "<@" + first.server.Bot.ID + "> "
	edited := first.server.UserSends(ch, ada, mention+"delete prod").ID
	deleted := first.server.UserSends(ch, ada, mention+"delete all").ID
	other := first.server.UserSends(ch, bob, "not for the bot").ID
	first.WaitForMessages(2)
	for n := range 2 { // the search after the restart does not find the first ones
		first.server.AdvanceClock(time.Hour)
		first.server.UserSends(first.dm, ada, "later")
		first.WaitForMessages(3 + n)
	}
	first.memory.addReceived(first.Recorder.Messages())
	stop()
	second := first.restart()
	second.start()
	second.waitForSessions(2)
	second.server.UserEdits(ch, edited, "do NOT delete prod")
	second.server.ModeratorDeletes(ch, other, deleted)
	got := second.waitForNewChanges(2)
	second.receivedSoFar(ch)
	if n := len(second.waitForNewChanges(2)); n != 2 {
		t.Fatalf("%d changes were received: %+v", n, got)
	}
	for _, in := range got {
		if in.Chat.ID != ch || in.ID != edited && in.ID != deleted || (in.ID == deleted) != (in.Change == channels.Deleted) {
			t.Errorf("received %+v", in)
		}
	}
}

// waitForNewChanges waits until n changes of messages are received, and returns all of them.
func (r *testChannel) waitForNewChanges(n int) []channels.Incoming {
	r.t.Helper()
	r.WaitForMessages(n)
	isNew := func(in channels.Incoming) bool { return in.Change == "" }
	changes := func(all []channels.Incoming) []channels.Incoming { return slices.DeleteFunc(slices.Clone(all), isNew) }
	got, ok := r.Recorder.Await(func(all []channels.Incoming) bool { return len(changes(all)) >= n })
	if !ok {
		r.t.Fatalf("received %+v", got)
	}
	return changes(got)
}

func TestADeletionIsReceivedAfterManyFurtherMessages(t *testing.T) {
	r := newTestChannel(t)
	r.startConnected()
	id := r.server.UserSends(r.dm, ada, "delete all").ID
	r.memory.addReceived(r.WaitForMessages(1))
	r.server.AdvanceClock(time.Hour)
	for range 250 {
		r.server.UserSends(r.dm, ada, "more")
	}
	r.WaitForMessages(251)
	r.server.UserDeletes(r.dm, id)
	if got := r.WaitForMessages(252)[251]; got.ID != id || got.Change != channels.Deleted {
		t.Errorf("received %+v", got)
	}
}

func TestAMessageThatCannotBeReadIsAnsweredWithOneLine(t *testing.T) {
	r := newTestChannel(t)
	r.startConnected()
	g := r.server.AddGuild("home")
	ch := r.server.AddChannel(g.ID, "general").ID
	r.server.UserPosts(ch, ada, discordtest.Message{})
	r.server.UserPosts(r.dm, ada, discordtest.Message{})
	r.server.WaitForText(t, r.dm, "I cannot read this kind of message.")
	if got := r.receivedSoFar(ch); len(got) != 0 {
		t.Errorf("received %+v", got)
	}
}
