package telegram_test

import (
	"errors"
	"testing"

	"nanobot/channels"
	"nanobot/channels/telegram"
	"nanobot/channels/telegram/telegramtest"
)

const super = int64(-1001234567890)

// allGroups makes the bot accept all messages of groups.
func allGroups(o *telegram.Options) { o.Groups = "all" }

func TestAGroupThatBecameASupergroupIsTheSameChat(t *testing.T) {
	r := newTestChannel(t, allGroups)
	r.server.AddChat(telegramtest.Chat{ID: group})
	r.start()
	r.server.UserSends(group, "before")
	r.server.Migrate(group, super)
	asked := r.server.UserSends(super, "after")
	r.server.UserPosts(telegramtest.UserPost{Chat: super, Text: "and a reply", ReplyTo: asked.ID})
	got := r.receivedSoFar()
	if len(got) != 3 || got[0].Chat != chatOf("-77") || got[1].Chat != chatOf("-77") || got[1].Text != "after" {
		t.Fatalf("received %+v", got)
	}
	if got[2].ReplyTo == nil || got[2].ReplyTo.ID != got[1].ID {
		t.Errorf("the reply is to %+v, not to %s", got[2].ReplyTo, got[1].ID)
	}
	r.SendAnswer(channels.Message{Chat: chatOf("-77"), Text: "an answer", ReplyTo: got[1].ID})
	if m := r.server.WaitForCount(t, super, 1)[0]; m.ReplyTo == nil || m.ReplyTo.ID != asked.ID {
		t.Errorf("the answer replies to %+v", m.ReplyTo)
	}
}

// A supergroup counts its messages again, so that a message has the number of another one from
// before the move.
func TestAMessageIDOfTheOldGroupIsAnotherMessageInTheSupergroup(t *testing.T) {
	r := newTestChannel(t, allGroups)
	r.server.AddChat(telegramtest.Chat{ID: group})
	r.start()
	file := func(content string) *telegramtest.Media {
		return &telegramtest.Media{Kind: "document", Name: "a.txt", Content: []byte(content)}
	}
	r.server.UserSends(group, "first")
	before := r.server.UserPosts(telegramtest.UserPost{Chat: group, Media: file("one")})
	for range 2 {
		r.server.UserSends(group, "more")
	}
	r.server.Migrate(group, super)
	r.server.UserSends(super, "first")
	var after telegramtest.Message
	for after.ID < before.ID {
		after = r.server.UserPosts(telegramtest.UserPost{Chat: super, Media: file("two")})
	}
	seen, same := map[string]bool{}, 0
	for _, in := range r.receivedSoFar() {
		if seen[in.ID] || in.Chat != chatOf("-77") {
			t.Errorf("%s in %s was received before", in.ID, in.Chat)
		}
		seen[in.ID] = true
		for _, path := range in.Media {
			same++
			want := "two"
			if in.ID == itoa(before.ID) {
				want = "one"
			}
			expectContent(t, path, want)
		}
	}
	if same < 2 {
		t.Errorf("%d files were received", same)
	}
}

func TestEditingAMessageOfTheOldGroupChangesNothingInTheSupergroup(t *testing.T) {
	for _, told := range []bool{true, false} { // by a service message, or by the first call that is refused
		r := newTestChannel(t, allGroups)
		r.server.AddChat(telegramtest.Chat{ID: group})
		for range 3 {
			r.server.UserSends(group, "so that the transient message's number is high enough")
		}
		transient := r.SendAnswer(channels.Message{Chat: chatOf("-77"), Kind: channels.Progress, Text: "working"})[0]
		r.server.Migrate(group, super)
		if told {
			r.start()
			r.receivedSoFar()
		}
		for range 3 { // one of them has the transient message's number
			r.SendAnswer(channels.Message{Chat: chatOf("-77"), Text: "an answer"})
		}
		o := channels.Outgoing{Chat: chatOf("-77"), Text: "changed"}
		var se *channels.SendError
		if err := r.Edit(t.Context(), transient.ID, o); !asSendError(err, &se) || !se.Permanent {
			t.Errorf("the edit returned %v", err)
		}
		if err := r.Remove(t.Context(), o.Chat, transient.ID); err != nil {
			t.Error(err)
		}
		for _, m := range r.server.WaitForCount(t, super, 3) {
			if m.Text != "an answer" {
				t.Errorf("shown is %+v", m)
			}
		}
		last := r.SendAnswer(channels.Message{Chat: chatOf("-77"), Kind: channels.Progress, Text: "working again"})[0]
		if err := r.Edit(t.Context(), last.ID, o); err != nil {
			t.Error(err)
		}
		if shown := r.server.BotMessages(super); shown[3].Text != "changed" {
			t.Errorf("shown is %+v", shown[3])
		}
		if err := r.Remove(t.Context(), o.Chat, last.ID); err != nil || len(r.server.BotMessages(super)) != 3 {
			t.Errorf("%v, shown are %d", err, len(r.server.BotMessages(super)))
		}
	}
}

func TestAnAnswerToAMessageOfTheOldGroupIsNoReply(t *testing.T) {
	r := newTestChannel(t)
	r.server.AddChat(telegramtest.Chat{ID: group})
	r.server.UserSends(group, "hello")
	asked := r.server.UserSends(group, "a question")
	r.server.Migrate(group, super)
	for range asked.ID + 1 {
		r.server.UserSends(super, "others talk on")
	}
	r.SendAnswer(channels.Message{Chat: chatOf("-77"), Text: "the answer", ReplyTo: itoa(asked.ID)})
	if shown := r.server.BotMessages(super); len(shown) != 1 || shown[0].ReplyTo != nil {
		t.Errorf("shown are %+v", shown)
	}
}

func TestAMoveIsRememberedAfterARestart(t *testing.T) {
	s, h := telegramtest.New(t), newBotState(t)
	s.AddChat(telegramtest.Chat{ID: group})
	r := newTestChannelOn(t, s, h, allGroups)
	stop := r.start()
	s.Migrate(group, super)
	r.receivedSoFar()
	stop()
	r = newTestChannelOn(t, s, h, allGroups)
	r.SendAnswer(channels.Message{Chat: chatOf("-77"), Text: "hello"})
	if calls := s.Calls("sendMessage"); len(calls) != 1 || len(s.BotMessages(super)) != 1 {
		t.Errorf("the calls are %+v", calls)
	}
	s.UserSends(super, "are you there?")
	r.start()
	if got := r.onlyMessage(); got.Chat != chatOf("-77") {
		t.Errorf("received %+v", got)
	}
}

func TestAMoveIsNotConfirmedBeforeItIsOnDisk(t *testing.T) {
	t.Parallel()
	r := newTestChannel(t, allGroups)
	r.server.AddChat(telegramtest.Chat{ID: group})
	r.start()
	r.server.AwaitPoll(t)
	r.state.memory.FailWrites(errors.New("the disk is full"))
	r.server.Migrate(group, super)
	r.server.UserSends(super, "after")
	r.WaitForLog("message not received, will retry")
	if r.server.PendingUpdates() == 0 || len(r.Recorder.Messages()) != 0 {
		t.Errorf("%d updates wait, %d were received", r.server.PendingUpdates(), len(r.Recorder.Messages()))
	}
	r.state.memory.FailWrites(nil)
	if got := r.onlyMessage(); got.Chat != chatOf("-77") {
		t.Errorf("received %+v", got)
	}
}
