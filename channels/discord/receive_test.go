package discord_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"nanobot/channels"
	"nanobot/channels/discord"
	"nanobot/channels/discord/discordtest"
	"nanobot/internal/wanttest"
)

func TestAMessageHasItsSenderAndChat(t *testing.T) {
	r := newTestChannel(t)
	r.startConnected()
	m := r.server.UserSends(r.dm, ada, "hello")
	got := r.onlyMessage()
	want := channels.Incoming{
		Chat: chatOf(r.dm), ID: m.ID, Text: "hello",
		User: channels.User{ID: ada, Name: "Ada L", Username: "ada"}, Cursor: got.Cursor,
	}
	if fmt.Sprint(got) != fmt.Sprint(want) || got.Cursor == "" {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestAReplyToADeletedMessageQuotesNothing(t *testing.T) {
	r := newTestChannel(t)
	asked := r.server.UserSends(r.dm, ada, "look")
	r.server.UserDeletes(r.dm, asked.ID)
	r.server.UserReplies(r.dm, ada, asked.ID, "nice?")
	r.start()
	if got := r.onlyMessage(); got.Text != "nice?" || got.ReplyTo != nil {
		t.Errorf("got %+v", got)
	}
}

func TestStickersEmbedsPollsAndForwardsAreText(t *testing.T) {
	r := newTestChannel(t)
	r.startConnected()
	r.server.UserPosts(r.dm, ada, discordtest.Message{Stickers: []discordtest.Sticker{{ID: "1", Name: "Wumpus waves", Format: 1}}})
	r.server.UserPosts(r.dm, ada, discordtest.Message{
		Content: "see https://example.org/x", Embeds: []discordtest.Embed{{Title: "A page", Description: "about things", URL: "https://example.org/x"}},
	})
	r.server.UserPosts(r.dm, ada, discordtest.Message{Poll: json.RawMessage(
		`{"question":{"text":"Tea?"},"answers":[{"answer_id":1,"poll_media":{"text":"yes"}},{"answer_id":2,"poll_media":{"text":"no"}}]}`)})
	r.server.UserPosts(r.dm, ada, discordtest.Message{
		Reference: &discordtest.Reference{Type: 1, MessageID: "77", ChannelID: "78"},
		Snapshots: json.RawMessage(`[{"message":{"content":"somebody else's words","embeds":[],"attachments":[]}}]`),
	})
	want := []string{
		"Sticker: Wumpus waves", "see https://example.org/x\nA page\nabout things", "Poll: Tea?\n- yes\n- no", "somebody else's words",
	}
	wanttest.EqualSlices(t, "got", textsOf(r.WaitForMessages(4)), want)
}

func TestSystemMessagesAreNotReceived(t *testing.T) {
	r := newTestChannel(t, func(o *discord.Options) { o.Groups = "all" })
	r.startConnected()
	g := r.server.AddGuild("home")
	ch := r.server.AddChannel(g.ID, "general").ID
	robot := r.server.AddUser(discordtest.User{Username: "robot", Bot: true}).ID
	r.server.UserSends(ch, robot, "I am a bot")
	r.server.UserPosts(ch, ada, discordtest.Message{Type: 7})                          // somebody came
	r.server.UserPosts(ch, ada, discordtest.Message{Type: 6})                          // something was pinned
	r.server.UserPosts(ch, ada, discordtest.Message{Content: "hook", WebhookID: "99"}) // a webhook
	r.server.UserSends(ch, ada, "first")
	r.server.AddThread(ch, "a thread")
	r.SendAnswer(channels.Message{Chat: chatOf(ch), Text: "what the bot says itself"})
	if got := r.onlyMessage(ch); got.Text != "first" {
		t.Errorf("got %+v", got)
	}
}

func TestInGuildsMessagesToTheBotAreReceived(t *testing.T) {
	me := "<@" + discordtest.New(t).Bot.ID + ">"
	for groups, want := range map[string][]string{
		"mention": {"one", "two", "three", "four @bob", "five"},
		"all":     {"zero", "one", "two", "three", "four @bob", "hi <@&123> :wave:", "five"},
		"off":     nil,
	} {
		t.Run(groups, func(t *testing.T) {
			r := newTestChannel(t, func(o *discord.Options) { o.Groups = groups })
			r.startConnected()
			r.server.AddUser(discordtest.User{ID: bob, Username: "bob"})
			g := r.server.AddGuild("home")
			ch := r.server.AddChannel(g.ID, "general").ID
			r.server.UserSends(ch, ada, "zero")
			r.server.UserSends(ch, ada, me+" one")
			r.server.UserSends(ch, ada, "two "+strings.Replace(me, "@", "@!", 1))
			r.server.UserSends(ch, ada, "<@&"+g.BotRole+"> three")
			r.server.UserSends(ch, ada, me+" four <@"+bob+">")
			r.server.UserSends(ch, ada, "hi <@&123> <:wave:456>")
			ours := r.SendAnswer(channels.Message{Chat: chatOf(ch), Text: "our words"})[0].ID
			r.server.UserReplies(ch, ada, ours, "five")
			var received []string
			if groups != "off" {
				received = []string{ch}
			}
			wanttest.EqualSlices(t, "got", textsOf(r.receivedSoFar(received...)), want)
		})
	}
}

func TestThreadsAndForumPostsAreChatsOfTheirOwn(t *testing.T) {
	r := newTestChannel(t, func(o *discord.Options) { o.Groups = "all" })
	r.startConnected()
	g := r.server.AddGuild("home")
	ch := r.server.AddChannel(g.ID, "general").ID
	forum := r.server.AddForum(g.ID, "help").ID
	thread := r.server.AddThread(ch, "a thread").ID
	r.server.UserSends(thread, ada, "in a thread")
	post, m := r.server.AddPost(forum, ada, "a question", "in a post")
	r.server.UserSends(post.ID, ada, "below")
	r.server.UserSends(ch, ada, "in the channel")
	got := map[string][]channels.Incoming{}
	for _, in := range r.WaitForMessages(4) {
		got[in.Chat.ID] = append(got[in.Chat.ID], in)
	}
	for _, want := range []struct {
		chat, thread string
		texts        []string
	}{
		{thread, thread, []string{"in a thread"}}, {post.ID, post.ID, []string{"in a post", "below"}}, {ch, "", []string{"in the channel"}},
	} {
		if all := got[want.chat]; !slices.Equal(textsOf(all), want.texts) || all[0].ThreadID != want.thread {
			t.Errorf("got %+v, want %+v", all, want)
		}
	}
	if post := got[post.ID]; len(post) > 0 && post[0].ID != m.ID {
		t.Errorf("the post is message %s and received as %s", m.ID, post[0].ID)
	}
	r.SendAnswer(channels.Message{Chat: chatOf(post.ID), Text: "an answer", ReplyTo: m.ID})
	r.server.WaitForText(t, post.ID, "an answer")
}

func TestWhoHasNoDisplayNameIsShownByTheUserName(t *testing.T) {
	r := newTestChannel(t)
	r.startConnected()
	r.server.AddUser(discordtest.User{ID: bob, Username: "bob"})
	dm := r.server.DM(bob).ID
	r.server.UserSends(dm, bob, "hello")
	if got := r.WaitForMessages(1)[0]; got.User.Name != "bob" || got.User.ID != bob {
		t.Errorf("got %+v", got.User)
	}
}
