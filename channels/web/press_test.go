package web_test

import (
	"strings"
	"testing"

	"nanobot/channels"
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

func TestStopUnderTheProgressIsAPress(t *testing.T) {
	r := newFixture(t)
	r.startGateway()
	r.postText("ann", "web-a-known-to-nobody-else", "go")
	id := r.sendAsBot(progressIn("web-a-known-to-nobody-else", "working"), "").ID
	_, first := r.postJSON("ann", "/api/chats/web-a-known-to-nobody-else/press", object{"message": id, "data": "/stop"})
	for range 200 { // more than may wait: it is one press, however often
		if status, answer := r.postJSON("ann", "/api/chats/web-a-known-to-nobody-else/press", object{"message": id, "data": "/stop"}); status != 202 || answer["seq"] != first["seq"] {
			t.Fatalf("answered %d %v, first %v", status, answer, first)
		}
	}
	r.postText("ann", "web-a-known-to-nobody-else", "the end")
	got := r.awaitIncoming(3)
	if got[1].Press != "/stop" || got[2].Text != "the end" {
		t.Errorf("received was %+v", got)
	}
	if err := r.ch.Remove(t.Context(), got[0].Chat, id); err != nil {
		t.Fatal(err)
	}
	if status, _ := r.postJSON("ann", "/api/chats/web-a-known-to-nobody-else/press", object{"message": id, "data": "/stop"}); status != 404 {
		t.Errorf("when it is gone it is answered %d", status)
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
