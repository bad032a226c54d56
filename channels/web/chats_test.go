package web_test

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"nanobot/channels"
	"nanobot/internal/musttest"
	"nanobot/internal/postgrestest"
	"nanobot/internal/wanttest"
)

// onBothEngines runs a test with a file and with a database.
func onBothEngines(t *testing.T, test func(t *testing.T, r *fixture)) {
	for name, database := range map[string]func() *pgx.ConnConfig{
		"file":   func() *pgx.ConnConfig { return nil },
		"server": func() *pgx.ConnConfig { return postgrestest.Schema(t) },
	} {
		t.Run(name, func(t *testing.T) { test(t, newMember(t, t.TempDir(), database())) })
	}
}

const otherChat = "web-b-known-to-nobody-else"

// status makes a request with JSON and returns the status of the response.
func (r *fixture) status(user, method, path, body string) int {
	r.t.Helper()
	status, _, _ := r.request(user, method, path, "application/json", strings.NewReader(body))
	return status
}

// chats returns the titles of a user's chats, those of pinned ones with a mark.
func (r *fixture) chats(user string) (titles []string) {
	r.t.Helper()
	var chats []struct {
		Title  string
		Pinned bool
	}
	r.getJSON(user, "/api/chats", &chats)
	for _, c := range chats {
		titles = append(titles, c.Title+map[bool]string{true: "*"}[c.Pinned])
	}
	return titles
}

func TestANameAndAPinReachTheOtherBrowsersOfThePerson(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *fixture) {
		r.postText("ann", annsChat, "first words")
		r.postText("ann", otherChat, "newer")
		anns, bobs := r.openStream("ann", ""), r.openStream("bob", "")
		seen := anns.next("ready").id
		bobs.next("ready")
		for _, c := range []struct {
			user, body string
			want       int
		}{
			{"bob", `{"title": "mine"}`, 404},
			{"ann", `{"title": 7}`, 400},
			{"ann", `{"title": " The\u001b\nplan ", "pinned": true}`, 200},
			{"operator", `{"title": "` + strings.Repeat("x", 20<<10) + `"}`, 400},
		} {
			wanttest.Equal(t, c.user+c.body[:10], r.status(c.user, "PATCH", "/api/chats/"+annsChat, c.body), c.want)
		}
		wanttest.Equal(t, "an unknown chat", r.status("ann", "PATCH", "/api/chats/web-x-known-to-nobody-else", `{"pinned": true}`), 404)
		wanttest.EqualSlices(t, "chats", r.chats("ann"), []string{"The plan*", "newer"})
		e := anns.next("chat")
		wanttest.Equal(t, "the event", fmt.Sprintf("%v %v %v", e.data["chat"], e.data["title"], e.data["pinned"]), annsChat+" The plan true")
		r.postText("bob", "web-c-known-to-nobody-else", "bob's")
		bobs.next("message")
		if slices.ContainsFunc(bobs.all, func(e event) bool { return e.name == "chat" }) {
			t.Errorf("bob is told %+v", bobs.all)
		}
		r.restart()
		wanttest.Equal(t, "a later stream", r.openStream("ann", seen).next("chat").data["title"], any("The plan"))
		r.postText("ann", annsChat, "second words")
		wanttest.EqualSlices(t, "chats after a restart", r.chats("operator"), []string{"The plan*", "bob's", "newer"})
	})
}

