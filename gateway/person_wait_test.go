package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"nanobot/channels"
	"nanobot/gateway/intake"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

// dialog is a protocol whose turns wait for a message of the person, and then answer it.
// The messages that they read are in files of the folder dir.
type dialog struct {
	dir   string
	start func(chat string) // called at the beginning of a turn; nil: nothing is done

	mu      sync.Mutex
	waiting map[string]chan struct{} // by chat; closed when a message was read
}

func (c *dialog) Turn(ctx context.Context, t terminal.Turn) (terminal.Outcome, error) {
	chat := t.Envelope.SessionKey
	if c.start != nil {
		c.start(chat)
	}
	if err := t.Emit(terminal.Frame{Kind: terminal.Message, Text: t.Envelope.Text + "?"}); err != nil {
		return terminal.Outcome{}, err
	}
	read := c.acceptMessages(chat)
	resume := t.AwaitPerson(ctx)
	select {
	case <-read:
	case <-ctx.Done():
	}
	if err := resume(ctx); err != nil {
		return terminal.Outcome{Status: terminal.Stopped}, t.Emit(terminal.Frame{Kind: terminal.Message, Text: "ended"})
	}
	answer, err := os.ReadFile(c.dialogFile(chat))
	if err != nil {
		return terminal.Outcome{}, err
	}
	return terminal.Outcome{Status: terminal.Done}, t.Emit(terminal.Frame{Kind: terminal.Message, Text: "you answered " + string(answer)})
}

func (c *dialog) dialogFile(chat string) string {
	return filepath.Join(c.dir, strings.ReplaceAll(chat, ":", "-"))
}

// acceptMessages makes ReadMessage accept messages, and returns a channel that is closed with the
// answer.
func (c *dialog) acceptMessages(chat string) chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	read := make(chan struct{})
	if _, err := os.Stat(c.dialogFile(chat)); err == nil {
		close(read)
		return read
	}
	if c.waiting == nil {
		c.waiting = map[string]chan struct{}{}
	}
	c.waiting[chat] = read
	return read
}

func (c *dialog) ReadMessage(_ context.Context, m terminal.PersonMessage) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before, err := os.ReadFile(c.dialogFile(m.Chat))
	if err == nil && m.ID != "" && strings.HasPrefix(string(before), m.ID+" ") {
		return true, nil // offered again
	}
	read := c.waiting[m.Chat]
	if read == nil || m.ID == "" && m.Text == "" {
		return read != nil, nil
	}
	delete(c.waiting, m.Chat)
	if err := os.WriteFile(c.dialogFile(m.Chat), fmt.Appendf(nil, "%s %s", m.ID, m.Text), 0o600); err != nil {
		return false, err
	}
	close(read)
	return true, nil
}

// newDialogFixture is a fixture with the protocol dialog.
func newDialogFixture(t *testing.T) (*fixture, *dialog) {
	t.Helper()
	t.Parallel()
	fx := newFixture(t, "true")
	fx.settings.DrainTimeout = 2 * testTimeout // nothing here needs it
	c := &dialog{dir: t.TempDir()}
	fx.protocol = c
	return fx, c
}

// awaitWait waits until the turn of a chat waits for its person.
func (fx *fixture) awaitWait(c *dialog, chat string) {
	fx.t.Helper()
	fx.awaitTrue("the wait of chat "+chat, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.waiting["net:"+chat] != nil
	})
}

func TestOtherChatsRunWhileTurnsWaitForTheirPeople(t *testing.T) {
	fx, c := newDialogFixture(t)
	fx.slots = 1
	fx.start()
	const chats = 20
	for i := range chats {
		fx.net.UserWrites(fmt.Sprint(i), "u", "work")
	}
	for i := range chats {
		fx.awaitWait(c, fmt.Sprint(i))
	}
	for i := range chats {
		id := fx.net.UserWrites(fmt.Sprint(i), "u", "this")
		fx.expect(fmt.Sprint(i), "work?", "you answered "+id+" this")
		fx.awaitIdle(fmt.Sprint(i))
	}
}

