package history_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"nanobot/channels/web/history"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// endpoints returns the endpoints of an owner's subscriptions, in order.
func endpoints(t *testing.T, h *history.History, owner string) string {
	t.Helper()
	var all []string
	for _, s := range musttest.Get(h.Subscriptions(t.Context(), owner, owner == "*"))(t) {
		all = append(all, s.Endpoint)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func TestAPersonHasTheFiveNewestSubscriptions(t *testing.T) {
	onBoth(t, testAPersonHasTheFiveNewestSubscriptions)
}

func testAPersonHasTheFiveNewestSubscriptions(t *testing.T, openHistory opener) {
	dir, o := t.TempDir(), history.Options{Now: func() time.Time { return time.Unix(1_000_000, 0) }}
	h := openHistory(t, dir, o)
	subscribe := func(owner, endpoint string) {
		t.Helper()
		musttest.Do(t, h.Subscribe(t.Context(), history.Subscription{Endpoint: endpoint, Owner: owner, SignIn: "s", Detailed: true}))
	}
	subscribe("bob", "b")
	for i := range 5 {
		subscribe("ann", fmt.Sprint("a", i))
	}
	subscribe("ann", "a0") // again, so that it is the newest
	wanttest.Equal(t, "ann's", endpoints(t, h, "ann"), "a0 a1 a2 a3 a4")
	subscribe("ann", "a5")
	wanttest.Equal(t, "ann's", endpoints(t, h, "ann"), "a0 a2 a3 a4 a5")
	wanttest.Equal(t, "bob's", endpoints(t, h, "bob"), "b")
	musttest.Do(t, h.Unsubscribe(t.Context(), "bob", "a0"))
	musttest.Do(t, h.Unsubscribe(t.Context(), "ann", "a2"))
	subscribe("bob", "a3") // another person has signed in
	musttest.Do(t, h.Close())
	h = openHistory(t, dir, o)
	wanttest.Equal(t, "ann's after a restart", endpoints(t, h, "ann"), "a0 a4 a5")
	wanttest.Equal(t, "bob's after a restart", endpoints(t, h, "bob"), "a3 b")
	wanttest.Equal(t, "everybody's", endpoints(t, h, "*"), "a0 a3 a4 a5 b")
}

func TestThereIsOnePairOfKeys(t *testing.T) { onBoth(t, testThereIsOnePairOfKeys) }

func testThereIsOnePairOfKeys(t *testing.T, openHistory opener) {
	dir := t.TempDir()
	generated := 0
	keys := func(h *history.History) string {
		private, public, err := h.PushKeys(t.Context(), func() (string, string, error) {
			generated++
			return fmt.Sprint("private", generated), fmt.Sprint("public", generated), nil
		})
		musttest.Do(t, err)
		return private + " " + public
	}
	h := openHistory(t, dir, history.Options{})
	wanttest.Equal(t, "keys", keys(h), "private1 public1")
	musttest.Do(t, h.Close())
	wanttest.Equal(t, "keys after a restart", keys(openHistory(t, dir, history.Options{})), "private1 public1")
}