func TestADeletedChatIsGoneInAllBrowsersAndStaysGone(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *fixture) {
		r.startGateway()
		if status, answer := r.postForm("ann", annsChat, "swordfish", formFile{"sent.txt", "my file"}, formFile{"changed.txt", "by the agent"}); status != 202 {
			t.Fatal(answer)
		}
		r.postText("ann", otherChat, "stays")
		m := answerTo(annsChat, "an answer")
		m.Media = []channels.File{{Name: "a.txt", Content: "from the agent"}}
		r.sendAsBot(m, "k1")
		r.awaitIncoming(2)
		folder := filepath.Join(r.dir, "users", annsChat)
		saved := musttest.Get(filepath.Glob(filepath.Join(folder, "*-changed.txt")))(t)
		musttest.Do(t, os.WriteFile(saved[0], []byte("the agent's own"), 0o600))
		media := r.mediaOf("ann", annsChat)
		wanttest.Equal(t, "files", len(media), 3)
		anns, bobs := r.openStream("ann", ""), r.openStream("bob", "")
		seen := anns.next("ready").id
		board := channels.Outgoing{Chat: m.Chat, Kind: channels.Progress, Text: "working", Transient: true}
		musttest.Get(r.ch.Send(t.Context(), board))(t)
		anns.next("progress")

		here := "/api/chats/" + annsChat
		wanttest.Equal(t, "bob's request", r.status("bob", "DELETE", here, ""), 404)
		wanttest.Equal(t, "an unknown chat", r.status("ann", "DELETE", "/api/chats/web-x-known-to-nobody-else", ""), 404)
		wanttest.Equal(t, "ann's request", r.status("ann", "DELETE", here, ""), 204)
		wanttest.Equal(t, "a repetition", r.status("ann", "DELETE", here, ""), 410)
		wanttest.Equal(t, "the event", anns.next("deleted").data["chat"], any(annsChat))
		all := r.awaitIncoming(3)
		last := all[len(all)-1]
		wanttest.Equal(t, "the gateway is told", fmt.Sprintf("%s %s %s %t", last.Chat.ID, last.Change, last.User.ID, last.ID != ""), annsChat+" chat-deleted ann true")

		checkGone := func() {
			t.Helper()
			wanttest.EqualSlices(t, "chats", r.chats("operator"), []string{"stays"})
			for request, want := range map[string]int{
				"ann GET " + here + "/messages": 410, "operator GET " + here + "/messages": 410, "bob GET " + here + "/messages": 404,
				"ann PATCH " + here: 410, "ann GET " + here + "/export": 410, "bob GET " + here + "/export": 404,
				"ann POST " + here + "/messages": 410, "ann POST " + here + "/press": 410, "ann GET /api/media/" + media[0]: 404, "ann GET /api/media/" + media[2]: 404,
			} {
				p := strings.Fields(request)
				wanttest.Equal(t, request, r.status(p[0], p[1], p[2], `{"text": "back"}`), want)
			}
			wanttest.Equal(t, "found", len(r.search("ann", "swordfish")), 0)
			for _, o := range []channels.Outgoing{board, {Chat: m.Chat, Kind: channels.Answer, Text: "late", Key: "k2"}} {
				var se *channels.SendError
				if _, err := r.ch.Send(t.Context(), o); !errors.As(err, &se) || !se.Permanent || !se.Closed {
					t.Errorf("a late %s: %v", o.Kind, err)
				}
			}
			if err := r.ch.Typing(t.Context(), m.Chat); err == nil {
				t.Error("the bot types")
			}
			if err := r.ch.CheckChat(annsChat); err == nil {
				t.Error("hooks and schedules can begin turns there")
			}
		}
		checkGone()
		r.postText("bob", "web-c-known-to-nobody-else", "bob's")
		bobs.next("message")
		if slices.ContainsFunc(bobs.all, func(e event) bool { return e.name == "deleted" }) {
			t.Errorf("bob is told %+v", bobs.all)
		}
		wanttest.Equal(t, "bob deletes his own", r.status("bob", "DELETE", "/api/chats/web-c-known-to-nobody-else", ""), 204)
		r.restart() // perhaps before the files were removed
		checkGone()
		wanttest.Equal(t, "a later stream", r.openStream("ann", seen).next("deleted").data["chat"], any(annsChat))
		r.startGateway()
		r.awaitFiles(filepath.Join("users", annsChat), []string{filepath.Base(saved[0])})
		r.awaitFiles("state/web/media", nil)
		checkGone()
		for _, in := range r.inbox.Messages()[3:] {
			if in.Chat == m.Chat {
				t.Errorf("received again was %+v", in)
			}
		}
	})
}

// mediaOf returns the IDs of the files in a chat.
func (r *fixture) mediaOf(user, chat string) (ids []string) {
	r.t.Helper()
	var page struct {
		Messages []struct{ Media []struct{ ID string } }
	}
	r.getJSON(user, "/api/chats/"+chat+"/messages", &page)
	for _, m := range page.Messages {
		for _, f := range m.Media {
			ids = append(ids, f.ID)
		}
	}
	return ids
}

// search returns the texts of what a user finds: the excerpts, or the titles of chats.
func (r *fixture) search(user, query string) (found []string) {
	r.t.Helper()
	var page struct {
		Results []struct{ Chat, Title, Message, Excerpt string }
	}
	r.getJSON(user, "/api/search?q="+url.QueryEscape(query), &page)
	for _, f := range page.Results {
		if f.Message == "" {
			f.Excerpt = "# " + f.Title
		}
		found = append(found, f.Excerpt)
	}
	return found
}

