package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/events"
	"nanobot/gateway/outbox"
	"nanobot/gateway/store"
	"nanobot/gateway/store/sqlite"
	"nanobot/gateway/store/sqlite/sqlitetest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

var ann, bob = channels.Chat{Channel: "net", ID: "ann"}, channels.Chat{Channel: "net", ID: "bob"}

// fakeChannel is a channel whose results the test decides.
type fakeChannel struct {
	channels.Channel
	mu   sync.Mutex
	sent []channels.Outgoing
	// call decides about each call by its number, from 1; nil: all succeed.
	call func(n int, o channels.Outgoing) error
}

func (*fakeChannel) Plan(m channels.Message) ([]channels.Outgoing, error) {
	return []channels.Outgoing{{Chat: m.Chat, Kind: m.Kind, Text: m.Text, Media: m.Media, Buttons: m.Buttons, Notification: m.Notification}}, nil
}

func (n *fakeChannel) Send(_ context.Context, o channels.Outgoing) (channels.Receipt, error) {
	n.mu.Lock()
	n.sent = append(n.sent, o)
	number := len(n.sent)
	n.mu.Unlock()
	if n.call != nil {
		if err := n.call(number, o); err != nil {
			return channels.Receipt{}, err
		}
	}
	return channels.Receipt{ID: fmt.Sprint(number)}, nil
}

// texts returns the texts that were sent so far; a repetition begins with ↻.
func (n *fakeChannel) texts() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var all []string
	for _, o := range n.sent {
		if o.Repeat {
			o.Text = "↻" + o.Text
		}
		all = append(all, o.Text)
	}
	return fmt.Sprint(all)
}

func openStore(t *testing.T) *sqlite.Store {
	t.Helper()
	dir := t.TempDir()
	sqlitetest.Prepare(t, dir)
	s := musttest.Get(sqlite.Open(t.Context(), dir, sqlite.Options{}))(t)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func newOutbox(s outbox.Store, n channels.Channel, told events.Func) *outbox.Outbox {
	return outbox.New(outbox.Options{
		Store: s, Channels: map[string]channels.Channel{"net": n}, AtMostOnce: func() bool { return false },
		Log: zap.NewNop(), Events: told,
	})
}

// runOutbox runs an outbox until the returned function is called.
func runOutbox(t *testing.T, box *outbox.Outbox) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		box.Run(ctx)
	}()
	return func() {
		cancel()
		<-ended
	}
}

func postText(t *testing.T, box *outbox.Outbox, chat channels.Chat, text string) {
	t.Helper()
	musttest.Do(t, box.Post(t.Context(), &outbox.Message{Message: channels.Message{Chat: chat, Kind: channels.Answer, Text: text}}))
}

func TestMessagesPostedBeforeRunAreSentInOrder(t *testing.T) {
	n := &fakeChannel{}
	box := newOutbox(openStore(t), n, nil)
	for _, text := range []string{"1", "2", "3"} {
		postText(t, box, ann, text)
	}
	stop := runOutbox(t, box)
	box.Idle(t.Context())
	stop()
	wanttest.Equal(t, "sent", n.texts(), "[1 2 3]")
}

func TestAChatThatHangsDelaysNoOther(t *testing.T) {
	release, sent := make(chan struct{}), make(chan events.Event, 9)
	n := &fakeChannel{call: func(_ int, o channels.Outgoing) error {
		if o.Chat == ann {
			<-release
		}
		return nil
	}}
	box := newOutbox(openStore(t), n, func(e events.Event) { sent <- e })
	stop := runOutbox(t, box)
	postText(t, box, ann, "slow")
	postText(t, box, bob, "fast")
	if e := <-sent; e.Chat != bob || e.Type != events.Sent {
		t.Errorf("first came %+v", e)
	}
	close(release)
	box.Idle(t.Context())
	stop()
}

// Channels wrap their errors in words of their own, which must not decide whether a message is
// marked as a repetition.
func TestARepetitionIsMarkedWhateverTheErrorTextSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &fakeChannel{call: func(number int, _ channels.Outgoing) error {
			switch number {
			case 1:
				return fmt.Errorf("upstream said: %w", &channels.SendError{Err: errors.New("504"), Unknown: true})
			case 2:
				return errors.New("outcome unknown, says the network, but it was refused")
			}
			return nil
		}}
		s := &memoryStore{}
		box := newOutbox(s, n, nil)
		stop := runOutbox(t, box)
		postText(t, box, ann, "hi")
		time.Sleep(time.Minute)
		stop()
		wanttest.Equal(t, "sent", n.texts(), "[hi ↻hi ↻hi]")
	})
}

func TestTheTextOfAnErrorAloneMakesNoRepetition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &fakeChannel{call: func(number int, _ channels.Outgoing) error {
			if number == 1 {
				return errors.New("outcome unknown: these are only words")
			}
			return nil
		}}
		box := newOutbox(&memoryStore{}, n, nil)
		stop := runOutbox(t, box)
		postText(t, box, ann, "hi")
		time.Sleep(time.Minute)
		stop()
		wanttest.Equal(t, "sent", n.texts(), "[hi hi]")
	})
}

