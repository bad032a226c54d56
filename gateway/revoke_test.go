package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/gateway"
	"nanobot/gateway/audit"
	"nanobot/gateway/gatewaytest"
	"nanobot/gateway/store"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
)

// newAccessFixture is a fixture that admits user 7 by its settings, and users 8 and 9 by pairing.
func newAccessFixture(t *testing.T, script string) *fixture {
	t.Helper()
	fx := newFixture(t, script)
	fx.settings.AllowFrom = map[string][]string{"net": {"7"}}
	fx.wrapStore = func(s store.Store) store.Store {
		for _, user := range []string{"8", "9"} {
			if _, _, err := s.Admit(t.Context(), store.Person{Channel: "net", User: user}, time.Minute); err != nil {
				t.Fatal(err)
			}
		}
		return s
	}
	return fx
}

// revoke revokes access as nanobot pair --revoke does, and waits for the effect.
func (fx *fixture) revoke(user string) {
	fx.t.Helper()
	if ok, err := fx.openCommand().Revoke(fx.t.Context(), store.Person{Channel: "net", User: user}, true); err != nil || !ok {
		fx.t.Fatal(ok, err)
	}
	fx.awaitDismissed()
}

// awaitDismissed waits until nothing of people without access runs or is being sent.
func (fx *fixture) awaitDismissed() {
	fx.t.Helper()
	for deadline := time.Now().Add(testTimeout); ; time.Sleep(2 * time.Millisecond) {
		inbounds, deliveries, err := fx.store.Dismissed(fx.t.Context())
		if err == nil && len(inbounds)+len(deliveries) == 0 {
			return
		}
		if time.Now().After(deadline) {
			fx.t.Fatalf("%d turns and %d sends go on: %v", len(inbounds), len(deliveries), err)
		}
	}
}

// awaitReceived waits until a message in another chat is answered: everything before it was then
// received.
func (fx *fixture) awaitReceived() {
	fx.t.Helper()
	before := len(fx.net.Sent("sync"))
	fx.net.UserWrites("sync", "7", "/whoami")
	fx.net.Await("sync", testTimeout, func(c []gatewaytest.Call) bool { return len(c) > before })
}

// work is an agent that says who it works for and then works until it is told to go on.
const work = `read -r line; text=${line#*\"text\":\"}; text=${text%%\"*}; echo "$text" >> runs; echo "{\"type\":\"message\",\"text\":\"at $text\"}"
	case $text in long*) while [ ! -e go ]; do echo '{"type":"message","text":"noise"}'; sleep 0.05; done;; esac
	echo "{\"type\":\"message\",\"text\":\"did $text\"}"`

func TestARevokedPersonLosesRunningAndWaitingTurnsAndNobodyElseDoes(t *testing.T) {
	t.Parallel()
	fx := newAccessFixture(t, work).start()
	fx.net.UserWrites("group", "8", "long one")
	fx.awaitText("group", "at long one")
	fx.net.UserWrites("group", "8", "two")
	fx.net.UserWrites("group", "7", "three")
	fx.net.UserWrites("group", "8", "four")
	fx.net.UserWrites("group", "9", "five")
	fx.awaitReceived()
	fx.net.Await("group", testTimeout, func(calls []gatewaytest.Call) bool {
		return len(slices.DeleteFunc(calls, func(c gatewaytest.Call) bool { return c.Text != "Queued." })) == 4
	})
	fx.revoke("8")
	sent := len(texts(fx.net.Sent("group")))
	fx.awaitText("group", "did three")
	fx.awaitText("group", "did five")
	fx.awaitIdle("group")
	all := texts(fx.net.Sent("group"))
	got := all[min(sent, slices.Index(all, "at three")):] // which may be quicker than the count
	wanttest.EqualSlices(t, "after that the group was shown", got, []string{"at three", "did three", "at five", "did five"})
	inbounds := musttest.Get(fx.store.Recent(t.Context(), channels.Chat{Channel: "net", ID: "group"}, 5))(t)
	var ends []string
	for _, i := range slices.Backward(inbounds) {
		ends = append(ends, fmt.Sprint(i.State, " ", i.Outcome.Status))
	}
	wanttest.EqualSlices(t, "the turns ended as", ends, []string{"done revoked", "dead revoked", "done done", "dead revoked", "done done"})
}