func TestASearchFindsOnesOwnMessagesOnly(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *fixture) {
		r.postText("ann", annsChat, "Where is the Blue house?")
		r.sendAsBot(answerTo(annsChat, "The blue one **is** there: HOUSE 7"), "k1")
		r.postText("bob", otherChat, "my blue house")
		id := r.postText("ann", annsChat, "hunter2 blue house")["id"].(string)
		musttest.Do(t, r.ch.Remove(t.Context(), channels.Chat{Channel: "web", ID: annsChat}, id))
		anns := []string{"# Where is the Blue house?", "The blue one **is** there: HOUSE 7", "Where is the Blue house?"}
		wanttest.EqualSlices(t, "ann finds", r.search("ann", "house BLUE"), anns)
		wanttest.EqualSlices(t, "bob finds", r.search("bob", "house blue"), []string{"# my blue house", "my blue house"})
		wanttest.Equal(t, "the operator finds", len(r.search("operator", "house blue")), 5)
		wanttest.Equal(t, "others find", len(r.search("eve", "house blue")), 0)
		wanttest.Equal(t, "found by the secret", len(r.search("operator", "hunter2")), 0)
		wanttest.Equal(t, "found by nothing", len(r.search("ann", "")), 0)
		wanttest.Equal(t, "too many words", r.status("ann", "GET", "/api/search?q="+strings.Repeat("x", 201), ""), 400)
		for i := range 60 {
			r.sendAsBot(answerTo(annsChat, fmt.Sprint("many ", i)), fmt.Sprint("many", i))
		}
		wanttest.Equal(t, "at most", len(r.search("ann", "many")), 50)
	})
}

func TestMessagesAreReadBackwardsAndForwards(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *fixture) {
		r.postText("ann", annsChat, "0")
		for i := range 9 {
			r.sendAsBot(answerTo(annsChat, fmt.Sprint(i+1)), fmt.Sprint(i))
		}
		for query, want := range map[string]string{
			"limit=3": "7 8 9 true", "before=4&limit=2": "1 2 true", "before=3&limit=5": "0 1 false", "after=0&limit=2": "0 1 true", "after=4&limit=3": "4 5 6 true",
			"after=7&limit=3": "7 8 9 false", "after=10": "false",
		} {
			var page struct {
				Messages []struct{ Text string }
				More     bool
			}
			r.getJSON("ann", "/api/chats/"+annsChat+"/messages?"+query, &page)
			var texts []string
			for _, m := range page.Messages {
				texts = append(texts, m.Text)
			}
			wanttest.Equal(t, query, strings.Join(append(texts, fmt.Sprint(page.More)), " "), want)
		}
	})
}

func TestAnExportHasAllMessagesAndFilesOfAChat(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *fixture) {
		if status, answer := r.postForm("ann", annsChat, "Über *alles*/..", formFile{"../my [file].txt", "sent"}); status != 202 {
			t.Fatal(answer)
		}
		m := answerTo(annsChat, "# An answer")
		m.Media = []channels.File{{Name: "same.txt", Content: "one"}, {Name: "same.txt", Content: "two"}}
		m.Buttons = []channels.Button{{Label: "Red", Data: "r"}, {Label: "Blue", Data: "b"}}
		question := r.sendAsBot(m, "k1")
		r.sendAsBot(channels.Message{Chat: m.Chat, Kind: channels.Answer, Text: "a ``` b", Format: channels.Code}, "k2")
		r.postJSON("ann", "/api/chats/"+annsChat+"/press", object{"message": question.ID, "data": "b"})
		id := r.postText("ann", annsChat, "hunter2")["id"].(string)
		musttest.Do(t, r.ch.Remove(t.Context(), m.Chat, id))
		for i := range 120 { // more than are read at once
			r.sendAsBot(answerTo(annsChat, fmt.Sprintf("number %d.", i)), fmt.Sprint(i))
		}
		status, content, header := r.request("ann", "GET", "/api/chats/"+annsChat+"/export", "", nil)
		wanttest.Equal(t, "status", status, 200)
		if got := header.Get("Content-Disposition"); !strings.Contains(got, "attachment") || !strings.Contains(got, ".zip") || strings.Contains(got, "/") {
			t.Errorf("it is named %s", got)
		}
		archive := musttest.Get(zip.NewReader(bytes.NewReader([]byte(content)), int64(len(content))))(t)
		files := map[string]string{}
		var names []string
		for _, f := range archive.File {
			in := musttest.Get(f.Open())(t)
			files[f.Name] = string(musttest.Get(io.ReadAll(in))(t))
			names = append(names, f.Name)
		}
		wanttest.EqualSlices(t, "names", names, []string{"chat.md", "files/1-1-my [file].txt", "files/2-1-same.txt", "files/2-2-same.txt"})
		wanttest.Equal(t, "files", files[names[1]]+files[names[2]]+files[names[3]], "sentonetwo")
		text := files["chat.md"]
		for _, want := range []string{"# Über \\*alles\\*/\\.\\.\n", "Über *alles*/..", "](<files/1-1-my [file].txt>)", "# An answer", "→ Blue", "````\na ``` b\n````", "number 0.", "number 119."} {
			if !strings.Contains(text, want) {
				t.Errorf("%q is missing in\n%.900s", want, text)
			}
		}
		if strings.Contains(text, "hunter2") {
			t.Error("the secret is exported")
		}
		for user, want := range map[string]int{"bob": 404, "operator": 200} {
			wanttest.Equal(t, user, r.status(user, "GET", "/api/chats/"+annsChat+"/export", ""), want)
		}
		wanttest.Equal(t, "a chat without messages", r.status("ann", "GET", "/api/chats/"+otherChat+"/export", ""), 404)
	})
}

