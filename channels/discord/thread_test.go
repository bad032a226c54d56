package discord_test

import (
	"slices"
	"strings"
	"testing"

	"nanobot/channels"
	"nanobot/channels/discord"
	"nanobot/channels/discord/discordtest"
)

func withThreads(o *discord.Options) { o.Thread = true }

func TestAConversationGetsAThreadIfWanted(t *testing.T) {
	r := newTestChannel(t, withThreads)
	r.startConnected()
	g := r.server.AddGuild("home")
	ch := r.server.AddChannel(g.ID, "general").ID
	me := "<@" + r.server.Bot.ID + "> "
	m := r.server.UserSends(ch, ada, me+"what is\nthis? "+strings.Repeat("long ", 30))
	first := r.WaitForMessages(1)[0]
	if first.Chat.ID != m.ID || first.ThreadID != m.ID || first.ID != m.ID {
		t.Fatalf("got %+v", first)
	}
	r.SendAnswer(channels.Message{Chat: first.Chat, Text: "an answer", ReplyTo: first.ID})
	r.server.WaitForText(t, first.Chat.ID, "an answer")
	r.server.UserSends(first.Chat.ID, ada, "and that?") // without a mention: the thread is the bot's
	if got := r.WaitForMessages(2)[1]; got.Chat != first.Chat || got.Text != "and that?" {
		t.Errorf("got %+v", got)
	}
	calls := r.server.Calls(discordtest.StartThreadFromMessage)
	if len(calls) != 1 || !strings.Contains(string(calls[0].Body), `"what is this? long`) {
		t.Errorf("the threads are %+v", calls)
	}
	r.server.UserSends(r.dm, ada, "privately")
	if got := r.WaitForMessages(3)[2]; got.Chat.ID != r.dm {
		t.Errorf("got %+v", got)
	}
}

func TestAThreadThatExistsIsGoneOnWithAfterARestart(t *testing.T) {
	r := newTestChannel(t, withThreads)
	g := r.server.AddGuild("home")
	ch := r.server.AddChannel(g.ID, "general").ID
	stop := r.startConnected()
	r.server.UserSends(ch, ada, "<@"+r.server.Bot.ID+"> one")
	first := r.WaitForMessages(1)[0]
	stop()
	r.server.UserSends(first.Chat.ID, ada, "two")
	next := r.restart(withThreads)
	next.start()
	got := next.waitForNewMessages(r, 1)
	if got[0].Chat != first.Chat || got[0].Text != "two" {
		t.Errorf("got %+v", got)
	}
}

func TestWithoutThePermissionForThreadsTheConversationStays(t *testing.T) {
	r := newTestChannel(t, withThreads)
	g := r.server.AddGuild("home")
	ch := r.server.AddChannel(g.ID, "general").ID
	r.server.FailNext(discordtest.StartThreadFromMessage, discordtest.ErrorResponse(403, 50013, "Missing Permissions"))
	r.startConnected()
	r.server.UserSends(ch, ada, "<@"+r.server.Bot.ID+"> one")
	if got := r.WaitForMessages(1)[0]; got.Chat.ID != ch || got.ThreadID != "" {
		t.Errorf("got %+v", got)
	}
}

func TestAThreadIsTriedAgainWhenItsAnswerIsLost(t *testing.T) {
	t.Parallel()
	r := newTestChannel(t, withThreads)
	g := r.server.AddGuild("home")
	ch := r.server.AddChannel(g.ID, "general").ID
	r.server.FailNext(discordtest.StartThreadFromMessage, discordtest.Fault{CutAfter: true})
	r.startConnected()
	m := r.server.UserSends(ch, ada, "<@"+r.server.Bot.ID+"> one")
	if got := r.WaitForMessages(1)[0]; got.Chat.ID != m.ID {
		t.Errorf("got %+v", got)
	}
	r.SendAnswer(channels.Message{Chat: chatOf(m.ID), Text: "an answer"})
	if shown := r.server.BotMessages(m.ID); !slices.ContainsFunc(shown, func(m discordtest.Message) bool { return m.Content == "an answer" }) {
		t.Errorf("shown is %+v", shown)
	}
}