func TestAccessIsCheckedWhenATurnIsClaimed(t *testing.T) {
	t.Parallel()
	var denied []audit.Record
	fx := newAccessFixture(t, work)
	fx.slots = 1
	fx.audit = func(a audit.Record) {
		if a.Event == audit.Denied {
			denied = append(denied, a)
		}
	}
	fx.start()
	fx.net.UserWrites("1", "7", "long one")
	fx.awaitText("1", "at long one")
	fx.net.UserWrites("2", "8", "two")
	fx.net.UserWrites("3", "9", "three")
	fx.awaitReceived()
	// What waits is left alone, as if it had come in at the same moment.
	musttest.Get(fx.openCommand().Revoke(t.Context(), store.Person{Channel: "net", User: "8"}, false))(t)
	fx.touchFile("go")
	fx.awaitText("3", "did three")
	fx.stop()
	if got := fx.net.Sent("2"); len(got) != 0 {
		t.Errorf("the chat was shown %q", texts(got))
	}
	if len(denied) != 1 || denied[0].User.ID != "8" || denied[0].Decision != audit.Revoked {
		t.Errorf("the audit has %+v", denied)
	}
}

func TestAPersonRemovedFromTheSettingsIsStopped(t *testing.T) {
	t.Parallel()
	fx := newAccessFixture(t, work)
	fx.settings.AllowFrom = map[string][]string{"net": {"5", "6", "7"}}
	fx.start()
	fx.net.UserWrites("1", "6", "long one")
	fx.awaitText("1", "at long one")
	fx.net.UserWrites("1", "6", "two")
	fx.net.UserWrites("2", "8", "long three")
	fx.net.UserWrites("3", "5", "long four")
	fx.awaitText("2", "at long three")
	fx.awaitText("3", "at long four")
	fx.awaitReceived()
	changed := fx.settings
	changed.AllowFrom = map[string][]string{"net": {"5", "7"}}
	fx.gw.Reload(changed)
	fx.awaitIdle("1")
	if got := texts(fx.net.Sent("1")); slices.Contains(got, "did long one") || slices.Contains(got, "at two") || slices.Contains(got, "Stopped.") {
		t.Errorf("the chat was shown %q", got)
	}
	fx.touchFile("go")
	fx.awaitText("2", "did long three") // who was paired stays
	fx.awaitText("3", "did long four")
}

func TestPendingMessagesToAPersonRemovedDuringADowntimeAreNotSent(t *testing.T) {
	t.Parallel()
	fx := newAccessFixture(t, echo)
	fx.settings.AllowFrom = map[string][]string{"net": {"6", "7"}}
	fx.net.Fault = func(c gatewaytest.Call) gatewaytest.Fault {
		if c.Chat == "1" && c.Text != "" {
			return gatewaytest.Fault{Status: 429, RetryAfter: time.Hour}
		}
		return gatewaytest.Fault{}
	}
	fx.start()
	fx.net.UserWrites("1", "6", "hello")
	fx.awaitIdle("1")
	fx.awaitReceived()
	fx.stop()
	fx.net.Fault = nil
	fx.settings.AllowFrom = map[string][]string{"net": {"7"}}
	fx.start()
	fx.net.UserWrites("2", "7", "hello")
	fx.awaitText("2", "you said hello")
	for deadline := time.Now().Add(testTimeout); ; time.Sleep(2 * time.Millisecond) {
		left, err := fx.store.Undelivered(t.Context(), channels.Chat{Channel: "net", ID: "1"}, 9)
		if err == nil && len(left) == 1 && left[0].State == store.Failed {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("what is left is %+v, %v", left, err)
		}
	}
	if got := fx.net.Sent("1"); len(got) != 0 {
		t.Errorf("the chat was shown %q", texts(got))
	}
}