func TestAnExportHasTheNamesOfPeopleAndOfTheBot(t *testing.T) {
	r := newFixture(t)
	r.name = "Ada *1*"
	r.restart()
	wanttest.Equal(t, "a name", r.status("ann", "PATCH", "/api/me", `{"name": "Ann_Öst"}`), 200)
	r.postText("ann", annsChat, "hello")
	r.sendAsBot(answerTo(annsChat, "hi"), "k1")
	for user, want := range map[string][]string{"ann": {"**You:** ", `**Ada \*1\*:** `}, "operator": {`**Ann\_Öst:** `, `**Ada \*1\*:** `}} {
		_, content, _ := r.request(user, "GET", "/api/chats/"+annsChat+"/export", "", nil)
		archive := musttest.Get(zip.NewReader(strings.NewReader(content), int64(len(content))))(t)
		text := string(musttest.Get(fs.ReadFile(archive, "chat.md"))(t))
		for _, from := range want {
			if !strings.Contains(text, "\n"+from) {
				t.Errorf("%s reads no %q in\n%s", user, from, text)
			}
		}
	}
}

func TestTheExportOfAChatThatIsDeletedMeanwhileIsAborted(t *testing.T) {
	r := newFixture(t)
	r.client.Transport = &http.Transport{DialContext: dialSmall}
	for range 6 { // compressed, more than the connection takes before somebody reads
		text := make([]byte, 3<<18)
		_, _ = rand.Read(text)
		r.postText("ann", annsChat, base64.StdEncoding.EncodeToString(text))
	}
	req := musttest.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, r.server.URL+"/api/chats/"+annsChat+"/export", nil))(t)
	req.Header.Set("X-User", "ann")
	resp := musttest.Get(r.client.Do(req))(t)
	defer resp.Body.Close()
	wanttest.Equal(t, "the request", r.status("ann", "DELETE", "/api/chats/"+annsChat, ""), 204)
	if n, err := io.Copy(io.Discard, resp.Body); err == nil {
		t.Errorf("%d bytes look like all of it", n)
	}
}

// dialSmall connects so that little is sent before somebody reads.
func dialSmall(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return c, c.(*net.TCPConn).SetReadBuffer(1 << 18)
}

func TestAChatDeletedAtOneMemberIsGoneAtTheOthers(t *testing.T) {
	dir, database := t.TempDir(), postgrestest.Schema(t)
	leader, other := newMember(t, dir, database), newMember(t, dir, database)
	leader.startGateway()
	leader.postText("ann", annsChat, "question")
	leader.awaitIncoming(1)
	wanttest.Equal(t, "the request", leader.status("ann", "DELETE", "/api/chats/"+annsChat, ""), 204)
	leader.awaitIncoming(2)
	var se *channels.SendError
	if _, err := other.ch.Send(t.Context(), channels.Outgoing{Chat: channels.Chat{Channel: "web", ID: annsChat}, Kind: channels.Answer, Text: "late", Key: "k"}); !errors.As(err, &se) || !se.Closed {
		t.Errorf("the answer of a turn there: %v", err)
	}
	wanttest.Equal(t, "there", other.status("ann", "GET", "/api/chats/"+annsChat+"/messages", ""), 410)
}

func TestTheHistoryIsPruned(t *testing.T) {
	r := newFixture(t)
	r.startGateway()
	r.postText("ann", "web-a-known-to-nobody-else", "hello")
	r.awaitIncoming(1)
	r.stop() // the message is marked as received
	stored := func() (n int) {
		t.Helper()
		var page struct{ Messages []object }
		r.getJSON("ann", "/api/chats/web-a-known-to-nobody-else/messages", &page)
		return len(page.Messages)
	}
	musttest.Do(t, r.ch.PruneHistory(t.Context(), time.Now().Add(-time.Hour)))
	wanttest.Equal(t, "young messages", stored(), 1)
	musttest.Do(t, r.ch.PruneHistory(t.Context(), time.Now().Add(time.Hour)))
	wanttest.Equal(t, "old messages", stored(), 0)
}
