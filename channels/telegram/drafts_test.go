package telegram_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nanobot/channels"
	"nanobot/channels/telegram"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/musttest"
)

func TestADraftShowsTheUnfinishedAnswer(t *testing.T) {
	r := newTestChannel(t)
	for _, text := range []string{"one", "one **two**"} {
		o := r.PlanText(text)
		o.Buttons = []channels.Button{{Label: "Stop", Data: "/stop"}} // a draft has none
		musttest.Do(t, r.Draft(t.Context(), "turn 1", o))
	}
	d, ok := r.server.Draft(person)
	if !ok || d.Text != "one two" || len(d.Entities) != 1 || d.ID <= 0 {
		t.Errorf("the draft is %+v", d)
	}
	calls := r.server.Calls("sendMessageDraft")
	if calls[0].IntParam("draft_id") != d.ID {
		t.Error("the drafts of one answer have different identifiers")
	}
	musttest.Do(t, r.Draft(t.Context(), "turn 2", r.PlanText("other")))
	if other, _ := r.server.Draft(person); other.ID == d.ID {
		t.Error("the drafts of two answers have the same identifier")
	}
	r.SendAnswer(channels.Message{Text: "one two three"})
	if d, ok := r.server.Draft(person); ok {
		t.Errorf("beside the message the chat shows the draft %+v", d)
	}
}

func TestDraftsAreForPrivateChatsThatHaveThemSwitchedOn(t *testing.T) {
	auto := newTestChannel(t)
	off := newTestChannel(t, func(o *telegram.Options) { o.NoDrafts = true })
	for _, tt := range []struct {
		r    *testChannel
		chat string
		want bool
	}{{auto, "42", true}, {auto, "-77", false}, {auto, "-1009876543210_5", false}, {auto, "nonsense", false}, {off, "42", false}} {
		if got := tt.r.Drafts(chatOf(tt.chat)); got != tt.want {
			t.Errorf("Drafts in %s is %v", tt.chat, got)
		}
	}
}

func TestAServerWithoutDraftsIsAskedOnce(t *testing.T) {
	r := newTestChannel(t)
	r.server.ForgetMethods("sendMessageDraft")
	err := r.Draft(t.Context(), "turn", r.PlanText("hello"))
	var se *channels.SendError
	if !errors.As(err, &se) || !se.Permanent || r.Drafts(chatOf("42")) || r.Drafts(chatOf("43")) {
		t.Errorf("the error is %v", err)
	}
	if !strings.Contains(r.LogText(), "does not know a method") {
		t.Errorf("the log is %s", r.LogText())
	}
}

func TestAServerThatFailsTwiceWithDraftsIsNotAskedAgainForAWhile(t *testing.T) {
	r := newTestChannel(t)
	r.server.FailNext("sendMessageDraft", telegramtest.BadGateway(), telegramtest.BadGateway())
	var se *channels.SendError
	if err := r.Draft(t.Context(), "turn", r.PlanText("hello")); !errors.As(err, &se) || se.Permanent || !r.Drafts(chatOf("42")) {
		t.Errorf("the first error is %v", err)
	}
	if err := r.Draft(t.Context(), "turn", r.PlanText("hello")); !errors.As(err, &se) || !se.Permanent || r.Drafts(chatOf("42")) {
		t.Errorf("the second error is %v", err)
	}
}

func TestADraftWhoseFormattingIsRefusedIsShownWithoutIt(t *testing.T) {
	r := newTestChannel(t)
	r.server.FailNext("sendMessageDraft", telegramtest.ErrorResponse(400, "Bad Request: can't parse entities"))
	musttest.Do(t, r.Draft(t.Context(), "turn", r.PlanText("a **bold** word")))
	if d, _ := r.server.Draft(person); d.Text != "a bold word" || len(d.Entities) != 0 {
		t.Errorf("the draft is %+v", d)
	}
	if !r.Drafts(chatOf("42")) {
		t.Error("no more drafts are shown")
	}
}

func TestDraftsGiveWayToAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch, calls := pacedCalls(t)
		o := channels.Outgoing{Chat: chatOf("42"), Text: "unfinished"}
		var refused *channels.SendError
		for range 10 {
			if err := ch.Draft(t.Context(), "turn", o); errors.As(err, &refused) {
				break
			}
		}
		if refused == nil || refused.After <= 0 || refused.Permanent {
			t.Fatalf("the last draft returned %+v", refused)
		}
		since := time.Now()
		if _, err := ch.Send(t.Context(), o); err != nil || !calls()["sendMessage"][0].Equal(since) {
			t.Errorf("the answer was sent after %s: %v", calls()["sendMessage"][0].Sub(since), err)
		}
		time.Sleep(refused.After + 1050*time.Millisecond)
		if err := ch.Draft(t.Context(), "turn", o); err != nil {
			t.Errorf("after the delay: %v", err)
		}
	})
}
