package web_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"nanobot/channels/web"
)

// allOf reads a chat page by page, and returns the first letters of its messages, oldest first, and
// how long the longest page was.
func (r *rig) allOf(user, chat string) (seen []string, longest int) {
	r.t.Helper()
	for before := 0.0; ; {
		var page struct {
			Messages []obj
			More     bool
		}
		path := fmt.Sprintf("/api/chats/%s/messages?limit=200&before=%.0f", chat, before)
		_, body, _ := r.ask(user, "GET", path, "", nil)
		longest = max(longest, len(body))
		r.get(user, path, &page)
		var these []string
		for _, m := range page.Messages {
			these = append(these, m["text"].(string)[:1])
		}
		seen = append(these, seen...)
		if !page.More {
			return seen, longest
		}
		before = page.Messages[0]["seq"].(float64)
	}
}

func TestAPageHasSoManyBytesHoweverLittleWasSaid(t *testing.T) {
	r := newRig(t)
	const chat, most = "web-ann-known-to-nobody-else", 5 << 19
	want := []string{"h"}
	r.say("ann", chat, "hello")
	table := "|a|b\n|:-:|:-:\n" + strings.Repeat("|\n", 8000)
	for i := range 9 { // each of which becomes half a million
		want = append(want, fmt.Sprint(i))
		r.bot(answerTo(chat, fmt.Sprint(i)+"\n\n"+table), "")
	}
	for i := range 5 { // a line's end is two bytes in JSON
		want = append(want, fmt.Sprint(i))
		r.say("ann", chat, fmt.Sprint(i)+strings.Repeat("\n", 1<<20-2)+"x")
	}
	got, longest := r.allOf("ann", chat)
	if !slices.Equal(got, want) {
		t.Errorf("in the pages are %q", got)
	}
	if longest > most {
		t.Errorf("a page has %d bytes", longest)
	}
}

func TestWhatLooksLikeHTMLIsNoLongerThanOtherText(t *testing.T) {
	r := newRig(t)
	text := strings.Repeat("<&>", 100_000)
	tab := r.watch("ann", "")
	r.say("ann", "web-ann-known-to-nobody-else", text)
	if got := tab.next("message").data["text"]; got != text {
		t.Errorf("told is %.40q", got)
	}
	if _, body, _ := r.ask("ann", "GET", "/api/chats/web-ann-known-to-nobody-else/messages", "", nil); len(body) > len(text)+1000 {
		t.Errorf("%d bytes became %d", len(text), len(body))
	}
}

// idle is a client that reads nothing until it is let.
type idle struct {
	*httptest.ResponseRecorder
	once        sync.Once
	begun, read chan struct{}
}

func (i *idle) Write(b []byte) (int, error) {
	i.once.Do(func() { close(i.begun) })
	<-i.read
	return i.ResponseRecorder.Write(b)
}

func TestOneUserReadsSoManyPagesAtOnce(t *testing.T) {
	r := newRig(t)
	const path = "/api/chats/web-ann-known-to-nobody-else/messages"
	r.say("ann", "web-ann-known-to-nobody-else", "hello")
	_, handler := r.ch.Mount()
	read := make(chan struct{})
	var all sync.WaitGroup
	for range 8 {
		w := &idle{ResponseRecorder: httptest.NewRecorder(), begun: make(chan struct{}), read: read}
		all.Go(func() {
			req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
			req.Header.Set("X-User", "ann")
			handler.ServeHTTP(w, req)
		})
		<-w.begun
	}
	if status, body, h := r.ask("ann", "GET", path, "", nil); status != 429 || h.Get("Retry-After") == "" {
		t.Errorf("one more is answered %d %s", status, body)
	}
	if status, body, _ := r.ask("operator", "GET", path, "", nil); status != 200 {
		t.Errorf("somebody else is answered %d %s", status, body)
	}
	close(read)
	all.Wait()
	if status, body, _ := r.ask("ann", "GET", path, "", nil); status != 200 {
		t.Errorf("afterwards it is answered %d %s", status, body)
	}
}

// depth is how deep elements lie in each other.
func depth(html string) (most int) {
	now := 0
	for tag := range strings.SplitSeq(html, "<") {
		switch {
		case strings.HasPrefix(tag, "/"):
			now--
		case tag != "" && !strings.HasPrefix(tag, "br") && !strings.HasPrefix(tag, "hr"):
			now++
		}
		most = max(most, now)
	}
	return most
}