func TestARevokedPersonCannotAnswerAndTheirQuestionsAreClosed(t *testing.T) {
	t.Parallel()
	fx := newAccessFixture(t, "true")
	fx.protocol = repeatingAsker{}
	fx.start()
	fx.net.UserWrites("1", "8", "theirs")
	question := fx.awaitText("1", "theirs")
	fx.net.UserWrites("2", "7", "ours")
	ours := fx.awaitText("2", "ours")
	fx.revoke("8")
	fx.net.UserPresses("1", "7", question.Buttons[0])
	fx.awaitText("1", "This question is no longer open.")
	fx.net.UserPresses("2", "8", ours.Buttons[0])
	fx.net.UserWrites("2", "8", "1")
	fx.awaitText("2", "nanobot pair ")
	fx.awaitReceived()
	fx.net.UserPresses("2", "9", ours.Buttons[1])
	fx.awaitText("2", "told of ours: Reject")
	for _, text := range texts(fx.net.Sent("1")) {
		if strings.HasPrefix(text, "told of") || strings.Contains(text, "Stopped") {
			t.Errorf("the chat was shown %q", text)
		}
	}
}

// repeatingAsker is a protocol that asks the text of the message, and prints the answer.
type repeatingAsker struct{}

func (repeatingAsker) Turn(ctx context.Context, t terminal.Turn) (terminal.Outcome, error) {
	a, err := t.Ask(ctx, terminal.Question{Text: t.Envelope.Text, Options: []string{"Allow", "Reject"}})
	_ = t.Emit(terminal.Frame{Kind: terminal.Message, Text: fmt.Sprintf("told of %s: %s %v", t.Envelope.Text, a.Text, err)})
	return terminal.Outcome{Status: terminal.Done}, nil
}

func TestMessagesInjectedByARevokedPersonAreWithdrawn(t *testing.T) {
	t.Parallel()
	fx := newAccessFixture(t, "true")
	fx.settings.WhileRunning = "inject"
	hands := &slowReader{begin: make(chan struct{}), read: make(chan string, 16)}
	fx.protocol = hands
	fx.start()
	fx.net.UserWrites("1", "7", "first")
	<-hands.begin
	for i, user := range []string{"8", "9", "8", "7", "8"} {
		fx.net.UserWrites("1", user, fmt.Sprint("more ", i, " of ", user))
	}
	fx.awaitReceived()
	fx.revoke("8")
	for deadline := time.Now().Add(testTimeout); fx.logs.FilterMessage("access revoked, withdrawing messages that the agent has not read").Len() == 0; time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it is not taken back")
		}
	}
	hands.begin <- struct{}{}
	if got := []string{<-hands.read, <-hands.read}; got[0] != "more 1 of 9" || got[1] != "more 3 of 7" {
		t.Errorf("the agent read %q", got)
	}
}

// slowReader is a protocol that reads no injected message until it is released, and then all of
// them.
type slowReader struct {
	begin chan struct{}
	read  chan string
}

func (p *slowReader) Turn(ctx context.Context, t terminal.Turn) (terminal.Outcome, error) {
	p.begin <- struct{}{}
	select {
	case <-p.begin:
	case <-ctx.Done():
		return terminal.Outcome{Status: terminal.Stopped}, nil
	}
	for {
		select {
		case line := <-t.Injections():
			p.read <- line.Text
		default:
			close(p.read)
			return terminal.Outcome{Status: terminal.Done}, nil
		}
	}
}

func TestMessagesInjectedIntoARevokedPersonsTurnGetATurn(t *testing.T) {
	t.Parallel()
	fx := newAccessFixture(t, `read -r line; case "$line" in *first*) touch up; read -r more; echo "$more" > more; exec sleep 300;;
		*) text=${line#*\"text\":\"}; echo "own turn: ${text%%\"*}";; esac`)
	fx.settings.WhileRunning = "inject"
	fx.start()
	fx.net.UserWrites("1", "8", "first")
	fx.awaitFile("up")
	fx.net.UserWrites("1", "7", "second")
	fx.awaitFile("more") // the agent has read it
	fx.net.UserWrites("1", "8", "third")
	fx.awaitReceived()
	fx.revoke("8")
	fx.expect("1", "own turn: second")
}

