package web_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"nanobot/channels"
	"nanobot/channels/web"
	"nanobot/internal/musttest"
)

func progressIn(chat, text string) channels.Message {
	return channels.Message{
		Chat: channels.Chat{Channel: web.Name, ID: chat}, Kind: channels.Progress, Text: text, Buttons: []channels.Button{{Label: "Stop", Data: "/stop"}},
	}
}

func TestProgressIsShownToWatchersAndNotStored(t *testing.T) {
	r := newFixture(t)
	r.postText("ann", "web-a-known-to-nobody-else", "go")
	early := r.openStream("ann", "")
	id := r.sendAsBot(progressIn("web-a-known-to-nobody-else", "⏳ one"), "").ID
	first := early.next("progress")
	if first.id != "" || first.data["id"] != id || first.data["text"] != "⏳ one" || first.data["html"] != "<p>⏳ one</p>" || first.data["since"] == "" {
		t.Errorf("shown was %+v", first)
	}
	plan, _ := r.ch.Plan(progressIn("web-a-known-to-nobody-else", "⏳ two"))
	musttest.Do(t, r.ch.Edit(t.Context(), id, plan[0]))
	late := r.openStream("ann", "")
	for _, tab := range []*stream{early, late} {
		if e := tab.next("progress"); e.data["text"] != "⏳ two" || e.data["since"] != first.data["since"] || e.data["id"] != id {
			t.Errorf("then %+v", e)
		}
	}
	musttest.Do(t, errors.Join(r.ch.Typing(t.Context(), plan[0].Chat), r.ch.Remove(t.Context(), plan[0].Chat, id), r.ch.Remove(t.Context(), plan[0].Chat, id)))
	for _, tab := range []*stream{early, late} {
		if e := tab.next("typing"); e.data["chat"] != "web-a-known-to-nobody-else" {
			t.Errorf("then %+v", e)
		}
		if e := tab.next("gone"); e.data["id"] != id || e.data["chat"] != "web-a-known-to-nobody-else" {
			t.Errorf("then %+v", e)
		}
	}
	after := r.openStream("ann", "0")
	r.sendAsBot(answerTo("web-a-known-to-nobody-else", "done"), "")
	for after.next("message").data["text"] != "done" {
	}
	for _, e := range after.all {
		if e.name == "progress" {
			t.Errorf("it is still there: %+v", e)
		}
	}
}

func TestATransientMessageIsRemovedWithoutTheDisk(t *testing.T) {
	r := newFixture(t)
	r.postText("ann", "web-a-known-to-nobody-else", "go")
	tab, other := r.openStream("ann", ""), r.openStream("bob", "")
	id := r.sendAsBot(progressIn("web-a-known-to-nobody-else", "one"), "").ID
	tab.next("progress")
	r.execSQL("DROP TABLE chats") // nobody can tell any more whose it is
	plan, _ := r.ch.Plan(progressIn("web-a-known-to-nobody-else", "two"))
	musttest.Do(t, errors.Join(r.ch.Edit(t.Context(), id, plan[0]), r.ch.Remove(t.Context(), plan[0].Chat, id)))
	if e := tab.next("progress"); e.data["text"] != "two" {
		t.Errorf("shown was %+v", e)
	}
	if e := tab.next("gone"); e.data["id"] != id {
		t.Errorf("then %+v", e)
	}
	r.ch.CloseStreams()
	if all := other.readToEnd(); len(all) != 1 {
		t.Errorf("somebody else was told %+v", all)
	}
}

func TestEditOfAMissingTransientMessageFails(t *testing.T) {
	r := newFixture(t)
	r.postText("ann", "web-a-known-to-nobody-else", "go")
	kept := r.sendAsBot(answerTo("web-a-known-to-nobody-else", "an answer"), "").ID
	gone := r.sendAsBot(progressIn("web-a-known-to-nobody-else", "one"), "").ID
	plan, _ := r.ch.Plan(progressIn("web-a-known-to-nobody-else", "two"))
	musttest.Do(t, r.ch.Remove(t.Context(), plan[0].Chat, gone))
	tab := r.openStream("ann", "")
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
	if all := tab.readToEnd(); len(all) != 1 {
		t.Errorf("told was %+v", all)
	}
}

func TestAnAnswerHasTheIDOfTheMessageThatItAnswers(t *testing.T) {
	r := newFixture(t)
	tab := r.openStream("ann", "")
	asked := r.postText("ann", "web-a-known-to-nobody-else", "go")["id"]
	m := answerTo("web-a-known-to-nobody-else", "done")
	m.ReplyTo = asked.(string)
	r.sendAsBot(m, "k1")
	m.ReplyTo = "press-1" // which is no message
	r.sendAsBot(m, "k2")
	told := []event{tab.next("message"), tab.next("message"), tab.next("message")}
	r.restart()
	var page struct{ Messages []object }
	r.getJSON("ann", "/api/chats/web-a-known-to-nobody-else/messages", &page)
	for i, want := range []any{nil, asked, nil} {
		if e := told[i]; e.data["reply_to"] != want || page.Messages[i]["reply_to"] != want {
			t.Errorf("%d: told was %+v, kept was %+v", i, e, page.Messages[i])
		}
	}
}