func TestListsAndQuotesAreShownSoDeepAndNoDeeper(t *testing.T) {
	const size = 64 << 10
	fill := func(line string) string { return strings.Repeat(line, max(1, size/len(line))) }
	steps := func(indent, marker string) string {
		var b strings.Builder
		for i := 0; b.Len() < size; i++ {
			b.WriteString(strings.Repeat(indent, i) + marker + "a\n")
		}
		return b.String()
	}
	for _, text := range []string{
		fill(strings.Repeat("+ ", 8000) + "\n"), fill(strings.Repeat("1) ", 5000) + "\n"), fill(strings.Repeat("-\t", 8000) + "a\n"), fill(strings.Repeat("> ", 2900) + "a\n\n"),
		fill(strings.Repeat("* ", 49) + "a\n\n"), fill(strings.Repeat("+ ", 51) + "a\n"), fill(strings.Repeat("> - 7. ", 20) + "a\n"),
		steps("  ", "- "), steps("\t", "-\t"), steps(strings.Repeat("  ", 40), strings.Repeat("- ", 40)),
	} {
		got := web.Render(text)
		if d := depth(got); d > 2*50 { // a list and its item
			t.Errorf("%.20q: shown %d deep", text, d)
		}
		if len(got) > 12*len(text) {
			t.Errorf("%.20q: %d bytes became %d", text, len(text), len(got))
		}
	}
	for text, want := range map[string]int{strings.Repeat("- ", 20) + "a": 2*20 + 0, strings.Repeat("> ", 40) + "a": 40 + 1, "- a\n  - b\n    1. c": 2 * 3} {
		if got := depth(web.Render(text)); got != want {
			t.Errorf("%.20q is shown %d deep", text, got)
		}
	}
}

func TestAMessageIsRenderedOnce(t *testing.T) {
	var r web.Rendered
	if got := r.Of(1, "*one*"); got != "<p><em>one</em></p>" {
		t.Errorf("it is %q", got)
	}
	if got := r.Of(1, "again"); got != "<p><em>one</em></p>" {
		t.Errorf("again it is %q", got)
	}
	for seq := range int64(200) { // more than is kept
		r.Of(seq+2, strings.Repeat("x", 60_000))
	}
	if got := r.Of(1, "anew"); got != "<p>anew</p>" {
		t.Errorf("much later it is %q", got)
	}
}

func TestAFilesNameIsShortAndShowsWhatItIs(t *testing.T) {
	r := newRig(t)
	status, answer := r.send("ann", "web-ann-known-to-nobody-else", "", uploadReader{strings.Repeat("n", 900_000) + ".txt", "x"}, uploadReader{"a\u202etxt.exe", "y"})
	if status != http.StatusAccepted {
		t.Fatalf("answered %d %v", status, answer)
	}
	var page struct {
		Messages []struct{ Media []struct{ Name string } }
	}
	r.get("ann", "/api/chats/web-ann-known-to-nobody-else/messages", &page)
	files := page.Messages[0].Media
	if name := files[0].Name; len(name) > 200 || !strings.HasSuffix(name, "n.txt") {
		t.Errorf("the first is called %.300q", name)
	}
	if name := files[1].Name; name != "a_txt.exe" {
		t.Errorf("the second is called %q", name)
	}
	var chats []struct{ Title string }
	if r.get("ann", "/api/chats", &chats); len([]rune(chats[0].Title)) > 60 {
		t.Errorf("the chat is called %.300q", chats[0].Title)
	}
}

func TestWhoeverIsNoOperatorBeginsNoChatWhoseNameCanBeGuessed(t *testing.T) {
	r := newRig(t)
	r.run()
	for _, method := range []string{"GET", "POST"} {
		if status, body, _ := r.ask("ann", method, "/api/chats/web-cron/messages", "application/json", bytes.NewReader([]byte(`{"text":"mine"}`))); status != 404 {
			t.Errorf("%s is answered %d %s", method, status, body)
		}
	}
	r.say("operator", "web-cron", "nightly")
	r.bot(answerTo("web-cron", "a secret"), "")
	if status, body, _ := r.ask("ann", "GET", "/api/chats/web-cron/messages", "", nil); status != 404 {
		t.Errorf("ann is answered %d %s", status, body)
	}
	status, chat := r.post("ann", "/api/chats", obj{})
	if status != 201 {
		t.Fatalf("a name for a chat: %d %v", status, chat)
	}
	r.say("ann", chat["id"].(string), "hello")
	r.say("ann", "web-1yk2x5z-9k3f2-q8l0ab-1c9d7e", "hello") // as the page names them
	if got := r.got(3); got[0].User.ID != "operator" {
		t.Errorf("received was %+v", got)
	}
}

func TestTheSameClientIDOfTwoUsersIsTwoMessages(t *testing.T) {
	r := newRig(t)
	r.run()
	const path = "/api/chats/web-ann-known-to-nobody-else/messages"
	_, first := r.post("ann", path, obj{"text": "ann's", "client_id": "1"})
	_, second := r.post("operator", path, obj{"text": "operator's", "client_id": "1"})
	if first["id"] == second["id"] {
		t.Error("the second was taken for the first")
	}
	if got := texts(r.got(2)); !slices.Equal(got, []string{"ann's", "operator's"}) {
		t.Errorf("received were %q", got)
	}
}
