package telegram_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nanobot/channels"
	"nanobot/channels/channelstest"
)

// brokenMemory is a memory whose parts cannot be read while broken is set.
type brokenMemory struct {
	*channelstest.Memory
	broken *atomic.Bool
}

func (m brokenMemory) Parts(ctx context.Context) ([]channels.Incoming, error) {
	if m.broken.Load() {
		return nil, errors.New("the store cannot be read")
	}
	return m.Memory.Parts(ctx)
}

func TestHealthReportsThatTheStoreFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch, memory := newFakeTimeChannel(t, backlogResponses([]string{albumPartUpdate(1, 7, ""), albumPartUpdate(2, 8, "")}))
		var unreadable, unwritable atomic.Bool
		unreadable.Store(true)
		unwritable.Store(true)
		ch.SetMemory(brokenMemory{memory, &unreadable})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			done <- ch.Run(ctx, memory.WrapReceive(func(_ context.Context, in channels.Incoming) error {
				if unwritable.Load() && in.Chat == chatOf("7") { // polls and other chats go on
					return errors.New("the disk is full")
				}
				return nil
			}))
		}()
		check := func(after time.Duration, want string) {
			t.Helper()
			time.Sleep(after)
			synctest.Wait()
			if err := ch.Health(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("it says %v and should say %q", err, want)
			}
		}
		check(40*time.Second, "")
		check(40*time.Second, "the store cannot be read")
		unreadable.Store(false)
		check(4*time.Minute, "the disk is full")
		unwritable.Store(false)
		check(2*time.Minute, "")
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
