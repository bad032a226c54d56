package telegram_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"nanobot/channels"
	"nanobot/channels/telegram/telegramtest"
)

const topicNotice = "The topic of this answer is closed or deleted, so it is here:"

func TestAnAnswerIntoAClosedOrDeletedTopicGoesToTheGroup(t *testing.T) {
	for name, end := range map[string]func(*telegramtest.Server, int){
		"closed":  func(s *telegramtest.Server, topic int) { s.CloseTopic(forum, topic) },
		"deleted": func(s *telegramtest.Server, topic int) { s.DeleteTopic(forum, topic) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newTestChannel(t)
			topic := r.server.AddTopic(forum, "work")
			asked := r.server.UserPosts(telegramtest.UserPost{Chat: forum, Topic: topic, Text: "question"})
			end(r.server, topic)
			chat := chatOf(fmt.Sprintf("%d_%d", forum, topic))
			r.SendAnswer(channels.Message{Chat: chat, Text: "the **answer**", ReplyTo: strconv.Itoa(asked.ID)})
			r.SendAnswer(channels.Message{Chat: chat, Text: strings.Repeat("x", 4090)})
			var texts []string
			for _, m := range r.server.BotMessages(forum) {
				if m.Thread != 0 || m.ReplyTo != nil {
					t.Errorf("sent %+v", m)
				}
				texts = append(texts, m.Text)
			}
			want := []string{topicNotice + "\nthe answer", topicNotice, strings.Repeat("x", 4090)}
			if fmt.Sprint(texts) != fmt.Sprint(want) {
				t.Errorf("sent %q", texts)
			}
			if e := r.server.BotMessages(forum)[0].Entities; len(e) != 1 || e[0].Type != "bold" || e[0].Offset != len(topicNotice)+1+4 {
				t.Errorf("the entities are %+v", e)
			}
		})
	}
}

func TestProgressInAClosedTopicIsNotShownElsewhere(t *testing.T) {
	r := newTestChannel(t)
	topic := r.server.AddTopic(forum, "work")
	r.server.CloseTopic(forum, topic)
	for _, o := range r.MustPlan(channels.Message{Chat: chatOf(fmt.Sprintf("%d_%d", forum, topic)), Kind: channels.Progress, Text: "working"}) {
		o.Transient = true
		if _, err := r.Send(t.Context(), o); err == nil {
			t.Error("the progress was sent")
		}
	}
	if all := r.server.BotMessages(forum); len(all) != 0 {
		t.Errorf("sent %+v", all)
	}
}

func TestAPressOnAQuestionOutsideOfItsTopicBelongsToTheTopic(t *testing.T) {
	server, state := telegramtest.New(t), newBotState(t)
	first := newTestChannelOn(t, server, state)
	topic := first.server.AddTopic(forum, "work")
	first.server.CloseTopic(forum, topic)
	chat, buttons := chatOf(fmt.Sprintf("%d_%d", forum, topic)), []channels.Button{{Label: "Yes", Data: "y"}}
	first.SendAnswer(channels.Message{Chat: chat, Text: "which?", Buttons: buttons})
	first.SendAnswer(channels.Message{Chat: chatOf(fmt.Sprint(forum)), Text: "which of the group?", Buttons: buttons})
	r := newTestChannelOn(t, server, state)
	r.start()
	for _, m := range r.server.BotMessages(forum) {
		r.server.UserPresses(forum, person, m.ID, "y")
	}
	got := r.WaitForMessages(2)
	if got[0].Chat != chat || got[0].ThreadID != strconv.Itoa(topic) || got[1].Chat != chatOf(fmt.Sprint(forum)) || got[1].ThreadID != "" {
		t.Errorf("received %+v", got)
	}
}
