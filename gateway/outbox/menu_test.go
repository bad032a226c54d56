package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/outbox"
	"nanobot/internal/wanttest"
)

func TestAMenuIsTriedUntilABusyNetworkShowsItOrRefusesItOrANewerOneIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		box, _ := newReacting()
		defer runOutbox(t, box)()
		var mu sync.Mutex
		var shown []string
		check := func(want string) {
			t.Helper()
			mu.Lock()
			defer mu.Unlock()
			wanttest.Equal(t, "shown are", fmt.Sprint(shown), want)
		}
		until := time.Now().Add(20 * time.Minute)
		set := func(name string) func(context.Context) error {
			return func(ctx context.Context) error {
				if time.Now().Before(until) { // it gives way to other calls
					<-ctx.Done()
					return &channels.SendError{Err: ctx.Err(), After: time.Second}
				}
				mu.Lock()
				defer mu.Unlock()
				shown = append(shown, name)
				return nil
			}
		}
		box.ShowMenu(ann, set("old"))
		time.Sleep(5 * time.Minute)
		box.ShowMenu(ann, set("new"))
		var tries atomic.Int32
		box.ShowMenu(bob, func(context.Context) error {
			tries.Add(1)
			return &channels.SendError{Err: errors.New("chat not found"), Permanent: true}
		})
		time.Sleep(14 * time.Minute)
		check("[]")
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		check("[new]")
		wanttest.Equal(t, "tries of a refused menu", tries.Load(), 1)
	})
}

// forum is a channel on which all chats are topics of ann's.
type forum struct{ fakeChannel }

func (*forum) LocateChat(id string) (parent, topic string, group bool) { return ann.ID, id, true }

func TestTheTopicsOfAGroupHaveOneMenu(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		box := outbox.New(outbox.Options{Channels: map[string]channels.Channel{"net": &forum{}}, Log: zap.NewNop()})
		defer runOutbox(t, box)()
		var mu sync.Mutex
		shown, busy := "", true
		set := func(name string) func(context.Context) error {
			return func(context.Context) error {
				mu.Lock()
				defer mu.Unlock()
				if busy {
					busy = false
					return &channels.SendError{Err: errors.New("busy"), After: time.Minute}
				}
				shown += name
				return nil
			}
		}
		box.ShowMenu(ann, set("older"))
		synctest.Wait()
		box.ShowMenu(bob, set("newer"))
		time.Sleep(time.Hour)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		wanttest.Equal(t, "shown is", shown, "newer")
	})
}
