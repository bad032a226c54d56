package gateway_test

import (
	"context"
	"strings"
	"testing"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// slowHistory is a store whose History is slow, as long as somebody waits for
// that.
type slowHistory struct {
	store.Store
	reading, goOn chan struct{}
}

func (s *slowHistory) History(ctx context.Context, c channels.Chat, n int, before int64) ([]store.Entry, error) {
	close(s.reading)
	select {
	case <-s.goOn:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return s.Store.History(ctx, c, n, before)
}

func TestStopWhileTheHistoryIsReadIsNoFailure(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, "exec sleep 300")
	fx.agent.PassHistory = 1
	slow := &slowHistory{reading: make(chan struct{}), goOn: make(chan struct{})}
	fx.wrapStore = func(s store.Store) store.Store {
		slow.Store = s
		return slow
	}
	fx.start()
	fx.net.UserWrites("1", "u", "work")
	<-slow.reading
	fx.net.UserWrites("1", "u", "/stop")
	fx.net.UserWrites("2", "u", "/whoami") // when this is answered, the other has been obeyed
	fx.awaitText("2", "user id")
	close(slow.goOn)
	fx.awaitText("1", "Stopped.")
	for _, c := range fx.net.Sent("1") {
		if strings.Contains(c.Text, "Sorry") {
			t.Errorf("the chat is told %q", c.Text)
		}
	}
}
