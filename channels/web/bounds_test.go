package web_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"nanobot/channels"
	"nanobot/channels/web"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// readAllPages reads a chat page by page. It returns the first letters of its messages, oldest
// first, and the length of the longest page.
func (r *fixture) readAllPages(user, chat string) (seen []string, longest int) {
	r.t.Helper()
	for before := 0.0; ; {
		var page struct {
			Messages []object
			More     bool
		}
		path := fmt.Sprintf("/api/chats/%s/messages?limit=200&before=%.0f", chat, before)
		_, body, _ := r.request(user, "GET", path, "", nil)
		longest = max(longest, len(body))
		musttest.Do(r.t, json.Unmarshal([]byte(body), &page))
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

func TestAPageOfMessagesIsBoundedInBytes(t *testing.T) {
	r := newFixture(t)
	const chat, most = "web-ann-known-to-nobody-else", 5 << 19
	want := []string{"h"}
	r.postText("ann", chat, "hello")
	table := "|a|b\n|:-:|:-:\n" + strings.Repeat("|\n", 8000)
	for i := range 6 { // each of which becomes half a million
		want = append(want, fmt.Sprint(i))
		r.sendAsBot(answerTo(chat, fmt.Sprint(i)+"\n\n"+table), "")
	}
	for i := range 2 { // a line's end is two bytes in JSON
		want = append(want, fmt.Sprint(i))
		r.postText("ann", chat, fmt.Sprint(i)+strings.Repeat("\n", 1<<20-2)+"x")
	}
	got, longest := r.readAllPages("ann", chat)
	wanttest.EqualSlices(t, "in the pages are", got, want)
	if longest > most {
		t.Errorf("a page has %d bytes", longest)
	}
}

func TestJSONDoesNotEscapeHTML(t *testing.T) {
	r := newFixture(t)
	text := strings.Repeat("<&>", 100_000)
	tab := r.openStream("ann", "")
	r.postText("ann", "web-ann-known-to-nobody-else", text)
	if got := tab.next("message").data["text"]; got != text {
		t.Errorf("told is %.40q", got)
	}
	if _, body, _ := r.request("ann", "GET", "/api/chats/web-ann-known-to-nobody-else/messages", "", nil); len(body) > len(text)+1000 {
		t.Errorf("%d bytes became %d", len(text), len(body))
	}
}

// blockedWriter is a client that reads nothing until read is closed.
type blockedWriter struct {
	*httptest.ResponseRecorder
	once          sync.Once
	started, read chan struct{}
}

func (i *blockedWriter) Write(b []byte) (int, error) {
	i.once.Do(func() { close(i.started) })
	<-i.read
	return i.ResponseRecorder.Write(b)
}

func TestConcurrentReadsOfOneUserAreLimited(t *testing.T) {
	r := newFixture(t)
	const path = "/api/chats/web-ann-known-to-nobody-else/messages"
	r.postText("ann", "web-ann-known-to-nobody-else", "hello")
	_, handler := r.ch.Mount()
	read := make(chan struct{})
	var all sync.WaitGroup
	for range 8 {
		w := &blockedWriter{ResponseRecorder: httptest.NewRecorder(), started: make(chan struct{}), read: read}
		all.Go(func() {
			req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
			req.Header.Set("X-User", "ann")
			handler.ServeHTTP(w, req)
		})
		<-w.started
	}
	if status, body, h := r.request("ann", "GET", path, "", nil); status != 429 || h.Get("Retry-After") == "" {
		t.Errorf("one more is answered %d %s", status, body)
	}
	if status, body, _ := r.request("operator", "GET", path, "", nil); status != 200 {
		t.Errorf("somebody else is answered %d %s", status, body)
	}
	close(read)
	all.Wait()
	if status, body, _ := r.request("ann", "GET", path, "", nil); status != 200 {
		t.Errorf("afterwards it is answered %d %s", status, body)
	}
}

// maxDepth returns how deeply elements are nested.
func maxDepth(html string) (most int) {
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

func TestTheDepthOfListsAndQuotesIsLimited(t *testing.T) {
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
		if d := maxDepth(got); d > 2*50 { // a list and its item
			t.Errorf("%.20q: shown %d deep", text, d)
		}
		if len(got) > 12*len(text) {
			t.Errorf("%.20q: %d bytes became %d", text, len(text), len(got))
		}
	}
	for text, want := range map[string]int{strings.Repeat("- ", 20) + "a": 2*20 + 0, strings.Repeat("> ", 40) + "a": 40 + 1, "- a\n  - b\n    1. c": 2 * 3} {
		if got := maxDepth(web.Render(text)); got != want {
			t.Errorf("%.20q is shown %d deep", text, got)
		}
	}
}

func TestTheRenderCacheIsBounded(t *testing.T) {
	var r web.Rendered
	wanttest.Equal(t, "it is", r.Of(1, "*one*"), "<p><em>one</em></p>")
	wanttest.Equal(t, "again it is", r.Of(1, "again"), "<p><em>one</em></p>")
	for seq := range int64(200) { // more than is kept
		r.Of(seq+2, strings.Repeat("x", 60_000))
	}
	wanttest.Equal(t, "much later it is", r.Of(1, "again"), "<p>again</p>")
}

func TestALongFileNameKeepsItsExtension(t *testing.T) {
	r := newFixture(t)
	status, answer := r.postForm("ann", "web-ann-known-to-nobody-else", "", formFile{strings.Repeat("n", 900_000) + ".txt", "x"}, formFile{"a\u202etxt.exe", "y"})
	if status != http.StatusAccepted {
		t.Fatalf("answered %d %v", status, answer)
	}
	var page struct {
		Messages []struct{ Media []struct{ Name string } }
	}
	r.getJSON("ann", "/api/chats/web-ann-known-to-nobody-else/messages", &page)
	files := page.Messages[0].Media
	if name := files[0].Name; len(name) > 200 || !strings.HasSuffix(name, "n.txt") {
		t.Errorf("the first is called %.300q", name)
	}
	wanttest.Equal(t, "the second is called", files[1].Name, "a_txt.exe")
	var chats []struct{ Title string }
	if r.getJSON("ann", "/api/chats", &chats); len([]rune(chats[0].Title)) > 60 {
		t.Errorf("the chat is called %.300q", chats[0].Title)
	}
}

func TestOnlyOperatorsStartChatsWithGuessableNames(t *testing.T) {
	r := newFixture(t)
	r.startGateway()
	for _, method := range []string{"GET", "POST"} {
		if status, body, _ := r.request("ann", method, "/api/chats/web-cron/messages", "application/json", bytes.NewReader([]byte(`{"text":"mine"}`))); status != 404 {
			t.Errorf("%s is answered %d %s", method, status, body)
		}
	}
	r.postText("operator", "web-cron", "nightly")
	r.sendAsBot(answerTo("web-cron", "a secret"), "")
	if status, body, _ := r.request("ann", "GET", "/api/chats/web-cron/messages", "", nil); status != 404 {
		t.Errorf("ann is answered %d %s", status, body)
	}
	status, chat := r.postJSON("ann", "/api/chats", object{})
	if status != 201 {
		t.Fatalf("a name for a chat: %d %v", status, chat)
	}
	r.postText("ann", chat["id"].(string), "hello")
	r.postText("ann", "web-1yk2x5z-9k3f2-q8l0ab-1c9d7e", "hello") // as the page names them
	got := r.awaitIncoming(3)                                     // in the order of their chat, not of all chats
	if !slices.ContainsFunc(got, func(in channels.Incoming) bool { return in.Chat.ID == "web-cron" && in.User.ID == "operator" }) {
		t.Errorf("received was %+v", got)
	}
}

func TestTheSameClientIDOfTwoUsersIsTwoMessages(t *testing.T) {
	r := newFixture(t)
	r.startGateway()
	const path = "/api/chats/web-ann-known-to-nobody-else/messages"
	_, first := r.postJSON("ann", path, object{"text": "ann's", "client_id": "1"})
	_, second := r.postJSON("operator", path, object{"text": "operator's", "client_id": "1"})
	if first["id"] == second["id"] {
		t.Error("the second was taken for the first")
	}
	wanttest.EqualSlices(t, "received were", texts(r.awaitIncoming(2)), []string{"ann's", "operator's"})
}
