package web_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"nanobot/channels"
	"nanobot/channels/web/push"
	"nanobot/channels/web/push/pushtest"
	"nanobot/internal/musttest"
	"nanobot/internal/postgrestest"
	"nanobot/internal/wanttest"
)

const (
	annChat = "web-a-known-to-nobody-else"
	bobChat = "web-b-known-to-nobody-else"
)

// newPushing returns a fixture that pushes to a push service.
func newPushing(t *testing.T, dir string, database *pgx.ConnConfig, service *pushtest.Service) *fixture {
	t.Helper()
	r := newMember(t, dir, database)
	r.push = &push.Options{
		Allow: []string{"127.0.0.1"}, Roots: service.Roots, Timeout: eventTimeout,
		SignedIn: func(_ context.Context, signIn string) (bool, error) { return signIn != "bob", nil },
	}
	r.restart()
	return r
}

// subscribe makes a request about a subscription and returns the status.
func (r *fixture) subscribe(user, method, body string) (status int, answer string) {
	r.t.Helper()
	status, answer, _ = r.request(user, method, "/api/push", "application/json", strings.NewReader(body))
	return status, answer
}

// pushed waits for a notification and returns its chat, title and text.
func pushed(t *testing.T, s *pushtest.Service) string {
	t.Helper()
	var p struct{ Chat, Title, Text string }
	musttest.Do(t, json.Unmarshal([]byte(s.Next().Payload), &p))
	return p.Chat + " | " + p.Title + " | " + p.Text
}

func TestAPersonIsNotifiedOfAnswersInTheirOwnChatsOnly(t *testing.T) {
	service := pushtest.NewService(t)
	r := newPushing(t, t.TempDir(), nil, service)
	r.startGateway()
	r.postText("ann", annChat, "What is new?")
	r.postText("bob", bobChat, "secret of bob")
	r.awaitIncoming(2)
	for user, text := range map[string]bool{"ann": true, "carol": true} {
		status, answer := r.subscribe(user, "POST", service.NewBrowser().JSON(text))
		wanttest.Equal(t, "status and answer", status, http.StatusNoContent)
		wanttest.Equal(t, "answer", answer, "")
	}
	silent := answerTo(annChat, "silent")
	silent.Silent = true
	r.sendAsBot(silent, "1")
	progress := answerTo(annChat, "step 1")
	progress.Kind = channels.Progress
	r.sendAsBot(progress, "2")
	r.sendAsBot(answerTo(bobChat, "for bob"), "3")
	answer := answerTo(annChat, "for **ann** & `<bob>`\n- [a](https://example.com)\n- b")
	r.sendAsBot(answer, "4")
	wanttest.Equal(t, "notification", pushed(t, service), annChat+" | What is new? | for ann & <bob> a b")
	r.sendAsBot(answer, "4") // a repetition
	code := answerTo(annChat, "a **b**")
	code.Format = channels.Code
	r.sendAsBot(code, "code")
	wanttest.Equal(t, "notification of code", pushed(t, service), annChat+" | What is new? | a **b**")
	question := answerTo(annChat, "Which one?")
	question.Buttons = []channels.Button{{Label: "Red", Data: "r", Role: channels.Answers}}
	r.sendAsBot(question, "5")
	asked := service.Next()
	wanttest.Equal(t, "urgency of a question", asked.Urgency, "high")
	wanttest.Equal(t, "subject", asked.Subject, "https://"+strings.TrimPrefix(r.server.URL, "http://"))
	wanttest.Equal(t, "further notifications", len(service.Pending()), 0)
}

