package web_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"nanobot/channels"
	"nanobot/channels/channelstest"
	"nanobot/internal/wanttest"
)

func texts(all []channels.Incoming) (out []string) {
	for _, in := range all {
		out = append(out, in.Text)
	}
	return out
}

func TestAMessageIsReceivedStoredAndShownInEveryTab(t *testing.T) {
	r := newFixture(t)
	r.startGateway()
	one, two := r.openStream("ann", ""), r.openStream("ann", "")
	receipt := r.postText("ann", "web-a-known-to-nobody-else", "hello\nthere")
	in := r.awaitIncoming(1)[0]
	if in.Text != "hello\nthere" || in.ID != receipt["id"] || in.User.ID != "ann" || in.Chat.String() != "web:web-a-known-to-nobody-else" {
		t.Errorf("received was %+v", in)
	}
	r.sendAsBot(answerTo("web-a-known-to-nobody-else", "hi"), "k1")
	for _, tab := range []*stream{one, two} {
		first, second := tab.next("message"), tab.next("message")
		if first.data["text"] != "hello\nthere" || first.data["from"] != "user" || first.data["seq"] != receipt["seq"] || first.data["html"] != nil {
			t.Errorf("shown was %+v", first)
		}
		if second.data["text"] != "hi" || second.data["from"] != "bot" || second.data["kind"] != "message" {
			t.Errorf("shown was %+v", second)
		}
	}
	var page struct{ Messages []object }
	r.getJSON("ann", "/api/chats/web-a-known-to-nobody-else/messages", &page)
	if len(page.Messages) != 2 || page.Messages[0]["text"] != "hello\nthere" || page.Messages[1]["text"] != "hi" {
		t.Errorf("kept was %+v", page)
	}
	var chats []object
	r.getJSON("ann", "/api/chats", &chats)
	if len(chats) != 1 || chats[0]["id"] != "web-a-known-to-nobody-else" || chats[0]["title"] != "hello" {
		t.Errorf("the chats are %+v", chats)
	}
}

func TestTheGatewayLearnsTheTitleOfTheChat(t *testing.T) {
	r := newFixture(t)
	r.startGateway()
	for _, text := range []string{"first words", "more"} {
		r.postText("ann", "web-a-known-to-nobody-else", text)
	}
	for _, in := range r.awaitIncoming(2) {
		if in.Title != "first words" {
			t.Errorf("received %+v", in)
		}
	}
}

func TestAMessageThatIsSentAgainIsOneMessage(t *testing.T) {
	r := newFixture(t)
	r.startGateway()
	again := object{"text": "hello", "client_id": "c1"}
	_, first := r.postJSON("ann", "/api/chats/web-a-known-to-nobody-else/messages", again)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if status, next := r.postJSON("ann", "/api/chats/web-a-known-to-nobody-else/messages", again); status != 202 || next["id"] != first["id"] || next["seq"] != first["seq"] {
				t.Errorf("first it was %v, then %d %v", first, status, next)
			}
		})
	}
	all.Wait()
	r.restart()
	r.startGateway()
	if _, next := r.postJSON("ann", "/api/chats/web-a-known-to-nobody-else/messages", again); next["id"] != first["id"] {
		t.Errorf("after a restart it is %v", next)
	}
	r.postText("ann", "web-a-known-to-nobody-else", "the end")
	r.postJSON("ann", "/api/chats/web-b-known-to-nobody-else/messages", again)
	wanttest.EqualSlices(t, "received were", texts(r.awaitIncoming(3)), []string{"hello", "the end", "hello"})
}

func TestManyChatsAreReceivedInTheirOrder(t *testing.T) {
	r := newFixture(t)
	r.startGateway()
	const chats, each = 6, 10
	var all sync.WaitGroup
	for c := range chats {
		all.Go(func() {
			for i := range each {
				r.postText("ann", fmt.Sprintf("web-%d-known-to-nobody-else", c), fmt.Sprintf("%d", i))
			}
		})
	}
	all.Wait()
	next := map[string]int{}
	for _, in := range r.awaitIncoming(chats * each) {
		if in.Text != fmt.Sprintf("%d", next[in.Chat.ID]) {
			t.Errorf("in %s came %s instead of %d", in.Chat, in.Text, next[in.Chat.ID])
		}
		next[in.Chat.ID]++
	}
}