func TestARevokedPersonsTurnIsNotRunAgainByOthers(t *testing.T) {
	t.Parallel()
	fx := newAccessFixture(t, work).start()
	fx.net.UserWrites("1", "7", "ours")
	fx.awaitText("1", "did ours")
	fx.net.UserWrites("1", "8", "theirs")
	fx.awaitText("1", "did theirs")
	fx.awaitIdle("1")
	inbounds := musttest.Get(fx.store.Recent(t.Context(), channels.Chat{Channel: "net", ID: "1"}, 1))(t)
	fx.revoke("8")
	fx.net.UserPresses("1", "7", fmt.Sprintf("again:%d", inbounds[0].ID))
	fx.awaitText("1", "The person who wrote that no longer has access.")
	if err := fx.gw.Retry(t.Context(), inbounds[0].ID); !errors.Is(err, gateway.ErrNotNow) {
		t.Errorf("the operator's retry: %v", err)
	}
	before := len(texts(fx.net.Sent("1")))
	fx.net.UserWrites("1", "7", "/retry")
	fx.net.Await("1", testTimeout, func(c []gatewaytest.Call) bool { return len(texts(c)) >= before+2 })
	wanttest.EqualSlices(t, "retry shows", texts(fx.net.Sent("1"))[before:], []string{"at ours", "did ours"})
}

func TestARevokedTurnThatDoesNotEndIsAbandonedWithoutANotice(t *testing.T) {
	t.Parallel()
	fx := newAccessFixture(t, "true")
	fx.abandonAfter = 50 * time.Millisecond
	stubborn := &unstoppableProtocol{begun: make(chan struct{}), end: make(chan struct{})}
	defer close(stubborn.end)
	fx.protocol = stubborn
	fx.start()
	fx.net.UserWrites("1", "8", "work")
	<-stubborn.begun
	fx.revoke("8")
	fx.awaitIdle("1")
	fx.awaitReceived()
	if got := fx.net.Sent("1"); len(got) != 0 {
		t.Errorf("the chat was shown %q", texts(got))
	}
}

// unstoppableProtocol ignores the end of its context.
type unstoppableProtocol struct{ begun, end chan struct{} }

func (p *unstoppableProtocol) Turn(context.Context, terminal.Turn) (terminal.Outcome, error) {
	close(p.begun)
	<-p.end
	return terminal.Outcome{}, nil
}

func TestAPersonAdmittedAgainDoesNotGetTheirTurnBack(t *testing.T) {
	t.Parallel()
	fx := newAccessFixture(t, work).start()
	fx.net.UserWrites("1", "8", "long one")
	fx.awaitText("1", "at long one")
	command, who := fx.openCommand(), store.Person{Channel: "net", User: "8"}
	musttest.Get(command.Revoke(t.Context(), who, true))(t)
	if _, _, err := command.Admit(t.Context(), who, time.Minute); err != nil {
		t.Fatal(err)
	}
	fx.awaitDismissed()
	fx.net.UserWrites("1", "8", "two")
	fx.awaitText("1", "did two")
	if got := texts(fx.net.Sent("1")); slices.Contains(got, "did long one") {
		t.Errorf("the chat was shown %q", got)
	}
}

func TestATurnThatWaitsForResourcesEndsWithItsSendersAccess(t *testing.T) {
	t.Parallel()
	fx := newAccessFixture(t, echo)
	l := &shortageProtocol{chats: map[string]bool{"1": true}}
	l.what.Store(int64(syscall.EAGAIN))
	fx.slots, fx.protocol = 1, l
	fx.start()
	fx.net.UserWrites("1", "8", "one")
	l.awaitTries(fx, 1) // so that the next message finds a turn and is told that it waits
	fx.net.UserWrites("1", "8", "two")
	fx.awaitText("1", "Queued.")
	l.awaitTries(fx, 3)
	fx.revoke("8")
	fx.awaitIdle("1")
	l.what.Store(0)
	fx.net.UserWrites("2", "7", "hello")
	fx.expect("2", "you said hello") // the slot is free
	fx.net.UserWrites("1", "9", "hello")
	fx.awaitText("1", "you said hello")
	wanttest.EqualSlices(t, "the chat was shown", texts(fx.net.Sent("1")), []string{"you said hello"})
}
