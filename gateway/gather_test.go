package gateway_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// repeatText is an agent that answers with the text of its message.
const repeatText = `read -r line; text=${line#*'"text":"'}; printf '{"type":"message","text":"got %s"}\n' "${text%%'"'*}"`

// newGatherFixture returns a fixture whose messages wait for further ones until a command ends the
// wait.
func newGatherFixture(t *testing.T, script string) *fixture {
	t.Helper()
	r := newFixture(t, script)
	r.settings.Gather = time.Minute
	return r
}

func TestTheMessagesOfOnePersonAreGatheredToOneTurn(t *testing.T) {
	t.Parallel()
	r := newGatherFixture(t, repeatText).start()
	r.net.UserWrites("1", "ann", "one")
	r.net.UserWrites("1", "bob", "something else")
	r.net.UserWrites("1", "ann", "two")
	r.awaitTrue("both people's messages wait", func() bool { return r.countPending("1") == 2 })
	r.net.UserWrites("1", "bob", "/whoami")
	r.net.UserWrites("1", "ann", "/whoami")
	r.awaitText("1", "got something else")
	for _, text := range []string{"got one\ntwo", "got something else"} {
		r.awaitText("1", text)
	}
	if n := r.countTurns(); n != 2 {
		t.Errorf("%d turns ran", n)
	}
}

// countPending counts the waiting messages of a chat.
func (r *fixture) countPending(chat string) int {
	r.t.Helper()
	n, err := r.store.CountPending(r.t.Context(), channels.Chat{Channel: "net", ID: chat})
	if err != nil {
		r.t.Fatal(err)
	}
	return n
}

// countTurns counts the turns of all chats.
func (r *fixture) countTurns() (n int) {
	r.t.Helper()
	all, err := r.store.Turns(r.t.Context(), store.TurnFilter{Limit: 100})
	if err != nil {
		r.t.Fatal(err)
	}
	for _, i := range all {
		if i.Attempt > 0 {
			n++
		}
	}
	return n
}

func TestAGatheredMessageIsWorkedOnWhenItsTimeIsOver(t *testing.T) {
	t.Parallel()
	r := newFixture(t, repeatText)
	r.settings.Gather = 50 * time.Millisecond
	r.start()
	r.net.UserWrites("1", "ann", "one")
	r.awaitText("1", "got one")
}