// A channel that receives one message after the other never has them all inside.
func TestManyChatsAreReceivedAtTheSameTime(t *testing.T) {
	const chats = 20
	r := newFixture(t)
	for i := range chats {
		for n := range 2 {
			r.postText("ann", fmt.Sprintf("web-chat-number-%04d-of-ann", i), strconv.Itoa(n))
		}
	}
	var inside atomic.Int32
	all := make(chan struct{})
	r.stop = channelstest.Start(t, r.ch, func(ctx context.Context, in channels.Incoming) error {
		if inside.Add(1) == chats {
			close(all)
		}
		select {
		case <-all:
			return r.inbox.Receive(ctx, in)
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	got := map[string][]string{}
	for _, in := range r.awaitIncoming(2 * chats) {
		got[in.Chat.ID] = append(got[in.Chat.ID], in.Text)
	}
	for chat, texts := range got {
		if !slices.Equal(texts, []string{"0", "1"}) {
			t.Errorf("in %s was received %q", chat, texts)
		}
	}
}

func TestAMessageThatIsNotReceivedDelaysOnlyItsChat(t *testing.T) {
	r := newFixture(t)
	full := true
	r.inbox.Reject = func(in channels.Incoming) error {
		if full && in.Text == "one" {
			return errors.New("the disk is full")
		}
		return nil
	}
	r.startGateway()
	r.postText("ann", "web-a-known-to-nobody-else", "one")
	r.postText("ann", "web-a-known-to-nobody-else", "two")
	r.postText("ann", "web-b-known-to-nobody-else", "three")
	wanttest.EqualSlices(t, "received were", texts(r.awaitIncoming(1)), []string{"three"})
	for r.ch.Health() == nil { // it is known when the pass is over
		r.postText("ann", "web-b-known-to-nobody-else", "again")
	}
	if err := r.ch.Health(); !strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("its health is %v", err)
	}
	r.inbox.Lock()
	full = false
	before := len(r.inbox.All)
	r.inbox.Unlock()
	got := r.awaitIncoming(before + 2)
	var held []string
	for _, in := range got {
		if in.Chat.ID == "web-a-known-to-nobody-else" {
			held = append(held, in.Text)
		}
	}
	wanttest.EqualSlices(t, "then", held, []string{"one", "two"})
}

func TestInvalidMessagesAreRefused(t *testing.T) {
	r := newFixture(t)
	for _, c := range []struct {
		name, path, kind, body string
		status                 int
		says                   string
	}{
		{"no text", "/api/chats/web-a-known-to-nobody-else/messages", "application/json", `{"text": " \n"}`, 400, "needs a text or a file"},
		{"no JSON", "/api/chats/web-a-known-to-nobody-else/messages", "application/json", `{`, 400, "cannot be read"},
		{"no kind", "/api/chats/web-a-known-to-nobody-else/messages", "text/plain", `hello`, 415, "multipart/form-data"},
		{"a broken form", "/api/chats/web-a-known-to-nobody-else/messages", "multipart/form-data; boundary=x", "--x\r\nfoo", 400, "cannot be read"},
		{"a form without a boundary", "/api/chats/web-a-known-to-nobody-else/messages", "multipart/form-data", "", 400, "cannot be read"},
		{"another field", "/api/chats/web-a-known-to-nobody-else/messages", "multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; name=\"txt\"\r\n\r\nhi\r\n--x--", 400, `is not a field of a message`},
		{"a long text", "/api/chats/web-a-known-to-nobody-else/messages", "application/json", `{"text": "` + strings.Repeat("x", 1<<20+1) + `"}`, 413, "Send it as a file"},
		{"a long client_id", "/api/chats/web-a-known-to-nobody-else/messages", "application/json", `{"text": "x", "client_id": "` + strings.Repeat("x", 101) + `"}`, 400, "client_id"},
		{"a chat of another network", "/api/chats/123456/messages", "application/json", `{"text": "x"}`, 404, "no such chat"},
		{"a chat with a path", "/api/chats/web-..%2f..%2fx/messages", "application/json", `{"text": "x"}`, 404, "no such chat"},
		{"a chat with a long name", "/api/chats/web-" + strings.Repeat("x", 61) + "/messages", "application/json", `{"text": "x"}`, 404, "no such chat"},
	} {
		if status, body, _ := r.request("ann", "POST", c.path, c.kind, strings.NewReader(c.body)); status != c.status || !strings.Contains(body, c.says) {
			t.Errorf("%s: answered %d %.200s", c.name, status, body)
		}
	}
	var chats []object
	if r.getJSON("operator", "/api/chats", &chats); len(chats) != 0 {
		t.Errorf("there are %v", chats)
	}
	if got := r.filesIn("users"); len(got) > 0 {
		t.Errorf("folders were made: %v", got)
	}
}

func TestWaitingMessagesOfAChatAreLimited(t *testing.T) {
	r := newFixture(t)
	for i := range 100 {
		r.postText("ann", "web-a-known-to-nobody-else", fmt.Sprint(i))
	}
	if status, answer := r.postJSON("ann", "/api/chats/web-a-known-to-nobody-else/messages", object{"text": "one more"}); status != 429 {
		t.Errorf("answered %d %v", status, answer)
	}
	r.postText("ann", "web-b-known-to-nobody-else", "elsewhere")
	r.startGateway()
	r.awaitIncoming(101)
	for status := 0; status != 202; { // until that is noted
		status, _ = r.postJSON("ann", "/api/chats/web-a-known-to-nobody-else/messages", object{"text": "one more"})
	}
}

func TestPeopleSeeTheirOwnChatsAndOperatorsAll(t *testing.T) {
	r := newFixture(t)
	ann, bob, operator := r.openStream("ann", ""), r.openStream("bob", ""), r.openStream("operator", "")
	_, answer := r.postForm("ann", "web-ann-known-to-nobody-else", "mine", formFile{"a.txt", "secret"})
	if answer["id"] == nil {
		t.Fatal(answer)
	}
	r.sendAsBot(channels.Message{Chat: channels.Chat{Channel: "web", ID: "web-ann-known-to-nobody-else"}, Kind: channels.Progress, Text: "working"}, "")
	r.sendAsBot(answerTo("web-ann-known-to-nobody-else", "for ann"), "")
	r.postText("bob", "web-bob-known-to-nobody-else", "his")
	media := ann.next("message").data["media"].([]any)[0].(object)["id"].(string)
	if e := bob.next("message"); e.data["text"] != "his" || len(bob.all) != 2 {
		t.Errorf("bob saw %+v", bob.all)
	}
	for _, want := range []string{"mine", "for ann", "his"} {
		if e := operator.next("message"); e.data["text"] != want {
			t.Errorf("the operator saw %+v instead of %q", e, want)
		}
	}
	for path, want := range map[string][3]int{ // ann, bob, the operator
		"/api/chats/web-ann-known-to-nobody-else/messages": {200, 404, 200},
		"/api/chats/web-bob-known-to-nobody-else/messages": {404, 200, 200},
		"/api/media/" + media:                              {200, 404, 200},
	} {
		for i, user := range []string{"ann", "bob", "operator"} {
			if status, body, _ := r.request(user, "GET", path, "", nil); status != want[i] {
				t.Errorf("%s: %s is answered %d %s", path, user, status, body)
			}
		}
	}
	if status, _ := r.postJSON("bob", "/api/chats/web-ann-known-to-nobody-else/messages", object{"text": "let me in"}); status != 404 {
		t.Errorf("bob may write in ann's chat: %d", status)
	}
	if status, _ := r.postJSON("operator", "/api/chats/web-ann-known-to-nobody-else/messages", object{"text": "hello ann"}); status != 202 {
		t.Errorf("the operator may not write in ann's chat: %d", status)
	}
	for user, want := range map[string]int{"ann": 1, "bob": 1, "operator": 2} {
		var chats []object
		if r.getJSON(user, "/api/chats", &chats); len(chats) != want {
			t.Errorf("%s has the chats %v", user, chats)
		}
	}
	again := r.openStream("bob", "0")
	if again.next("message").data["text"] != "his" || len(again.all) != 2 {
		t.Errorf("coming back, bob saw %+v", again.all)
	}
}

func TestHistoryComesInPages(t *testing.T) {
	r := newFixture(t)
	for i := range 7 {
		r.sendAsBot(answerTo("web-a-known-to-nobody-else", fmt.Sprint(i)), "")
		r.sendAsBot(answerTo("web-other-known-to-nobody-else", "elsewhere"), "")
	}
	var all []string
	before := ""
	for more := true; more; {
		var page struct {
			Messages []struct {
				Seq  int64
				Text string
			}
			More bool
		}
		r.getJSON("operator", "/api/chats/web-a-known-to-nobody-else/messages?limit=3"+before, &page)
		var some []string
		for _, m := range page.Messages {
			some = append(some, m.Text)
		}
		all = append(some, all...)
		before, more = fmt.Sprintf("&before=%d", page.Messages[0].Seq), page.More
	}
	wanttest.Equal(t, "the pages hold", strings.Join(all, ""), "0123456")
	if status, _, _ := r.request("operator", "GET", "/api/chats/web-a-known-to-nobody-else/messages?before=x", "", nil); status != 400 {
		t.Errorf("nonsense is answered %d", status)
	}
}

func TestAChatIsTitledByItsFirstMessage(t *testing.T) {
	r := newFixture(t)
	for text, want := range map[string]string{
		"\n  two   words \nmore": "two words", strings.Repeat("word ", 30): strings.Repeat("word ", 11) + "word…", "": "photo.png",
	} {
		_, chat := r.postJSON("ann", "/api/chats", object{})
		r.postForm("ann", chat["id"].(string), text, formFile{"photo.png", "x"})
		r.postText("ann", chat["id"].(string), "second")
		var chats []object
		r.getJSON("ann", "/api/chats", &chats)
		if chats[0]["title"] != want {
			t.Errorf("%q makes %q", text, chats[0]["title"])
		}
	}
}
