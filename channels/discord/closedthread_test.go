package discord_test

import (
	"strings"
	"testing"

	"nanobot/channels"
	"nanobot/channels/discord"
	"nanobot/internal/musttest"
)

// inThread returns a test channel in which Ada has begun a thread.
func inThread(t *testing.T) (r *testChannel, channel string, asked channels.Incoming) {
	t.Helper()
	r = newTestChannel(t, func(o *discord.Options) { o.Thread, o.Groups = true, "all" })
	channel = r.server.AddChannel(r.server.AddGuild("home").ID, "general").ID
	r.startConnected()
	r.server.UserSends(channel, ada, "a question")
	return r, channel, r.WaitForMessages(1)[0]
}

func TestAnAnswerReopensAnArchivedThread(t *testing.T) {
	r, ch, asked := inThread(t)
	r.server.ArchiveThread(asked.Chat.ID, false)
	r.SendAnswer(channels.Message{Chat: asked.Chat, Text: "an answer", ReplyTo: asked.ID})
	if shown := r.server.BotMessages(asked.Chat.ID); len(shown) != 1 || len(r.server.BotMessages(ch)) != 0 {
		t.Errorf("shown is %+v", shown)
	}
}

func TestAnAnswerToALockedOrDeletedThreadIsSentToItsChannel(t *testing.T) {
	for notice, closeThread := range map[string]func(*testChannel, string){
		"The thread is locked, so the answer is here.":   func(r *testChannel, thread string) { r.server.ArchiveThread(thread, true) },
		"The thread was deleted, so the answer is here.": func(r *testChannel, thread string) { r.server.DeleteChannel(thread); r.receivedSoFar() },
	} {
		r, ch, asked := inThread(t)
		closeThread(r, asked.Chat.ID)
		long := strings.TrimSpace(strings.Repeat("word ", 399)) + "."
		for _, text := range []string{"an answer", long} {
			r.SendAnswer(channels.Message{Chat: asked.Chat, Text: text, ReplyTo: asked.ID})
		}
		shown := r.server.BotMessages(ch)
		if len(shown) != 2 || shown[0].Content != notice+"\nan answer" || shown[1].Content != long {
			t.Fatalf("shown is %+v", shown)
		}
		if ref := shown[0].Reference; ref == nil || ref.MessageID != asked.ID {
			t.Errorf("it refers to %+v", ref)
		}
		progress := r.MustPlan(channels.Message{Chat: asked.Chat, Kind: channels.Progress, Text: "⏳ working"})[0]
		if err := r.MustFailSend(t.Context(), progress); !err.Permanent {
			t.Errorf("progress returns %v", err)
		}
	}
}

func TestTheNoticeAboutALockedThreadGoesBeforeALongAnswer(t *testing.T) {
	r, ch, asked := inThread(t)
	r.server.ArchiveThread(asked.Chat.ID, true)
	long := strings.TrimSpace(strings.Repeat("word ", 399)) + "."
	o := r.MustPlan(channels.Message{Chat: asked.Chat, Text: long})[0]
	o.Key = "k"
	for range 2 { // as after a crash
		musttest.Get(r.Send(t.Context(), o))(t)
	}
	if shown := r.server.BotMessages(ch); len(shown) != 2 || shown[0].Content != "The thread is locked, so the answer is here." || shown[1].Content != long {
		t.Errorf("shown is %+v", shown)
	}
}

func TestTheAnswerOfAPrivateThreadStaysOutOfItsChannel(t *testing.T) {
	r := newTestChannel(t, func(o *discord.Options) { o.Groups = "all" })
	channel := r.server.AddChannel(r.server.AddGuild("home").ID, "general").ID
	thread := r.server.AddPrivateThread(channel, "secret").ID
	r.startConnected()
	r.server.UserSends(thread, ada, "a question")
	asked := r.WaitForMessages(1)[0]
	r.server.ArchiveThread(thread, true)
	o := r.MustPlan(channels.Message{Chat: asked.Chat, Text: "a secret", ReplyTo: asked.ID})[0]
	if err := r.MustFailSend(t.Context(), o); !err.Permanent {
		t.Errorf("a locked thread: %v", err)
	}
	r.server.DeleteChannel(thread)
	r.receivedSoFar()
	if err := r.MustFailSend(t.Context(), o); !err.Permanent || len(r.server.BotMessages(channel)) != 0 {
		t.Errorf("a deleted thread: %v; shown is %+v", err, r.server.BotMessages(channel))
	}
}

func TestAQuestionOutsideOfItsThreadBelongsToTheThread(t *testing.T) {
	r, channel, asked := inThread(t)
	r.server.ArchiveThread(asked.Chat.ID, true)
	question := channels.Message{Chat: asked.Chat, Text: "which?", Buttons: []channels.Button{{Label: "Yes", Data: "y", Stays: true}}}
	id := r.SendAnswer(question)[0].ID
	shown := r.server.BotMessages(channel)
	musttest.Get(r.server.UserPresses(ada, id, shown[0].Buttons()[0].CustomID))(t)
	if got := r.WaitForMessages(2)[1]; got.Chat != asked.Chat || got.ThreadID != asked.Chat.ID || got.Press != "y" {
		t.Errorf("received %+v", got)
	}
	question.Text, question.Buttons = "which? Yes", nil
	musttest.Do(t, r.Edit(t.Context(), id, r.MustPlan(question)[0]))
	if shown = r.server.BotMessages(channel); shown[0].Content != "which? Yes" || len(shown[0].Buttons()) != 0 {
		t.Errorf("shown is %+v", shown)
	}
	if err := r.Remove(t.Context(), asked.Chat, id); err != nil || len(r.server.BotMessages(channel)) != 0 {
		t.Errorf("%v; shown is %+v", err, r.server.BotMessages(channel))
	}
}