func TestStopEndsATurnThatWaitsForItsPerson(t *testing.T) {
	fx, c := newDialogFixture(t)
	fx.slots = 1
	fx.start()
	fx.net.UserWrites("1", "u", "work")
	fx.awaitWait(c, "1")
	fx.net.UserWrites("2", "u", "other work")
	fx.awaitWait(c, "2")
	fx.net.UserWrites("1", "u", "/stop")
	fx.expect("1", "work?", "ended")
	fx.awaitIdle("1")
	id := fx.net.UserWrites("2", "u", "this")
	fx.expect("2", "other work?", "you answered "+id+" this")
}

func TestAMessageThatWasReadAndNotStoredIsDeliveredAgainAndReadOnce(t *testing.T) {
	fx, c := newDialogFixture(t)
	var fails atomic.Int32
	fails.Store(1)
	fx.startHooked(func(h *hookedStore) {
		h.receive = func(request store.ReceiveRequest) error {
			if !request.Settle {
				return nil
			}
			if fails.Add(-1) >= 0 {
				return errors.New("disk full")
			}
			return nil
		}
	})
	fx.net.UserWrites("1", "u", "work")
	fx.awaitWait(c, "1")
	id := fx.net.UserWrites("1", "u", "this")
	fx.expect("1", "work?", "you answered "+id+" this")
	fx.net.UserWrites("2", "u", "more")
	fx.awaitText("2", "more?") // the message before this one was received
	fx.awaitIdle("1")
	if got := strings.Join(texts(fx.net.Sent("1")), "|"); strings.Contains(got, "this?") {
		t.Errorf("the answer got a turn of its own: %s", got)
	}
}

func TestATurnThatWaitsForItsPersonContinuesAfterARestart(t *testing.T) {
	fx, c := newDialogFixture(t)
	fx.start()
	fx.net.UserWrites("1", "u", "work")
	fx.awaitWait(c, "1")
	fx.awaitText("1", "work?")
	fx.awaitReceipts()
	fx.stop() // at once
	if left := c.waiting["net:1"]; left == nil {
		t.Fatal("the wait has ended")
	}
	again := &dialog{dir: c.dir}
	fx.protocol = again
	fx.start()
	fx.awaitWait(again, "1")
	id := fx.net.UserWrites("1", "u", "this")
	fx.expect("1", "work?", "you answered "+id+" this")
}

func TestAnAnswerThatComesBeforeTheTurnReadsReachesIt(t *testing.T) {
	fx, c := newDialogFixture(t)
	begun, release := make(chan struct{}), make(chan struct{})
	c.start = func(string) {
		close(begun)
		<-release
	}
	fx.start()
	fx.net.UserWrites("1", "u", "work")
	<-begun
	id := fx.net.UserWrites("1", "u", "this")
	fx.awaitText("1", "Queued.")
	close(release)
	fx.awaitText("1", "you answered "+id+" this")
	fx.awaitIdle("1")
	if waiting, err := fx.store.CountPending(t.Context(), channels.Chat{Channel: "net", ID: "1"}); waiting != 0 || err != nil {
		t.Errorf("%d messages wait (%v)", waiting, err)
	}
}

func TestAnAnswerThatComesWhileTheTurnWaitsForASlotReachesIt(t *testing.T) {
	fx, c := newDialogFixture(t)
	fx.slots = 1
	fx.settings.WhileRunning = intake.Queue
	var once sync.Once
	release := make(chan struct{})
	begun := make(chan struct{})
	c.start = func(string) {
		once.Do(func() {
			close(begun)
			<-release
		})
	}
	fx.start()
	fx.net.UserWrites("1", "u", "work")
	<-begun
	fx.net.UserWrites("2", "u", "other work")
	id := fx.net.UserWrites("2", "u", "this")
	fx.net.UserWrites("3", "u", "/whoami") // when this is answered, the others are in the inbox
	fx.awaitText("3", "user id")
	close(release)
	fx.awaitText("2", "you answered "+id+" this")
}
