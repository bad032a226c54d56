package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"nanobot/channels"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// edit edits a message and returns the status of the response.
func (r *fixture) edit(user, chat, message, text string) int {
	r.t.Helper()
	body := musttest.Get(json.Marshal(object{"text": text}))(r.t)
	return r.status(user, "PATCH", "/api/chats/"+chat+"/messages/"+message, string(body))
}

// runs returns messages as the gateway receives them.
func runs(all []channels.Incoming) (texts []string) {
	for _, in := range all {
		texts = append(texts, strings.Join([]string{in.ID, in.Replaces, in.Text}, " "))
	}
	return texts
}

// messages returns the texts of a chat's messages, those of edited ones with a mark.
func (r *fixture) messages(user, chat string) (texts []string) {
	r.t.Helper()
	var page struct {
		Messages []struct {
			Text   string
			Edited bool
		}
	}
	r.getJSON(user, "/api/chats/"+chat+"/messages", &page)
	for _, m := range page.Messages {
		texts = append(texts, m.Text+map[bool]string{true: "*"}[m.Edited])
	}
	return texts
}

// senders returns the users who have sent a chat's messages.
func (r *fixture) senders(user, chat string) (all []string) {
	r.t.Helper()
	var page struct{ Messages []struct{ User string } }
	r.getJSON(user, "/api/chats/"+chat+"/messages", &page)
	for _, m := range page.Messages {
		all = append(all, m.User)
	}
	return all
}

func TestAnEditedMessageRunsAgainAndIsEditedInAllBrowsers(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *fixture) {
		r.startGateway()
		first := r.openStream("ann", "").next("ready").id
		bobs := r.openStream("bob", "")
		_, posted := r.postForm("ann", annsChat, "one", formFile{"a.txt", "x"})
		id := posted["id"].(string)
		r.awaitIncoming(1)
		wanttest.Equal(t, "an edit", r.edit("ann", annsChat, id, "two"), 202)
		wanttest.Equal(t, "a repetition", r.edit("ann", annsChat, id, "two"), 202)
		got := r.awaitIncoming(3)
		wanttest.EqualSlices(t, "received", runs(got), []string{id + "  one", id + "~1 " + id + " two", id + "~2 " + id + "~1 two"})
		wanttest.EqualSlices(t, "the files", got[2].Media, got[0].Media)
		anns := r.openStream("ann", first)
		e := anns.next("edited")
		wanttest.Equal(t, "the event", fmt.Sprint(e.data["id"], e.data["text"], e.data["edited"]), id+"twotrue")
		r.sendAsBot(channels.Message{Chat: got[0].Chat, Text: "answer", ReplyTo: id + "~2"}, "k")
		wanttest.Equal(t, "the answer is to", anns.next("message").data["reply_to"], any(id))
		r.postText("bob", otherChat, "bob's")
		bobs.next("message")
		if slices.ContainsFunc(bobs.all, func(e event) bool { return e.name == "edited" }) {
			t.Errorf("bob is told %+v", bobs.all)
		}
		r.restart()
		wanttest.EqualSlices(t, "messages", r.messages("ann", annsChat), []string{"two*", "answer"})
		wanttest.EqualSlices(t, "titles", r.chats("ann"), []string{"two"})
		wanttest.Equal(t, "found by the old text", len(r.search("ann", "one")), 0)
	})
}

func TestAMessageThatRunsAgainWithTheSameTextIsNotEdited(t *testing.T) {
	r := newFixture(t)
	r.startGateway()
	id := r.postText("ann", annsChat, "one")["id"].(string)
	r.awaitIncoming(1)
	wanttest.Equal(t, "status", r.edit("ann", annsChat, id, "one"), 202)
	wanttest.Equal(t, "received", r.awaitIncoming(2)[1].Replaces, id)
	wanttest.EqualSlices(t, "messages", r.messages("ann", annsChat), []string{"one"})
	edit := func() {
		t.Helper()
		wanttest.Equal(t, "status", r.status("ann", "PATCH", "/api/chats/"+annsChat+"/messages/"+id, `{"text": "two", "client_id": "e"}`), 202)
	}
	edit()
	edit() // the response to the first was lost
	r.postText("ann", annsChat, "last")
	edit() // likewise, and another browser has sent a message
	wanttest.EqualSlices(t, "received", texts(r.awaitIncoming(4)), []string{"one", "one", "two", "last"})
}

