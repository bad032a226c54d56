package outbox_test

import (
	"slices"
	"testing"
	"testing/synctest"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
)

// planRecorder records the messages that are planned.
type planRecorder struct {
	fakeChannel
	planned []channels.Message
}

func (c *planRecorder) Plan(m channels.Message) ([]channels.Outgoing, error) {
	c.planned = append(c.planned, m)
	return []channels.Outgoing{{Chat: m.Chat, Text: m.Text, Buttons: m.Buttons}}, nil
}

func TestTheButtonsOfAQuestionAnswerItAndStay(t *testing.T) {
	s, ch := openStore(t), &planRecorder{}
	box := newChannelOutbox(s, ch)
	q := store.Question{Question: terminal.Question{ID: "q", Text: "Which?", Options: []string{"Red", "Blue"}}, Chat: ann}
	musttest.Do(t, box.Ask(t.Context(), q, channels.Message{}))
	want := []channels.Button{
		{Label: "Red", Data: "answer:q:1", Stays: true, Role: channels.Answers},
		{Label: "Blue", Data: "answer:q:2", Stays: true, Role: channels.Answers},
	}
	if got := ch.planned[0].Buttons; !slices.Equal(got, want) {
		t.Errorf("the buttons are %+v", got)
	}
}

func TestAChannelThatReplacesNoMessagesGetsTheStateOfAQuestionAsAMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &fakeChannel{}
		box := newOutbox(openStore(t), n, nil)
		stop := runOutbox(t, box)
		q := store.Question{Question: terminal.Question{ID: "q", Text: "Go?", Options: []string{"Yes"}}, Chat: ann}
		musttest.Do(t, box.ShowState(t.Context(), q, "1 of 2 approved: Ada"))
		synctest.Wait()
		stop()
		wanttest.Equal(t, "sent", n.texts(), "[1 of 2 approved: Ada]")
	})
}
