package web_test

import (
	"errors"
	"testing"

	"nanobot/channels"
	"nanobot/channels/web"
)

func progressIn(chat, text string) channels.Message {
	return channels.Message{
		Chat: channels.Chat{Channel: web.Name, ID: chat}, Kind: channels.Progress, Text: text, Buttons: []channels.Button{{Label: "Stop", Data: "/stop"}},
	}
}

func TestProgressIsShownToWhoeverWatchesAndKeptNowhere(t *testing.T) {
	r := newRig(t)
	r.say("ann", "web-a-known-to-nobody-else", "go")
	early := r.watch("ann", "")
	id := r.bot(progressIn("web-a-known-to-nobody-else", "⏳ one"), "").ID
	first := early.next("progress")
	if first.id != "" || first.data["id"] != id || first.data["text"] != "⏳ one" || first.data["html"] != "<p>⏳ one</p>" || first.data["since"] == "" {
		t.Errorf("shown was %+v", first)
	}
	plan, _ := r.ch.Plan(progressIn("web-a-known-to-nobody-else", "⏳ two"))
	if err := r.ch.Edit(t.Context(), id, plan[0]); err != nil {
		t.Fatal(err)
	}
	late := r.watch("ann", "")
	for _, tab := range []*stream{early, late} {
		if e := tab.next("progress"); e.data["text"] != "⏳ two" || e.data["since"] != first.data["since"] || e.data["id"] != id {
			t.Errorf("then %+v", e)
		}
	}
	if err := errors.Join(r.ch.Typing(t.Context(), plan[0].Chat), r.ch.Remove(t.Context(), plan[0].Chat, id), r.ch.Remove(t.Context(), plan[0].Chat, id)); err != nil {
		t.Fatal(err)
	}
	for _, tab := range []*stream{early, late} {
		if e := tab.next("typing"); e.data["chat"] != "web-a-known-to-nobody-else" {
			t.Errorf("then %+v", e)
		}
		if e := tab.next("gone"); e.data["id"] != id || e.data["chat"] != "web-a-known-to-nobody-else" {
			t.Errorf("then %+v", e)
		}
	}
	after := r.watch("ann", "0")
	r.bot(answerTo("web-a-known-to-nobody-else", "done"), "")
	for after.next("message").data["text"] != "done" {
	}
	for _, e := range after.all {
		if e.name == "progress" {
			t.Errorf("it is still there: %+v", e)
		}
	}
}

func TestABubbleGoesWithoutTheDisk(t *testing.T) {
	r := newRig(t)
	r.say("ann", "web-a-known-to-nobody-else", "go")
	tab, other := r.watch("ann", ""), r.watch("bob", "")
	id := r.bot(progressIn("web-a-known-to-nobody-else", "one"), "").ID
	tab.next("progress")
	r.tamper("DROP TABLE chats") // nobody can tell any more whose it is
	plan, _ := r.ch.Plan(progressIn("web-a-known-to-nobody-else", "two"))
	if err := errors.Join(r.ch.Edit(t.Context(), id, plan[0]), r.ch.Remove(t.Context(), plan[0].Chat, id)); err != nil {
		t.Fatal(err)
	}
	if e := tab.next("progress"); e.data["text"] != "two" {
		t.Errorf("shown was %+v", e)
	}
	if e := tab.next("gone"); e.data["id"] != id {
		t.Errorf("then %+v", e)
	}
	r.ch.CloseStreams()
	if all := other.rest(); len(all) != 1 {
		t.Errorf("somebody else was told %+v", all)
	}
}

func TestWhatIsNoBubbleDoesNotBecomeOne(t *testing.T) {
	r := newRig(t)
	r.say("ann", "web-a-known-to-nobody-else", "go")
	kept := r.bot(answerTo("web-a-known-to-nobody-else", "an answer"), "").ID
	gone := r.bot(progressIn("web-a-known-to-nobody-else", "one"), "").ID
	plan, _ := r.ch.Plan(progressIn("web-a-known-to-nobody-else", "two"))
	if err := r.ch.Remove(t.Context(), plan[0].Chat, gone); err != nil {
		t.Fatal(err)
	}
	tab := r.watch("ann", "")
	for _, id := range []string{kept, gone, "unknown"} {
		var se *channels.SendError
		if err := r.ch.Edit(t.Context(), id, plan[0]); !errors.As(err, &se) || !se.Permanent {
			t.Errorf("editing %s returns %v", id, err)
		}
		if err := r.ch.Remove(t.Context(), plan[0].Chat, id); err != nil { // as after a restart
			t.Errorf("removing %s returns %v", id, err)
		}
	}
	r.ch.CloseStreams()
	if all := tab.rest(); len(all) != 1 {
		t.Errorf("told was %+v", all)
	}
}

func TestAnAnswerSaysWhatItAnswers(t *testing.T) {
	r := newRig(t)
	tab := r.watch("ann", "")
	asked := r.say("ann", "web-a-known-to-nobody-else", "go")["id"]
	m := answerTo("web-a-known-to-nobody-else", "done")
	m.ReplyTo = asked.(string)
	r.bot(m, "k1")
	m.ReplyTo = "press-1" // which is no message
	r.bot(m, "k2")
	r.restart()
	var page struct{ Messages []obj }
	r.get("ann", "/api/chats/web-a-known-to-nobody-else/messages", &page)
	for i, want := range []any{nil, asked, nil} {
		if e := tab.next("message"); e.data["reply_to"] != want || page.Messages[i]["reply_to"] != want {
			t.Errorf("%d: told was %+v, kept was %+v", i, e, page.Messages[i])
		}
	}
}

func TestADraftIsShownAsSuchAndKeptNowhere(t *testing.T) {
	r := newRig(t)
	r.say("ann", "web-a-known-to-nobody-else", "go")
	tab := r.watch("ann", "")
	m := progressIn("web-a-known-to-nobody-else", "**Once** upon")
	m.Kind, m.Buttons = channels.Draft, nil
	id := r.bot(m, "a key").ID
	if e := tab.next("progress"); e.data["draft"] != true || e.data["html"] != "<p><strong>Once</strong> upon</p>" || e.data["id"] != id {
		t.Errorf("shown was %+v", e)
	}
	r.bot(answerTo("web-a-known-to-nobody-else", "Once upon a time"), "")
	after := r.watch("ann", "0")
	if e := after.next("message"); e.data["text"] != "go" {
		t.Errorf("first %+v", e)
	}
	if e := after.next("message"); e.data["text"] != "Once upon a time" {
		t.Errorf("then %+v", e)
	}
}
