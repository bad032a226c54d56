package telegramtest_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"nanobot/channels/telegram/telegramtest"
)

func TestAnOffsetConfirmsAndForgets(t *testing.T) {
	s := telegramtest.New(t)
	for _, text := range []string{"one", "two", "three"} {
		s.UserSends(person, text)
	}
	first := getUpdates(t, s, params{"limit": 2})
	again := getUpdates(t, s, params{"limit": 2})
	if len(first) != 2 || len(again) != 2 || first[0].ID != again[0].ID || first[0].Message.Text != "one" {
		t.Fatalf("first %+v, again %+v", first, again)
	}
	rest := getUpdates(t, s, params{"offset": first[1].ID + 1})
	if len(rest) != 1 || rest[0].Message.Text != "three" || s.PendingUpdates() != 1 {
		t.Fatalf("rest %+v", rest)
	}
	if back := getUpdates(t, s, params{"offset": first[0].ID}); len(back) != 1 {
		t.Errorf("what was confirmed came back: %+v", back)
	}
	s.UserSends(person, "four")
	if last := getUpdates(t, s, params{"offset": -1}); len(last) != 1 || last[0].Message.Text != "four" || s.PendingUpdates() != 1 {
		t.Errorf("from the end: %+v", last)
	}
}

func TestALongPollWaitsForTheNextUpdate(t *testing.T) {
	s := telegramtest.New(t)
	if got := getUpdates(t, s, params{"timeout": 0}); len(got) != 0 {
		t.Fatalf("got %+v", got)
	}
	polled := inBackground(func() []update { return getUpdates(t, s, params{"timeout": 30}) })
	s.AwaitPoll(t)
	select {
	case got := <-polled:
		t.Fatalf("did not wait: %+v", got)
	default:
	}
	s.UserSends(person, "hello")
	got := <-polled
	if len(got) != 1 || got[0].Message.Text != "hello" {
		t.Fatalf("got %+v", got)
	}
	begun := time.Now()
	if none := getUpdates(t, s, params{"timeout": 1, "offset": got[0].ID + 1}); len(none) > 0 || time.Since(begun) < time.Second {
		t.Errorf("an empty poll took %s and got %+v", time.Since(begun), none)
	}
}

// inBackground runs a call in a goroutine. The channel is closed at its end, even if the call fails
// the test.
func inBackground[T any](f func() T) <-chan T {
	out := make(chan T, 1)
	go func() {
		defer close(out)
		out <- f()
	}()
	return out
}

func TestAPollThatIsCutOffLosesNothing(t *testing.T) {
	s := telegramtest.New(t)
	s.FailNext("getUpdates", telegramtest.Fault{CutAfter: true})
	s.UserSends(person, "hello")
	if _, _, err := postBody(t, s, "getUpdates", "", nil); err == nil {
		t.Error("the connection was not cut")
	}
	if got := getUpdates(t, s, nil); len(got) != 1 {
		t.Errorf("got %+v", got)
	}
}

func TestASecondPollEndsTheFirst(t *testing.T) {
	s := telegramtest.New(t)
	first := inBackground(func() reply { return callJSON(t, s, "getUpdates", params{"timeout": 30}) })
	s.AwaitPoll(t)
	second := inBackground(func() []update { return getUpdates(t, s, params{"timeout": 30}) })
	expectError(t, <-first, 409, "terminated by other getUpdates request")
	s.UserSends(person, "hello")
	if got := <-second; len(got) != 1 {
		t.Errorf("the second got %+v", got)
	}
}

func TestAWebhookEndsThePollAndForbidsOthers(t *testing.T) {
	s := telegramtest.New(t)
	first := inBackground(func() reply { return callJSON(t, s, "getUpdates", params{"timeout": 30}) })
	s.AwaitPoll(t)
	mustCall(t, s, "setWebhook", params{"url": "http://127.0.0.1:1/hook"})
	expectError(t, <-first, 409, "terminated by setWebhook request")
	expectError(t, callJSON(t, s, "getUpdates", nil), 409, "webhook is active")
	mustCall(t, s, "deleteWebhook", nil)
	mustCall(t, s, "getUpdates", nil)
}

func TestOnlyAllowedUpdatesAreKept(t *testing.T) {
	s := telegramtest.New(t)
	mustCall(t, s, "getUpdates", params{"allowed_updates": []string{"callback_query"}})
	m := s.UserSends(person, "hello")
	s.UserPresses(person, 0, m.ID, "yes")
	if got := getUpdates(t, s, nil); len(got) != 1 || got[0].Callback == nil || got[0].Callback.From.ID != person {
		t.Errorf("got %+v", got)
	}
	mustCall(t, s, "getUpdates", params{"allowed_updates": []string{"mesage"}})
	if v := s.TakeViolations(); len(v) != 1 || !strings.Contains(v[0], "mesage") {
		t.Errorf("violations %q", v)
	}
}

func TestAnUndecodableUpdateIsDeliveredWithTheOthers(t *testing.T) {
	s := telegramtest.New(t)
	s.UserSends(person, "before")
	broken := s.InjectUndecodableUpdate()
	s.UserSends(person, "after")
	all := decodeJSON[[]json.RawMessage](t, mustCall(t, s, "getUpdates", nil).Result)
	var u update
	if len(all) != 3 || json.Unmarshal(all[1], &u) == nil || u.ID != broken || json.Unmarshal(all[2], &u) != nil {
		t.Errorf("got %s", all)
	}
}