func TestOnlyOnesOwnLastMessageCanBeEdited(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *fixture) {
		first := r.postText("ann", annsChat, "first")["id"].(string)
		last := r.postText("ann", annsChat, "last")["id"].(string)
		operators := r.postText("operator", annsChat, "from the operator")["id"].(string)
		wanttest.EqualSlices(t, "senders", r.senders("ann", annsChat), []string{"ann", "ann", "operator"})
		bots := r.sendAsBot(answerTo(annsChat, "answer"), "k").ID
		for _, c := range []struct {
			user, message, text string
			want                int
		}{
			{"bob", last, "x", 404},
			{"ann", first, "x", 409},
			{"ann", operators, "x", 409},
			{"operator", last, "x", 409},
			{"ann", bots, "x", 409},
			{"ann", "unknown", "x", 404},
			{"ann", last, " ", 400},
			{"ann", last, strings.Repeat("x", 1<<20+1), 413},
			{"ann", last, "edited", 202},
			{"operator", operators, "edited", 202},
		} {
			wanttest.Equal(t, c.user+" "+c.text[:1], r.edit(c.user, annsChat, c.message, c.text), c.want)
		}
		wanttest.Equal(t, "another chat", r.edit("ann", otherChat, last, "x"), 404)
		wanttest.EqualSlices(t, "messages", r.messages("ann", annsChat), []string{"first", "edited*", "edited*", "answer"})
		musttest.Do(t, r.ch.Remove(t.Context(), channels.Chat{Channel: "web", ID: annsChat}, last+"~1"))
		wanttest.Equal(t, "a removed secret", r.edit("ann", annsChat, last, "x"), 409)
		wanttest.EqualSlices(t, "messages", r.messages("ann", annsChat), []string{"first", "*", "edited*", "answer"})
		for n := 5; n < 100; n++ { // five events wait already
			wanttest.Equal(t, "status", r.edit("operator", annsChat, operators, "edited"), 202)
		}
		wanttest.Equal(t, "too many", r.edit("operator", annsChat, operators, "edited"), 429)
	})
}

// A crash comes after each step between the history and the gateway.
func TestAnEditIsReceivedOnceMoreAfterACrash(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *fixture) {
		id := r.postText("ann", annsChat, "one")["id"].(string) // nobody runs yet
		wanttest.Equal(t, "status", r.edit("ann", annsChat, id, "two"), 202)
		r.restart()
		ctx, cancel := context.WithCancel(t.Context())
		offered, done := make(chan channels.Incoming, 1), make(chan error, 1)
		go func() {
			done <- r.ch.Run(ctx, func(_ context.Context, in channels.Incoming) error {
				_ = r.ch.Close()
				offered <- in
				return nil
			})
		}()
		in := <-offered
		cancel()
		musttest.Do(t, <-done)
		wanttest.EqualSlices(t, "offered before the crash", runs([]channels.Incoming{in}), []string{id + "~1 " + id + " two"})
		r.restart()
		r.startGateway()
		r.postText("ann", annsChat, "three")
		wanttest.EqualSlices(t, "received", texts(r.awaitIncoming(2)), []string{"two", "three"})
		wanttest.Equal(t, "the ID", r.awaitIncoming(2)[0].ID, in.ID)
	})
}

func TestTheMenuOfAChatIsForThoseWhoSeeIt(t *testing.T) {
	r := newFixture(t)
	r.postText("ann", annsChat, "hello")
	var m struct {
		Commands []struct {
			Name, Help string
			Args       bool
		}
		Agent  string
		Agents []string
	}
	r.getJSON("ann", "/api/chats/"+annsChat+"/menu", &m)
	wanttest.Equal(t, "without a gateway:", fmt.Sprintf("%+v", m), "{Commands:[] Agent: Agents:[]}")
	r.ch.SetMenuSource(func(_ context.Context, chat channels.Chat, user channels.User) (channels.Choices, error) {
		commands := []channels.Command{{Name: "stop", Help: chat.String(), Args: true}, {Name: "plan", Help: user.ID}}
		return channels.Choices{Commands: commands, Agent: "coder", Agents: []string{"coder", "writer"}}, nil
	})
	r.getJSON("ann", "/api/chats/"+annsChat+"/menu", &m)
	want := "{Commands:[{Name:stop Help:web:" + annsChat + " Args:true} {Name:plan Help:ann Args:false}] Agent:coder Agents:[coder writer]}"
	wanttest.Equal(t, "the menu:", fmt.Sprintf("%+v", m), want)
	for user, want := range map[string]int{"bob": 404, "operator": 200} {
		wanttest.Equal(t, user, r.status(user, "GET", "/api/chats/"+annsChat+"/menu", ""), want)
	}
	r.getJSON("ann", "/api/chats/web-new-known-to-nobody-else/menu", &m)
}
