package telegram_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"nanobot/channels"
	"nanobot/channels/telegram"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

var groupChat = chatOf("-77")

// reactTo makes a user write in the group and the channel react to it. It returns the message.
func (r *testChannel) reactTo(reaction channels.Reaction) (message int, err error) {
	r.t.Helper()
	message = r.server.UserSends(group, "hello").ID
	return message, r.React(r.t.Context(), groupChat, itoa(message), reaction)
}

func TestReactionsShowTheStateOfAMessageInAGroup(t *testing.T) {
	r := newTestChannel(t)
	message, err := r.reactTo(channels.Taken)
	if got := r.server.Reaction(group, message); err != nil || got != "👀" {
		t.Errorf("taken is shown as %q: %v", got, err)
	}
	for reaction, want := range map[channels.Reaction]string{channels.Finished: "👌", channels.Broken: "💔", channels.NoReaction: ""} {
		err := r.React(t.Context(), groupChat, itoa(message), reaction)
		if got := r.server.Reaction(group, message); err != nil || got != want {
			t.Errorf("%q is shown as %q: %v", reaction, got, err)
		}
	}
	if len(r.server.BotMessages(group)) != 0 {
		t.Errorf("the group shows %v", r.server.BotMessages(group))
	}
}

func TestReactionsAreForGroupsThatHaveThemSwitchedOn(t *testing.T) {
	auto := newTestChannel(t)
	off := newTestChannel(t, func(o *telegram.Options) { o.NoReactions = true })
	for _, tt := range []struct {
		r    *testChannel
		chat string
		want bool
	}{
		{auto, "42", false},
		{auto, "-77", true},
		{auto, "-1009876543210_5", true},
		{auto, "nonsense", false},
		{off, "-77", false},
	} {
		if got := tt.r.Reacts(chatOf(tt.chat)); got != tt.want {
			t.Errorf("Reacts in %s is %v", tt.chat, got)
		}
	}
}

func TestAChatThatAllowsNoReactionsGetsNoMore(t *testing.T) {
	r := newTestChannel(t)
	r.server.AllowReactions(group, "👍")
	_, err := r.reactTo(channels.Taken)
	var se *channels.SendError
	if !errors.As(err, &se) || !se.Permanent {
		t.Errorf("the error is %v", err)
	}
	if r.Reacts(groupChat) || !r.Reacts(chatOf("-78")) {
		t.Error("the refusal of one chat is not about that chat alone")
	}
}

func TestAServerWithoutReactionsIsAskedOnce(t *testing.T) {
	r := newTestChannel(t)
	r.server.ForgetMethods("setMessageReaction")
	if _, err := r.reactTo(channels.Taken); err == nil {
		t.Error("there is no error")
	}
	if r.Reacts(groupChat) || r.Reacts(chatOf("-78")) {
		t.Error("the server is asked again")
	}
}

func TestAReactionToAMessageThatIsGoneIsNoError(t *testing.T) {
	r := newTestChannel(t)
	moved := r.server.UserSends(group, "before the migration").ID
	for _, id := range []string{"4711", "press-abc", "schedule-1"} {
		if err := r.React(t.Context(), groupChat, id, channels.Taken); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	r.server.Migrate(group, forum)
	for range 2 { // the first call shows that the group has moved
		if err := r.React(t.Context(), groupChat, itoa(moved), channels.Finished); err != nil {
			t.Errorf("in a group that has moved: %v", err)
		}
	}
	wanttest.Equal(t, "calls were made:", len(r.server.Calls("setMessageReaction")), 2)
	if !r.Reacts(groupChat) {
		t.Error("no more reactions are made")
	}
	id := r.server.UserSends(forum, "after the migration").ID
	if err := r.React(t.Context(), groupChat, "-1009876543210/"+itoa(id), channels.Taken); err != nil || r.server.Reaction(forum, id) != "👀" {
		t.Errorf("after the migration: %v", err)
	}
}

func TestARateLimitedReactionBlocksNothingForGood(t *testing.T) {
	r := newTestChannel(t)
	r.server.FailNext("setMessageReaction", telegramtest.RateLimited(7))
	_, err := r.reactTo(channels.Taken)
	var se *channels.SendError
	if !errors.As(err, &se) || se.After != 7*time.Second || se.Permanent || !r.Reacts(groupChat) {
		t.Errorf("the error is %v", err)
	}
}

func TestReactionsLeaveTheRateLimitToAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch, calls := pacedCalls(t)
		since := time.Now()
		for i := range 40 { // in one group: reactions do not count towards its 20 a minute
			musttest.Do(t, ch.React(t.Context(), groupChat, itoa(i+1), channels.Taken))
		}
		reacted := time.Now()
		musttest.Get(ch.Send(t.Context(), channels.Outgoing{Chat: groupChat, Text: "answer"}))(t)
		at := calls()
		if sent := at["sendMessage"][0]; sent.After(reacted) {
			t.Errorf("the answer waited for %s", sent.Sub(reacted))
		}
		if took := reacted.Sub(since); len(at["setMessageReaction"]) != 40 || took > 4*time.Second || maxInWindow(at["setMessageReaction"], time.Second) > 25 {
			t.Errorf("%d reactions took %s", len(at["setMessageReaction"]), took)
		}
	})
}