func TestNobodyIsNotifiedWhoSeesTheMessageOnAPage(t *testing.T) {
	service := pushtest.NewService(t)
	r := newPushing(t, t.TempDir(), nil, service)
	r.startGateway()
	r.postText("ann", annChat, "hello")
	r.postText("operator", bobChat, "hello")
	r.awaitIncoming(2)
	r.subscribe("ann", "POST", service.NewBrowser().JSON(true))
	page := r.openStream("ann", "")
	wanttest.Equal(t, "push", page.next("ready").data["push"], any(true))
	r.sendAsBot(answerTo(annChat, "seen"), "1")
	page.next("message")
	page.cancel()
	page.readToEnd()
	r.query = "?hidden=1"
	hidden := r.openStream("ann", "")
	hidden.next("ready")
	r.query = ""
	r.openStream("operator", "").next("ready") // of an operator's script
	for i := 0; ; i++ {                        // until the server has seen the end of the first stream
		r.sendAsBot(answerTo(annChat, "not seen"), "2"+strings.Repeat("x", i))
		hidden.next("message")
		if all := service.Pending(); len(all) > 0 {
			wanttest.Equal(t, "has the text", strings.Contains(all[0].Payload, `"not seen"`), true)
			return
		}
	}
}

func TestSubscriptionsAreChecked(t *testing.T) {
	service := pushtest.NewService(t)
	r := newFixture(t)
	b := service.NewBrowser()
	for _, method := range []string{"GET", "POST"} {
		status, _ := r.subscribe("ann", method, b.JSON(false))
		wanttest.Equal(t, method+" without notifications", status, http.StatusNotFound)
	}
	r = newPushing(t, t.TempDir(), nil, service)
	r.startGateway()
	refused := func(want int, user, body, words string) {
		t.Helper()
		status, answer := r.subscribe(user, "POST", body)
		if status != want || !strings.Contains(answer, words) {
			t.Errorf("%.60s: got %d %s, want %d with %q", body, status, answer, want, words)
		}
	}
	refused(403, "operator", b.JSON(false), "signed in by a link")
	refused(400, "ann", strings.Replace(b.JSON(false), "127.0.0.1", "127.0.0.2", 1), "no public address")
	refused(400, "ann", strings.Replace(b.JSON(false), "https:", "http:", 1), "https URL")
	refused(400, "ann", strings.Replace(b.JSON(false), "/push/", "/"+strings.Repeat("x", 9000), 1), "too large")
	refused(400, "ann", "[]", "cannot be read")
	refused(400, "ann", `{}`, "https URL")
	for range 2 {
		refused(204, "ann", b.JSON(false), "")
	}
	var key struct{ Key string }
	r.getJSON("ann", "/api/push", &key)
	wanttest.Equal(t, "length of the key", len(key.Key), 87)
	r.postText("ann", annChat, "hello")
	r.awaitIncoming(1)
	status, _ := r.subscribe("bob", "DELETE", b.JSON(false)) // not his
	wanttest.Equal(t, "status", status, http.StatusNoContent)
	r.sendAsBot(answerTo(annChat, "still"), "1")
	service.Next()
	r.subscribe("ann", "DELETE", b.JSON(false))
	r.subscribe("carol", "POST", service.NewBrowser().JSON(false))
	r.postText("carol", bobChat, "hello")
	r.awaitIncoming(2)
	r.sendAsBot(answerTo(annChat, "no more"), "2")
	r.sendAsBot(answerTo(bobChat, "carol's"), "3")
	wanttest.Equal(t, "notification", pushed(t, service), bobChat+" | hello | ")
	wanttest.Equal(t, "further notifications", len(service.Pending()), 0)
}

// TestOnlyTheLeaderPushes has a member send the answer of which the leader notifies, also a leader
// that began later.
func TestOnlyTheLeaderPushes(t *testing.T) {
	service := pushtest.NewService(t)
	dir, database := t.TempDir(), postgrestest.Schema(t)
	leader, member := newPushing(t, dir, database, service), newPushing(t, dir, database, service)
	leader.startGateway()
	leader.postText("ann", annChat, "hello")
	leader.awaitIncoming(1)
	leader.subscribe("ann", "POST", service.NewBrowser().JSON(true))
	member.sendAsBot(answerTo(annChat, "one"), "1")
	wanttest.Equal(t, "notification", pushed(t, service), annChat+" | hello | one")
	leader.stop()
	leader.stop = func() {}
	member.startGateway()
	member.postText("ann", annChat, "again")
	member.awaitIncoming(1)
	member.sendAsBot(answerTo(annChat, "two"), "2")
	wanttest.Equal(t, "notification", pushed(t, service), annChat+" | hello | two")
	wanttest.Equal(t, "further notifications", len(service.Pending()), 0)
}