func TestADraftIsMarkedAndNotStored(t *testing.T) {
	r := newFixture(t)
	r.postText("ann", "web-a-known-to-nobody-else", "go")
	tab := r.openStream("ann", "")
	m := progressIn("web-a-known-to-nobody-else", "**Once** upon")
	m.Kind, m.Buttons = channels.Draft, nil
	id := r.sendAsBot(m, "a key").ID
	if e := tab.next("progress"); e.data["draft"] != true || e.data["html"] != "<p><strong>Once</strong> upon</p>" || e.data["id"] != id {
		t.Errorf("shown was %+v", e)
	}
	r.sendAsBot(answerTo("web-a-known-to-nobody-else", "Once upon a time"), "")
	after := r.openStream("ann", "0")
	if e := after.next("message"); e.data["text"] != "go" {
		t.Errorf("first %+v", e)
	}
	if e := after.next("message"); e.data["text"] != "Once upon a time" {
		t.Errorf("then %+v", e)
	}
}

func TestAnEditWithDetailsIsStored(t *testing.T) {
	r := newFixture(t)
	const chat = "web-a-known-to-nobody-else"
	r.postText("ann", chat, "go")
	tab := r.openStream("ann", "")
	id := r.sendAsBot(progressIn(chat, "⏳ one"), "").ID
	tab.next("progress")
	m := progressIn(chat, "✓ 2 steps")
	m.Buttons, m.Details, m.Silent = nil, "- `ls`\n- **tests** <b>", true
	plan, err := r.ch.Plan(m)
	if err != nil || !plan[0].Silent {
		t.Fatalf("planned is %+v, %v", plan, err)
	}
	for range 2 { // the response of the first edit may have been lost
		musttest.Do(t, r.ch.Edit(t.Context(), id, plan[0]))
	}
	const html = "<p>✓ 2 steps</p><details><summary>Details</summary><ul>\n<li><code>ls</code></li>\n<li><strong>tests</strong> &lt;b&gt;</li>\n</ul></details>"
	if e := tab.next("message"); e.data["id"] != id || e.data["html"] != html || e.data["text"] != "✓ 2 steps" || e.data["details"] != m.Details {
		t.Errorf("told was %+v", e)
	}
	if e := tab.next("gone"); e.data["id"] != id {
		t.Errorf("then %+v", e)
	}
	musttest.Do(t, r.ch.Remove(t.Context(), plan[0].Chat, id))
	r.restart()
	if err := r.ch.Edit(t.Context(), id, plan[0]); err != nil {
		t.Errorf("after a restart the same edit returns %v", err)
	}
	var page struct{ Messages []object }
	r.getJSON("ann", "/api/chats/"+chat+"/messages", &page)
	if len(page.Messages) != 2 || page.Messages[1]["html"] != html || page.Messages[1]["id"] != id {
		t.Errorf("stored is %+v", page.Messages)
	}
	var se *channels.SendError
	if err := r.ch.Edit(t.Context(), "unknown", plan[0]); !errors.As(err, &se) || !se.Permanent {
		t.Errorf("an edit of an unknown message returns %v", err)
	}
}

func TestAStoredBoardIsAboveTheAnswersThatWereSentMeanwhile(t *testing.T) {
	r := newFixture(t)
	const chat = "web-a-known-to-nobody-else"
	r.postText("ann", chat, "go")
	early := r.openStream("ann", "")
	before := early.next("ready").id
	id := r.sendAsBot(progressIn(chat, "⏳ one"), "").ID
	r.sendAsBot(progressIn(chat, "⏳ another that is never stored"), "")
	r.sendAsBot(answerTo(chat, "the answer"), "k1")
	between := early.next("message").id
	m := progressIn(chat, "✓ 2 steps")
	m.Buttons, m.Details = nil, "- `ls`"
	plan := musttest.Get(r.ch.Plan(m))(t)
	musttest.Do(t, r.ch.Edit(t.Context(), id, plan[0]))
	if e := early.next("message"); e.data["id"] != id || e.id == between {
		t.Errorf("told was %+v, the answer has %s", e, between)
	}
	var page struct{ Messages []object }
	r.getJSON("ann", "/api/chats/"+chat+"/messages", &page)
	if all := page.Messages; len(all) != 3 || all[1]["text"] != "✓ 2 steps" || all[2]["text"] != "the answer" || all[1]["seq"].(float64) >= all[2]["seq"].(float64) {
		t.Errorf("stored is %+v", all)
	}
	r.sendAsBot(answerTo(chat, "the end"), "k2")
	for _, after := range []string{before, between} { // each message comes once, wherever the stream resumes
		tab := r.openStream("ann", after)
		var got []string
		for len(got) == 0 || got[len(got)-1] != "the end" {
			got = append(got, tab.next("message").data["text"].(string))
		}
		want := []string{"the answer", "✓ 2 steps", "the end"}
		if after == between {
			want = want[1:]
		}
		if !slices.Equal(got, want) {
			t.Errorf("after %s the stream has %q", after, got)
		}
	}
}

func TestLongDetailsAreShortenedAtALine(t *testing.T) {
	m := progressIn("web-a", "✓ many steps")
	m.Details = strings.Repeat("- a step\n", 10_000)
	plan, err := newFixture(t).ch.Plan(m)
	if err != nil || len(plan) != 1 || len(plan[0].Details) > 66_000 || !strings.HasSuffix(plan[0].Details, "- a step\n…") {
		t.Errorf("planned are %d bytes, %v", len(plan[0].Details), err)
	}
}
