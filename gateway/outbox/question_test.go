package outbox_test

import (
	"slices"
	"testing"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/internal/musttest"
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
