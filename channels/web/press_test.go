package web_test

import (
	"slices"
	"strings"
	"testing"

	"nanobot/channels"
	"nanobot/internal/musttest"
)

func TestAButtonIsPressedOnceAndEverybodySeesIt(t *testing.T) {
	r := newFixture(t)
	r.startGateway()
	r.postText("ann", "web-a-known-to-nobody-else", "ask me")
	m := answerTo("web-a-known-to-nobody-else", "Which one?")
	m.Buttons = []channels.Button{{Label: "Red", Data: "answer:1"}, {Label: "Blue", Data: "answer:2"}}
	id := r.sendAsBot(m, "k1").ID
	one, two := r.openStream("ann", ""), r.openStream("ann", "")
	if status, answer := r.postJSON("ann", "/api/chats/web-a-known-to-nobody-else/press", object{"message": id, "data": "answer:2"}); status != 202 {
		t.Fatalf("answered %d %v", status, answer)
	}
	in := r.awaitIncoming(2)[1]
	if in.Press != "answer:2" || in.Text != "" || in.User.ID != "ann" || !strings.HasPrefix(in.ID, "press-") || in.Chat.ID != "web-a-known-to-nobody-else" {
		t.Errorf("received was %+v", in)
	}
	for _, tab := range []*stream{one, two} {
		if e := tab.next("pressed"); e.data["id"] != id || e.data["data"] != "answer:2" || e.id == "" {
			t.Errorf("shown was %+v", e)
		}
	}
	for _, data := range []string{"answer:1", "answer:2"} {
		if status, _ := r.postJSON("ann", "/api/chats/web-a-known-to-nobody-else/press", object{"message": id, "data": data}); status != 409 {
			t.Errorf("pressing again is answered %d", status)
		}
	}
	r.restart()
	var page struct{ Messages []object }
	r.getJSON("ann", "/api/chats/web-a-known-to-nobody-else/messages", &page)
	if m := page.Messages[1]; m["pressed"] != "answer:2" || len(m["buttons"].([]any)) != 2 {
		t.Errorf("kept was %+v", m)
	}
}

func TestAClosedQuestionHasItsOutcomeInsteadOfButtonsAlsoAfterARestart(t *testing.T) {
	r := newFixture(t)
	const chat = "web-a-known-to-nobody-else"
	r.postText("ann", chat, "ask me")
	m := answerTo(chat, "Which one?")
	m.Buttons = []channels.Button{{Label: "Red", Data: "answer:1"}, {Label: "Blue", Data: "answer:2", Stays: true}}
	closed, pressed := r.sendAsBot(m, "k1").ID, r.sendAsBot(m, "k2").ID
	early := r.openStream("ann", "")
	seen := early.next("ready").id
	if status, _ := r.postJSON("ann", "/api/chats/"+chat+"/press", object{"message": pressed, "data": "answer:1"}); status != 202 {
		t.Fatalf("the press is answered %d", status)
	}
	for _, outcome := range []string{`no \<b\>answer\&`, "another outcome"} {
		for _, id := range []string{closed, pressed} {
			musttest.Do(t, r.ch.CloseQuestion(t.Context(), m.Chat, id, outcome))
		}
	}
	r.sendAsBot(answerTo(chat, "the end"), "")
	r.restart()
	for _, tab := range []*stream{early, r.openStream("ann", seen)} {
		if e := tab.next("closed"); e.data["id"] != closed || e.data["outcome"] != "no <b>answer&" || e.data["chat"] != chat || e.id == "" {
			t.Errorf("told was %+v", e)
		}
		if tab.next("message"); len(slices.DeleteFunc(slices.Clone(tab.all), func(e event) bool { return e.name != "closed" })) != 1 {
			t.Errorf("told was %+v", tab.all)
		}
	}
	for _, data := range []string{"answer:1", "answer:2"} {
		if status, _ := r.postJSON("ann", "/api/chats/"+chat+"/press", object{"message": closed, "data": data}); status != 409 {
			t.Errorf("a press of %s is answered %d", data, status)
		}
	}
	var page struct{ Messages []object }
	r.getJSON("ann", "/api/chats/"+chat+"/messages", &page)
	if m := page.Messages; m[1]["outcome"] != "no <b>answer&" || m[2]["outcome"] != nil || m[2]["pressed"] != "answer:1" {
		t.Errorf("stored is %+v", m)
	}
}

