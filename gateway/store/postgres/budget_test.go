package postgres_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.uber.org/zap/zaptest"
	"golang.org/x/sync/errgroup"

	"nanobot/channels"
	"nanobot/gateway/beat"
	"nanobot/gateway/store"
	"nanobot/gateway/store/postgres"
	"nanobot/internal/musttest"
	"nanobot/internal/postgrestest"
	"nanobot/internal/wanttest"
)

func TestAChangeIsOneRoundTrip(t *testing.T) {
	proxy := postgrestest.NewProxy(t)
	s := openMember(t, postgres.Options{URL: proxy.URL()})
	receive(t, "it listens", s.Hints())
	musttest.Do(t, s.Remember(ctx, chat, "k", "v")) // prepares the statement
	_ = musttest.Get(s.Recall(ctx, chat, "k"))(t)   // likewise
	<-time.After(1100 * time.Millisecond)           // the driver would check a connection that was unused for a second
	proxy.Counts()
	const calls = 20
	for n := range calls {
		musttest.Do(t, s.Remember(ctx, chat, "k", fmt.Sprint(n)))
	}
	requests, _ := proxy.Counts()
	wanttest.Equal(t, "round trips of changes", requests, calls)
	for range calls {
		_ = musttest.Get(s.Recall(ctx, chat, "k"))(t)
	}
	requests, _ = proxy.Counts()
	wanttest.Equal(t, "round trips of reads", requests, calls)
}

func TestAnIdleMemberOnlyBeats(t *testing.T) {
	proxy := postgrestest.NewProxy(t)
	s := &frequent{Store: openMember(t, postgres.Options{URL: proxy.URL()})}
	receive(t, "it listens", s.Hints())
	getBeat(t, s.Store, true)
	proxy.Counts()
	running, stop := context.WithCancel(ctx)
	defer stop()
	beats := beat.NewListener()
	var group errgroup.Group
	group.Go(func() error { return beat.Run(running, s, func() bool { return true }, zaptest.NewLogger(t), beats) })
	const count = 5
	for range count {
		receive(t, "it beats", beats)
	}
	stop()
	musttest.Do(t, group.Wait())
	requests, connections := proxy.Counts()
	if requests > s.beats || requests < count {
		t.Errorf("%d statements of %d beats", requests, s.beats)
	}
	if connections > 4 {
		t.Errorf("%d connections", connections)
	}
	wanttest.Equal(t, "the time until the next beat", s.next, ttl/4)
}

// frequent is a member that counts its beats, and makes the next one sooner than it should.
type frequent struct {
	*postgres.Store
	beats int
	next  time.Duration // when it should make it
}

func (f *frequent) Beat(ctx context.Context, lead bool) (store.Beat, error) {
	f.beats++
	b, err := f.Store.Beat(ctx, lead)
	if err == nil {
		f.next, b.Next = b.Next, 200*time.Millisecond
	}
	return b, err
}

func TestABusyMemberHasFewConnections(t *testing.T) {
	proxy := postgrestest.NewProxy(t)
	s := openMember(t, postgres.Options{URL: proxy.URL()})
	execSQL(t, countFunction)
	var group errgroup.Group
	for w := range 48 {
		group.Go(func() error {
			for range 5 {
				var n int
				if err := s.Call(ctx, "count_call", fmt.Sprint("net:", w), false, &n); err != nil {
					return err
				}
				if _, err := s.Recall(ctx, channels.Chat{Channel: "net", ID: fmt.Sprint(w)}, "count"); err != nil {
					return err
				}
				if w == 0 {
					if _, err := s.Beat(ctx, true); err != nil {
						return err
					}
				}
			}
			return nil
		})
	}
	musttest.Do(t, group.Wait())
	if _, connections := proxy.Counts(); connections > 16 || connections < 10 {
		t.Errorf("%d connections", connections)
	}
}
