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
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// repeatText is an agent that answers with the text of its message.
const repeatText = `read -r line; text=${line#*'"text":"'}; printf '{"type":"message","text":"got %s"}\n' "${text%%'"'*}"`

// newGatherFixture returns a fixture whose messages wait for further ones until a command ends the
// wait.
func newGatherFixture(t *testing.T, script string) *fixture {
	t.Helper()
	fx := newFixture(t, script)
	fx.settings.Gather = time.Minute
	return fx
}

func TestTheMessagesOfOnePersonAreGatheredToOneTurn(t *testing.T) {
	t.Parallel()
	fx := newGatherFixture(t, repeatText).start()
	fx.net.UserWrites("1", "ann", "one")
	fx.net.UserWrites("1", "bob", "something else")
	fx.net.UserWrites("1", "ann", "two")
	fx.awaitTrue("both people's messages wait", func() bool { return fx.countPending("1") == 2 })
	fx.net.UserWrites("1", "bob", "/whoami")
	fx.net.UserWrites("1", "ann", "/whoami")
	fx.awaitText("1", "got something else")
	for _, text := range []string{"got one\ntwo", "got something else"} {
		fx.awaitText("1", text)
	}
	wanttest.Equal(t, "turns ran:", fx.countTurns(), 2)
}

// countPending counts the waiting messages of a chat.
func (fx *fixture) countPending(chat string) int {
	fx.t.Helper()
	n := musttest.Get(fx.store.CountPending(fx.t.Context(), channels.Chat{Channel: "net", ID: chat}))(fx.t)
	return n
}

// countTurns counts the turns of all chats.
func (fx *fixture) countTurns() (n int) {
	fx.t.Helper()
	all := musttest.Get(fx.store.Turns(fx.t.Context(), store.TurnFilter{Limit: 100}))(fx.t)
	for _, i := range all {
		if i.Attempt > 0 {
			n++
		}
	}
	return n
}

func TestAGatheredMessageIsWorkedOnWhenItsTimeIsOver(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, repeatText)
	fx.settings.Gather = 50 * time.Millisecond
	fx.start()
	fx.net.UserWrites("1", "ann", "one")
	fx.awaitText("1", "got one")
}

// TestAMessageThatIsGatheredBehindATurnIsWorkedOnWhenItsTimeIsOver shows that the end of its wait
// is not forgotten, although the dispatcher was woken meanwhile and found nothing to wait for: the
// chat of a running turn has nothing to claim.
func TestAMessageThatIsGatheredBehindATurnIsWorkedOnWhenItsTimeIsOver(t *testing.T) {
	t.Parallel()
	release := filepath.Join(t.TempDir(), "release")
	fx := newFixture(t, `read -r line; case $line in *slow*) while [ ! -e `+release+` ]; do sleep 0.01; done;; esac; echo "$line" | (`+repeatText+`)`)
	fx.settings.Gather = 2 * time.Second
	fx.start()
	fx.net.UserWrites("1", "ann", "slow")
	fx.net.UserWrites("1", "ann", "/whoami") // ends the wait
	fx.awaitTrue("the first turn runs", func() bool { return fx.countTurns() == 1 })
	fx.net.UserWrites("1", "ann", "second")
	fx.awaitTrue("the second message waits", func() bool { return fx.countPending("1") == 1 })
	fx.net.UserWrites("2", "bob", "other")
	fx.net.UserWrites("2", "bob", "/whoami")
	fx.awaitText("2", "got other")
	musttest.Do(t, os.WriteFile(release, nil, 0o600))
	fx.awaitText("1", "got second")
}

func TestWithoutGatherTwoShortMessagesAreTwoTurns(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, repeatText).start()
	fx.net.UserWrites("1", "ann", "one")
	fx.net.UserWrites("1", "ann", "two")
	fx.expect("1", "got one", "got two")
}

func TestStopDropsAMessageThatIsGathered(t *testing.T) {
	t.Parallel()
	fx := newGatherFixture(t, repeatText).start()
	fx.net.UserWrites("1", "ann", "delete all")
	fx.net.UserWrites("1", "ann", "/stop")
	fx.awaitText("1", "1 waiting message dropped.")
	fx.net.UserWrites("1", "ann", "keep all")
	fx.net.UserWrites("1", "ann", "/whoami")
	fx.awaitText("1", "got keep all")
	wanttest.Equal(t, "turns ran:", fx.countTurns(), 1)
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
			fx := newGatherFixture(t, repeatText)
			fx.settings.OnCrash = "retry"
			fx.startCrashing(at)
			fx.net.UserWrites("1", "ann", "one")
			fx.net.UserWrites("1", "ann", "two")
			if at.method == "Claim" {
				fx.net.UserWrites("1", "ann", "/whoami")
			}
			fx.awaitCrash()
			fx.wrapStore, fx.abandonAfter = nil, 0
			fx.start()
			if at.method != "Claim" {
				fx.net.UserWrites("1", "ann", "/whoami")
			}
			fx.awaitText("1", "got one\ntwo")
			wanttest.Equal(t, "turns ran:", fx.countTurns(), 1)
		})
	}
}

// unhurriedStore joins messages however much time has passed between them, for busy machines.
type unhurriedStore struct{ store.Store }

func (s unhurriedStore) Receive(ctx context.Context, request store.ReceiveRequest) (store.ReceiveResult, error) {
	if request.Follows > 0 {
		request.Follows = time.Hour
	}
	return s.Store.Receive(ctx, request)
}

func TestAForwardIsOneTurnWithItsCommentThatStillWaits(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, `read -r line; case "$line" in *first*) `+waitForFileScript("go")+`;; esac; `+
		`text=${line#*'"text":"'}; printf '{"type":"message","text":"got %s"}\n' "${text%%'"'*}"`)
	fx.wrapStore = func(s store.Store) store.Store { return unhurriedStore{s} }
	n := openTelegram(fx).(telegramNetwork)
	chat := channels.Chat{Channel: "telegram", ID: fmt.Sprint(adaOnTelegram)}
	await := func(pending int) {
		t.Helper()
		fx.awaitTrue("messages wait", func() bool {
			got, err := fx.store.CountPending(t.Context(), chat)
			return err == nil && got == pending
		})
	}
	n.say("first")
	fx.awaitTrue("the first turn runs", func() bool { return fx.countTurns() == 1 })
	comment := n.api.UserSends(adaOnTelegram, "is this true?")
	await(1)
	n.api.InjectUpdate(fmt.Sprintf(`{"message":{"message_id":900,"date":1,"chat":{"id":%d,"type":"private"},"from":{"id":%[1]d,"first_name":"ada"},
		"text":"the news","forward_origin":{"type":"hidden_user","date":1,"sender_user_name":"Bob"}}}`, adaOnTelegram))
	n.say("second")
	await(2)
	n.api.UserEdits(adaOnTelegram, comment.ID, "is this new?")
	n.api.UserSends(adaOnTelegram, "/whoami")
	fx.awaitTrue("the edit is stored", func() bool {
		queue, err := fx.store.Queue(t.Context(), chat, 9)
		return err == nil && len(queue) == 2 && queue[0].In.Text == "is this new?\nthe news"
	})
	fx.touchFile("go")
	n.await("got is this new?")
	n.await("got second")
}
