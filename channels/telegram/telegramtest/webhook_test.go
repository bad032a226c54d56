package telegramtest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"nanobot/channels/telegram/telegramtest"
)

// startWebhook starts a webhook that holds every delivery until the test sends its response.
func startWebhook(t *testing.T, s *telegramtest.Server, connections int) <-chan delivery {
	t.Helper()
	offered := make(chan delivery)
	ended := make(chan struct{})
	bot := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var u update
		if err := json.NewDecoder(r.Body).Decode(&u); err != nil {
			t.Error(err)
		}
		one := delivery{text: u.Message.Text, answer: make(chan int)}
		select {
		case offered <- one:
		case <-ended:
			return
		}
		w.WriteHeader(<-one.answer)
	}))
	t.Cleanup(func() { close(ended); bot.Close() })
	t.Cleanup(s.Close)
	mustCall(t, s, "setWebhook", params{"url": bot.URL, "max_connections": connections})
	return offered
}

type delivery struct {
	text   string
	answer chan int
}

func TestAWebhookGetsChatsInParallelAndEachInOrder(t *testing.T) {
	s := telegramtest.New(t)
	for _, text := range []string{"one", "two"} {
		s.UserSends(person, text)
		s.UserSends(person+1, text)
	}
	offered := startWebhook(t, s, 40)
	first, second := <-offered, <-offered
	if first.text != "one" || second.text != "one" {
		t.Fatalf("offered are %s and %s", first.text, second.text)
	}
	first.answer <- http.StatusInternalServerError // delivered again, before the next one
	again := <-offered
	if again.text != "one" {
		t.Fatalf("after an error %s is offered", again.text)
	}
	again.answer <- http.StatusOK
	next := <-offered
	if next.text != "two" || s.PendingUpdates() != 3 {
		t.Fatalf("offered is %s, and %d wait", next.text, s.PendingUpdates())
	}
	next.answer <- http.StatusOK
	second.answer <- http.StatusOK
	(<-offered).answer <- http.StatusOK
	if !s.AwaitPending(0, telegramtest.WaitLimit) {
		t.Errorf("%d are left", s.PendingUpdates())
	}
	var statuses []int
	for _, d := range s.Deliveries() {
		statuses = append(statuses, d.Status)
	}
	slices.Sort(statuses)
	if fmt.Sprint(statuses) != "[200 200 200 200 500]" {
		t.Errorf("the answers were %v", statuses)
	}
}

func TestDeliveriesRespectMaxConnections(t *testing.T) {
	s := telegramtest.New(t)
	var mu sync.Mutex
	now, most := 0, 0
	all := make(chan struct{}, 20)
	bot := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		mu.Lock()
		now++
		most = max(most, now)
		mu.Unlock()
		all <- struct{}{}
		mu.Lock()
		now--
		mu.Unlock()
	}))
	t.Cleanup(bot.Close)
	t.Cleanup(s.Close)
	for i := range 20 {
		s.UserSends(person+int64(i), "hello")
	}
	mustCall(t, s, "setWebhook", params{"url": bot.URL, "max_connections": 3})
	if !s.AwaitPending(0, telegramtest.WaitLimit) || len(all) != 20 {
		t.Errorf("%d are left", s.PendingUpdates())
	}
	if most > 3 {
		t.Errorf("%d were offered at once", most)
	}
}

func TestWebhookSettingsAreChecked(t *testing.T) {
	for url, want := range map[string]string{
		"http://example.com/":       "HTTPS",
		"https://example.com:8080/": "ports",
		"nonsense":                  "invalid",
	} {
		s := telegramtest.New(t)
		expectError(t, callJSON(t, s, "setWebhook", params{"url": url}), 400, want)
		if v := s.TakeViolations(); len(v) != 1 || !strings.Contains(v[0], want) {
			t.Errorf("%s: violations %q", url, v)
		}
	}
}