func TestACallInProgressDuringACrashIsRepeatedWithTheMark(t *testing.T) {
	s := openStore(t)
	outbound := store.Outbound{Parts: []channels.Outgoing{{Chat: ann, Text: "hi"}}, Claim: true}
	first, claimed, err := s.Enqueue(t.Context(), outbound)
	if err != nil || !claimed {
		t.Fatal(claimed, err)
	}
	n := &fakeChannel{}
	box := newOutbox(s, n, nil)
	musttest.Do(t, box.Recover(t.Context(), store.Adopted{Deliveries: []store.Delivery{first}}))
	box.Wake(ann)
	stop := runOutbox(t, box)
	box.Idle(t.Context())
	stop()
	wanttest.Equal(t, "sent", n.texts(), "[↻hi]")
}

// fullStore is a store whose disk is full.
type fullStore struct{ *sqlite.Store }

func (fullStore) SaveCopy(context.Context, *os.File, int64) (string, error) {
	return "", store.ErrNoRoom
}

func (fullStore) Enqueue(context.Context, store.Outbound) (store.Delivery, bool, error) {
	return store.Delivery{}, false, store.ErrFull
}

// While a file is open, removing it makes no room.
func TestAFileThatIsNotSentIsClosedBeforeItsMessageIsStored(t *testing.T) {
	path := filepath.Join(t.TempDir(), "big")
	musttest.Do(t, os.WriteFile(path, []byte("big"), 0o600))
	file := musttest.Get(os.Open(path))(t)
	defer file.Close()
	box := newOutbox(fullStore{openStore(t)}, &fakeChannel{}, nil)
	m := &outbox.Message{Message: channels.Message{Chat: ann, Kind: channels.Answer, Media: []channels.File{{Name: "big", Size: 3, Open: file}}}}
	if err := box.Post(t.Context(), m); !errors.Is(err, outbox.ErrNotStored) {
		t.Errorf("posted: %v", err)
	}
	if _, err := file.Stat(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the file is open: %v", err)
	}
}

func TestAClaimedDeliveryThatIsNotSentBeforeTheEndStaysPending(t *testing.T) {
	s := openStore(t)
	n := &fakeChannel{}
	box := newOutbox(s, n, nil)
	postText(t, box, ann, "hi")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	box.Run(ctx)
	got, err := s.Undelivered(t.Context(), ann, 9)
	if err != nil || len(got) != 1 || got[0].State != store.Pending || got[0].Doubtful || n.texts() != "[]" {
		t.Errorf("left %+v, %v; sent %s", got, err, n.texts())
	}
}

func TestMessagesPostedAfterTheEndStayPending(t *testing.T) {
	s := openStore(t)
	n := &fakeChannel{}
	box := newOutbox(s, n, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	box.Run(ctx)
	postText(t, box, ann, "late")
	got, err := s.Undelivered(t.Context(), ann, 9)
	if err != nil || len(got) != 1 || got[0].State != store.Pending || got[0].Doubtful {
		t.Errorf("left %+v, %v", got, err)
	}
	again := newOutbox(s, n, nil)
	stop := runOutbox(t, again)
	again.Wake(ann)
	again.Idle(t.Context())
	stop()
	wanttest.Equal(t, "sent", n.texts(), "[late]")
}

// memoryStore is a store of one chat, without goroutines or files, so that it
// works in a synctest bubble.
type memoryStore struct {
	outbox.Store
	mu         sync.Mutex
	deliveries []store.Delivery
}

func (s *memoryStore) Recall(context.Context, channels.Chat, string) (string, error) { return "", nil }

func (s *memoryStore) Enqueue(_ context.Context, outbound store.Outbound) (store.Delivery, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, out := range outbound.Parts {
		s.deliveries = append(s.deliveries, store.Delivery{ID: int64(len(s.deliveries) + 1), Out: out, State: store.Pending, Queued: time.Now()})
	}
	return store.Delivery{}, false, nil
}

func (s *memoryStore) NextDelivery(context.Context, channels.Chat, int64) (store.Delivery, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.deliveries {
		delivery := &s.deliveries[i]
		switch {
		case delivery.State != store.Pending:
		case time.Now().Before(delivery.NotBefore):
			early := *delivery
			early.Wait = time.Until(delivery.NotBefore)
			return early, false, nil
		default:
			delivery.State, delivery.Tries, delivery.Age = store.Sending, delivery.Tries+1, time.Since(delivery.Queued)
			return *delivery, true, nil
		}
	}
	return store.Delivery{}, false, nil
}

func (s *memoryStore) Settle(_ context.Context, id int64, end store.Settlement) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delivery := &s.deliveries[id-1]
	delivery.State, delivery.Receipt, delivery.Err, delivery.Doubtful, delivery.NotBefore = end.State, end.Receipt, end.Reason, end.Doubtful, time.Now().Add(end.After)
	return end.State == store.Pending, nil
}

