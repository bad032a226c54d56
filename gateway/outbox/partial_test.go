package outbox_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/outbox"
	"nanobot/gateway/store"
	"nanobot/gateway/store/sqlite"
)

// A channel that has sent a part of a message continues with the rest, but only in the same
// process.
func TestAMessageOfWhichAPartWasSentIsContinuedByTheSameProcessOnly(t *testing.T) {
	for name, c := range map[string]struct {
		atMostOnce, restart bool
		want                string
		state               store.State
	}{
		"at least once":                  {want: "[album ↻album]"},
		"at most once":                   {atMostOnce: true, want: "[album ↻album]"},
		"at least once, after a restart": {restart: true, want: "[album ↻album]"},
		"at most once, after a restart":  {atMostOnce: true, restart: true, want: "[album]", state: store.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := &fakeChannel{call: func(number int, _ channels.Outgoing) error {
					if number == 1 {
						return &channels.SendError{Err: errors.New("429"), After: time.Minute, Partial: true}
					}
					return nil
				}}
				s := openStore(t)
				start := func() (*outbox.Outbox, func()) {
					box := outbox.New(outbox.Options{
						Store: s, Channels: map[string]channels.Channel{"net": n}, AtMostOnce: func() bool { return c.atMostOnce }, Log: zap.NewNop(),
					})
					return box, runOutbox(t, box)
				}
				box, stop := start()
				postText(t, box, ann, "album")
				synctest.Wait()
				if c.restart {
					stop()
					box, stop = start()
					box.Wake(ann)
				}
				time.Sleep(2 * time.Minute)
				stop()
				if got := n.texts(); got != c.want || stateOfOnly(t, s) != c.state {
					t.Errorf("sent %s, left is %q", got, stateOfOnly(t, s))
				}
			})
		})
	}
}

// stateOfOnly returns the state of the only delivery that was not sent; "": all were.
func stateOfOnly(t *testing.T, s *sqlite.Store) store.State {
	t.Helper()
	left, err := s.Undelivered(t.Context(), ann, 9)
	if err != nil || len(left) > 1 {
		t.Fatalf("left are %+v, %v", left, err)
	}
	if len(left) == 0 {
		return ""
	}
	return left[0].State
}