// TestAMessageThatIsGatheredBehindATurnIsWorkedOnWhenItsTimeIsOver shows that the end of its wait
// is not forgotten, although the dispatcher was woken meanwhile and found nothing to wait for: the
// chat of a running turn has nothing to claim.
func TestAMessageThatIsGatheredBehindATurnIsWorkedOnWhenItsTimeIsOver(t *testing.T) {
	t.Parallel()
	release := filepath.Join(t.TempDir(), "release")
	r := newFixture(t, `read -r line; case $line in *slow*) while [ ! -e `+release+` ]; do sleep 0.01; done;; esac; echo "$line" | (`+repeatText+`)`)
	r.settings.Gather = 2 * time.Second
	r.start()
	r.net.UserWrites("1", "ann", "slow")
	r.net.UserWrites("1", "ann", "/whoami") // ends the wait
	r.awaitTrue("the first turn runs", func() bool { return r.countTurns() == 1 })
	r.net.UserWrites("1", "ann", "second")
	r.awaitTrue("the second message waits", func() bool { return r.countPending("1") == 1 })
	r.net.UserWrites("2", "bob", "other")
	r.net.UserWrites("2", "bob", "/whoami")
	r.awaitText("2", "got other")
	if err := os.WriteFile(release, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r.awaitText("1", "got second")
}

func TestWithoutGatherTwoShortMessagesAreTwoTurns(t *testing.T) {
	t.Parallel()
	r := newFixture(t, repeatText).start()
	r.net.UserWrites("1", "ann", "one")
	r.net.UserWrites("1", "ann", "two")
	r.expect("1", "got one", "got two")
}

func TestStopDropsAMessageThatIsGathered(t *testing.T) {
	t.Parallel()
	r := newGatherFixture(t, repeatText).start()
	r.net.UserWrites("1", "ann", "delete all")
	r.net.UserWrites("1", "ann", "/stop")
	r.awaitText("1", "1 waiting message dropped.")
	r.net.UserWrites("1", "ann", "keep all")
	r.net.UserWrites("1", "ann", "/whoami")
	r.awaitText("1", "got keep all")
	if n := r.countTurns(); n != 1 {
		t.Errorf("%d turns ran", n)
	}
}

func TestACrashWhileMessagesAreGatheredLosesAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	for _, at := range []storeWrite{
		{method: "Receive", number: 1, after: true},
		{method: "Receive", number: 2},
		{method: "Receive", number: 2, after: true},
		{method: "Claim", number: 1, after: true},
	} {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			t.Parallel()
			r := newGatherFixture(t, repeatText)
			r.settings.OnCrash = "retry"
			r.startCrashing(at)
			r.net.UserWrites("1", "ann", "one")
			r.net.UserWrites("1", "ann", "two")
			if at.method == "Claim" {
				r.net.UserWrites("1", "ann", "/whoami")
			}
			r.awaitCrash()
			r.wrapStore, r.abandonAfter = nil, 0
			r.start()
			if at.method != "Claim" {
				r.net.UserWrites("1", "ann", "/whoami")
			}
			r.awaitText("1", "got one\ntwo")
			if n := r.countTurns(); n != 1 {
				t.Errorf("%d turns ran", n)
			}
		})
	}
}

// unhurriedStore joins messages however much time has passed between them, for busy machines.
type unhurriedStore struct{ store.Store }

func (s unhurriedStore) Receive(ctx context.Context, a store.ReceiveRequest) (store.ReceiveResult, error) {
	if a.Follows > 0 {
		a.Follows = time.Hour
	}
	return s.Store.Receive(ctx, a)
}

func TestAForwardIsOneTurnWithItsCommentThatStillWaits(t *testing.T) {
	t.Parallel()
	r := newFixture(t, `read -r line; case "$line" in *first*) `+waitForFileScript("go")+`;; esac; `+
		`text=${line#*'"text":"'}; printf '{"type":"message","text":"got %s"}\n' "${text%%'"'*}"`)
	r.wrapStore = func(s store.Store) store.Store { return unhurriedStore{s} }
	n := openTelegram(r).(telegramNetwork)
	chat := channels.Chat{Channel: "telegram", ID: fmt.Sprint(adaOnTelegram)}
	await := func(pending int) {
		t.Helper()
		r.awaitTrue("messages wait", func() bool {
			got, err := r.store.CountPending(t.Context(), chat)
			return err == nil && got == pending
		})
	}
	n.say("first")
	r.awaitTrue("the first turn runs", func() bool { return r.countTurns() == 1 })
	comment := n.api.UserSends(adaOnTelegram, "is this true?")
	await(1)
	n.api.InjectUpdate(fmt.Sprintf(`{"message":{"message_id":900,"date":1,"chat":{"id":%d,"type":"private"},"from":{"id":%[1]d,"first_name":"ada"},
		"text":"the news","forward_origin":{"type":"hidden_user","date":1,"sender_user_name":"Bob"}}}`, adaOnTelegram))
	n.say("second")
	await(2)
	n.api.UserEdits(adaOnTelegram, comment.ID, "is this new?")
	n.api.UserSends(adaOnTelegram, "/whoami")
	r.awaitTrue("the edit is stored", func() bool {
		queue, err := r.store.Queue(t.Context(), chat, 9)
		return err == nil && len(queue) == 2 && queue[0].In.Text == "is this new?\nthe news"
	})
	r.touchFile("go")
	n.await("got is this new?")
	n.await("got second")
}
