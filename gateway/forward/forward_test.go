package forward_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"go.uber.org/zap/zaptest"

	"nanobot/channels"
	"nanobot/gateway/forward"
	"nanobot/gateway/store"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// forwards are the forwarded messages of a store.
type forwards struct {
	mu       sync.Mutex
	waiting  []store.Forwarded // for this member
	sent     []string          // IDs of the messages that this member has forwarded
	released []string
	broken   error // of each change
}

func (f *forwards) Forward(_ context.Context, in channels.Incoming) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sent = append(f.sent, in.ID)
	return f.broken
}

func (f *forwards) Forwarded(_ context.Context, n int) ([]store.Forwarded, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.waiting[:min(n, len(f.waiting))]), nil
}

func (f *forwards) DropForwarded(_ context.Context, id int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken == nil {
		f.waiting = slices.DeleteFunc(f.waiting, func(m store.Forwarded) bool { return m.ID == id })
	}
	return f.broken
}

func (f *forwards) Release(_ context.Context, chats []string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.released = append(f.released, chats...)
	return f.broken
}

// member is a member under test: what it has received, in order, and what that call returns.
type member struct {
	*forward.Forwards
	store *forwards

	mu       sync.Mutex
	received []string // CHAT:ID
	receive  func(in channels.Incoming) error
	keeps    map[string]bool
}

func newMember(t *testing.T) *member {
	m := &member{store: &forwards{}, receive: func(channels.Incoming) error { return nil }}
	m.Forwards = forward.New(forward.Options{
		Store: m.store, Log: zaptest.NewLogger(t),
		Receive: func(_ context.Context, in channels.Incoming) error {
			err := m.receive(in)
			m.mu.Lock()
			defer m.mu.Unlock()
			if err == nil {
				m.received = append(m.received, in.Chat.ID+":"+in.ID)
			}
			return err
		},
		Keeps: func(chat string) bool { return m.keeps[chat] },
	})
	return m
}

// run runs the member in a bubble, and returns what has it handle a beat to the end.
func (m *member) run(t *testing.T) func(store.Beat) {
	ctx, stop := context.WithCancel(t.Context())
	beats, ended := make(chan store.Beat), make(chan struct{})
	go func() {
		m.Run(ctx, beats)
		close(ended)
	}()
	t.Cleanup(func() { stop(); <-ended })
	return func(b store.Beat) {
		beats <- b
		synctest.Wait()
	}
}

func message(chat string, id int) channels.Incoming {
	return channels.Incoming{Chat: channels.Chat{Channel: "net", ID: chat}, ID: fmt.Sprint(id)}
}

// of returns the IDs that were received of a chat.
func (m *member) of(chat string) (ids []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.received {
		if r[:1] == chat {
			ids = append(ids, r[2:])
		}
	}
	return ids
}

func TestMessagesOfKeptChatsAreForwarded(t *testing.T) {
	m := newMember(t)
	broken := errors.New("broken")
	m.receive = func(in channels.Incoming) error {
		switch in.Chat.ID {
		case "a":
			return fmt.Errorf("store message: %w", store.ErrKept)
		case "c":
			return broken
		}
		return nil
	}
	musttest.Do(t, m.Receive(t.Context(), message("a", 1)))
	musttest.Do(t, m.Receive(t.Context(), message("b", 2)))
	wanttest.Equal(t, "another error", m.Receive(t.Context(), message("c", 3)), broken)
	wanttest.Equal(t, "received", fmt.Sprint(m.received), "[b:2]")
	wanttest.Equal(t, "forwarded", fmt.Sprint(m.store.sent), "[1]")
	m.store.broken = broken
	wanttest.Equal(t, "the error of the store", m.Receive(t.Context(), message("a", 4)), broken)
}

func TestForwardedMessagesAreReceivedInOrderAndChatsAtTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMember(t)
		beat := m.run(t)
		const each = 90 // more than are read at once
		for n := range 2 * each {
			m.store.waiting = append(m.store.waiting, store.Forwarded{ID: int64(n + 1), In: message([]string{"a", "b"}[n%2], n/2)})
		}
		resume := make(chan struct{})
		m.receive = func(in channels.Incoming) error {
			if in.Chat.ID == "a" {
				<-resume
			}
			if !in.Stored {
				return store.ErrKept
			}
			return nil
		}
		beat(store.Beat{Forwarded: true})
		wanttest.Equal(t, "how many of the slow chat are received", len(m.of("a")), 0)
		if len(m.of("b")) == 0 {
			t.Error("the slow chat delays the other")
		}
		close(resume)
		synctest.Wait()
		for _, chat := range []string{"a", "b"} {
			wanttest.Equal(t, "how many of "+chat, len(m.of(chat)), each)
			for i, id := range m.of(chat) {
				wanttest.Equal(t, "message of "+chat, id, fmt.Sprint(i))
			}
		}
		wanttest.Equal(t, "how many are left", len(m.store.waiting), 0)
	})
}

func TestAChatWhoseMessageIsReceivedSlowlyDelaysNoLaterBeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMember(t)
		beat := m.run(t)
		resume := make(chan struct{})
		m.receive = func(in channels.Incoming) error {
			if in.ID == "1" {
				<-resume
			}
			return nil
		}
		for n, chat := range []string{"a", "b", "a"} {
			m.store.waiting = append(m.store.waiting, store.Forwarded{ID: int64(n + 1), In: message(chat, n+1)})
			beat(store.Beat{Forwarded: true})
		}
		wanttest.Equal(t, "received meanwhile", fmt.Sprint(m.received), "[b:2]")
		close(resume)
		synctest.Wait()
		wanttest.Equal(t, "received", fmt.Sprint(m.received), "[b:2 a:1 a:3]")
	})
}

func TestAForwardedMessageThatCannotBeReceivedWaitsForTheNextBeat(t *testing.T) {
	for name, refused := range map[string]error{"an error": errors.New("broken"), "another keeper": store.ErrKept} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMember(t)
				beat := m.run(t)
				for n, chat := range []string{"a", "b", "a", "b"} {
					m.store.waiting = append(m.store.waiting, store.Forwarded{ID: int64(n + 1), In: message(chat, n)})
				}
				m.receive = func(in channels.Incoming) error {
					if in.ID == "0" { // the messages after it wait, too
						return refused
					}
					return nil
				}
				beat(store.Beat{Forwarded: true})
				wanttest.Equal(t, "received of the other chat", fmt.Sprint(m.of("b")), "[1 3]")
				wanttest.Equal(t, "how many are left", len(m.store.waiting), 2)
				m.receive = func(channels.Incoming) error { return nil }
				m.store.broken = errors.New("broken")
				beat(store.Beat{Forwarded: true}) // it cannot be dropped
				m.store.broken = nil
				beat(store.Beat{Forwarded: true})
				wanttest.Equal(t, "received of the chat", fmt.Sprint(m.of("a")), "[0 0 2]")
				wanttest.Equal(t, "how many are left", len(m.store.waiting), 0)
			})
		})
	}
}

func TestChatsThatAreKeptNoLongerAreReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMember(t)
		beat := m.run(t)
		m.keeps = map[string]bool{"net:a": true}
		beat(store.Beat{Keeps: []string{"net:a", "net:b"}})
		wanttest.Equal(t, "released", fmt.Sprint(m.store.released), "[net:b]")
	})
}