func TestATransientMessageIsMarkedAndAnAnswerIsNot(t *testing.T) {
	n := &fakeChannel{}
	box := newOutbox(openStore(t), n, nil)
	musttest.Get(box.Show(t.Context(), outbox.Transient{Out: channels.Outgoing{Chat: ann, Text: "working"}}))(t)
	postText(t, box, ann, "the answer")
	stop := runOutbox(t, box)
	box.Idle(t.Context())
	stop()
	if len(n.sent) != 2 || !n.sent[0].Transient || n.sent[1].Transient {
		t.Errorf("sent were %+v", n.sent)
	}
}

// busyReplacer is a channel whose network has no room for the first edit.
type busyReplacer struct {
	*fakeChannel
	err      error
	replaced []string
	removed  []string
}

func (b *busyReplacer) Edit(context.Context, string, channels.Outgoing) error { return nil }

func (b *busyReplacer) Remove(_ context.Context, _ channels.Chat, id string) error {
	b.removed = append(b.removed, id)
	return nil
}

func (b *busyReplacer) Replace(_ context.Context, id string, _ channels.Outgoing) (channels.Receipt, error) {
	if b.replaced = append(b.replaced, id); len(b.replaced) == 1 {
		return channels.Receipt{}, &channels.SendError{Err: b.err, After: time.Minute}
	}
	return channels.Receipt{ID: id}, nil
}

func TestAStreamedBeginningStaysWhileANewMessageWouldWaitAsWell(t *testing.T) {
	for name, c := range map[string]struct {
		err     error
		removed int
	}{"edits are refused": {errors.New("too many edits"), 1}, "everything waits": {channels.ErrBusy, 0}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := &busyReplacer{fakeChannel: &fakeChannel{}, err: c.err}
				box := outbox.New(outbox.Options{
					Store: openStore(t), Channels: map[string]channels.Channel{"net": n}, AtMostOnce: func() bool { return false }, Log: zap.NewNop(),
				})
				m := &outbox.Message{Message: channels.Message{Chat: ann, Kind: channels.Answer, Text: "the answer"}, Replace: []outbox.Shown{{ID: "m1"}}}
				musttest.Do(t, box.Post(t.Context(), m))
				stop := runOutbox(t, box)
				time.Sleep(2 * time.Minute)
				stop()
				if len(n.removed) != c.removed || len(n.sent) != c.removed || len(n.replaced) != 2-c.removed {
					t.Errorf("removed %q, sent %d, replaced %q", n.removed, len(n.sent), n.replaced)
				}
			})
		})
	}
}

func newChannelOutbox(s outbox.Store, ch channels.Channel) *outbox.Outbox {
	return outbox.New(outbox.Options{
		Store: s, Channels: map[string]channels.Channel{"net": ch}, AtMostOnce: func() bool { return false }, Log: zap.NewNop(),
	})
}

func newReplacerOutbox(s outbox.Store, n *busyReplacer, atMostOnce bool) *outbox.Outbox {
	return outbox.New(outbox.Options{
		Store: s, Channels: map[string]channels.Channel{"net": n}, AtMostOnce: func() bool { return atMostOnce }, Log: zap.NewNop(),
	})
}

// The crash came after an edit was refused, and before the result of the new message was stored.
func TestAfterACrashAMessageThatWasSentAsNewDoesNotReplaceTheOldOne(t *testing.T) {
	for _, atMostOnce := range []bool{false, true} {
		s := openStore(t)
		outbound := store.Outbound{Parts: []channels.Outgoing{{Chat: ann, Text: "hi", Replace: "m1"}}, Claim: true}
		first, claimed, err := s.Enqueue(t.Context(), outbound)
		if err != nil || !claimed {
			t.Fatal(claimed, err)
		}
		old := store.Transient{Chat: ann, ID: "m1"}
		musttest.Do(t, s.AddTransient(t.Context(), old))
		n := &busyReplacer{fakeChannel: &fakeChannel{}}
		box := newReplacerOutbox(s, n, atMostOnce)
		stop := runOutbox(t, box)
		musttest.Do(t, box.Recover(t.Context(), store.Adopted{Deliveries: []store.Delivery{first}, Transients: []store.Transient{old}}))
		box.Wake(ann)
		box.Idle(t.Context())
		stop()
		want, removed := "[↻hi]", 1
		if atMostOnce { // the new message may not exist, so what people can read stays
			want, removed = "[]", 0
		}
		if got := n.texts(); got != want || len(n.replaced) > 0 || len(n.removed) != removed {
			t.Errorf("sent %s, replaced %q, removed %q", got, n.replaced, n.removed)
		}
	}
}