func TestStopUnderTheProgressIsAPress(t *testing.T) {
	r := newFixture(t)
	r.startGateway()
	r.postText("ann", "web-a-known-to-nobody-else", "go")
	id := r.sendAsBot(progressIn("web-a-known-to-nobody-else", "working"), "").ID
	_, first := r.postJSON("ann", "/api/chats/web-a-known-to-nobody-else/press", object{"message": id, "data": "/stop", "room": "42x20"})
	for range 200 { // more than may wait: it is one press, however often
		if status, answer := r.postJSON("ann", "/api/chats/web-a-known-to-nobody-else/press", object{"message": id, "data": "/stop"}); status != 202 || answer["seq"] != first["seq"] {
			t.Fatalf("answered %d %v, first %v", status, answer, first)
		}
	}
	r.postText("ann", "web-a-known-to-nobody-else", "the end")
	got := r.awaitIncoming(3)
	if got[1].Press != "/stop" || got[1].FittingSize != "42x20" || got[2].Text != "the end" {
		t.Errorf("received was %+v", got)
	}
	musttest.Do(t, r.ch.Remove(t.Context(), got[0].Chat, id))
	if status, _ := r.postJSON("ann", "/api/chats/web-a-known-to-nobody-else/press", object{"message": id, "data": "/stop"}); status != 404 {
		t.Errorf("when it is gone it is answered %d", status)
	}
}

func TestOnlyThePersonWhoHasPressedAButtonSeesTheResponse(t *testing.T) {
	r := newFixture(t)
	r.startGateway()
	r.postText("ann", "web-a-known-to-nobody-else", "ask me")
	m := answerTo("web-a-known-to-nobody-else", "Which one?")
	m.Buttons = []channels.Button{{Label: "Red", Data: "answer:1", Stays: true}}
	id := r.sendAsBot(m, "k1").ID
	ann, operator := r.openStream("ann", ""), r.openStream("operator", "")
	r.postJSON("ann", "/api/chats/web-a-known-to-nobody-else/press", object{"message": id, "data": "answer:1"})
	r.awaitIncoming(2)[1].Respond("Only an approver may answer.")
	if e := ann.next("notice"); e.data["text"] != "Only an approver may answer." || e.id != "" {
		t.Errorf("shown was %+v", e)
	}
	r.sendAsBot(answerTo("web-a-known-to-nobody-else", "the end"), "k2")
	operator.next("message")
	if slices.ContainsFunc(operator.all, func(e event) bool { return e.name == "notice" }) {
		t.Errorf("the operator was shown %+v", operator.all)
	}
}

func TestOnlyButtonsThatAreThereCanBePressed(t *testing.T) {
	r := newFixture(t)
	mine := r.postText("ann", "web-a-known-to-nobody-else", "hello")["id"].(string)
	m := answerTo("web-a-known-to-nobody-else", "Which one?")
	m.Buttons = []channels.Button{{Label: "Red", Data: "answer:1"}}
	asked := r.sendAsBot(m, "").ID
	progress := r.sendAsBot(progressIn("web-a-known-to-nobody-else", "working"), "").ID
	for _, c := range []struct {
		name, user, chat string
		body             object
		status           int
	}{
		{"a command that is no button", "ann", "web-a-known-to-nobody-else", object{"message": asked, "data": "/new"}, 404},
		{"another button under the progress", "ann", "web-a-known-to-nobody-else", object{"message": progress, "data": "/new"}, 404},
		{"a message without buttons", "ann", "web-a-known-to-nobody-else", object{"message": mine, "data": "answer:1"}, 404},
		{"no message", "ann", "web-a-known-to-nobody-else", object{"message": "x", "data": "answer:1"}, 404},
		{"nothing", "ann", "web-a-known-to-nobody-else", object{}, 404},
		{"no size of a terminal", "ann", "web-a-known-to-nobody-else", object{"message": asked, "data": "answer:1", "room": "big"}, 400},
		{"another chat", "ann", "web-b-known-to-nobody-else", object{"message": asked, "data": "answer:1"}, 404},
		{"somebody else", "bob", "web-a-known-to-nobody-else", object{"message": asked, "data": "answer:1"}, 404},
		{"somebody else's progress", "bob", "web-a-known-to-nobody-else", object{"message": progress, "data": "/stop"}, 404},
		{"the right one", "ann", "web-a-known-to-nobody-else", object{"message": asked, "data": "answer:1"}, 202},
	} {
		if status, answer := r.postJSON(c.user, "/api/chats/"+c.chat+"/press", c.body); status != c.status {
			t.Errorf("%s: answered %d %v", c.name, status, answer)
		}
	}
	if status, body, _ := r.request("ann", "POST", "/api/chats/web-a-known-to-nobody-else/press", "application/json", strings.NewReader("{")); status != 400 {
		t.Errorf("nonsense is answered %d %s", status, body)
	}
}
