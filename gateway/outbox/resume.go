package outbox

import (
	"context"
	"maps"
	"sync"
	"time"

	"go.uber.org/zap"

	"nanobot/gateway/retry"
)

// concurrentChats and maxResting bound the chats of a channel's backlog that are served and that
// wait at the same time, so that a large backlog costs no memory. sweepInterval is how often the
// other chats are looked up.
const concurrentChats, maxResting, sweepInterval = 256, 1024, 10 * time.Second

// channelLoad counts the chats of a channel. Each channel has its own bounds, so that a slow one
// delays no other.
type channelLoad struct {
	served   int  // chats with a goroutine, or about to have one
	resting  int  // those of them that wait for the time of their next delivery
	deferred bool // too many were waiting, so some deliveries are only on disk
}

// load returns the load of a channel. The caller holds mu.
func (box *Outbox) load(channel string) *channelLoad {
	if box.loads[channel] == nil {
		box.loads[channel] = &channelLoad{}
	}
	return box.loads[channel]
}

// nothingSent reports whether all chats wait for the time of a delivery. The caller holds mu.
func (box *Outbox) nothingSent() bool {
	for _, l := range box.loads {
		if l.served != l.resting {
			return false
		}
	}
	return true
}

// rest waits for the time of a delivery, or until newer receives. It reports false when ctx ends,
// or when so many chats of the channel wait that this one is left on disk until there are fewer.
func (box *Outbox) rest(ctx context.Context, channel string, wait time.Duration, newer <-chan struct{}) bool {
	box.mu.Lock()
	l := box.load(channel)
	if l.resting >= maxResting {
		l.deferred = true
		box.changed.Broadcast()
		box.mu.Unlock()
		return false
	}
	l.resting++
	box.changed.Broadcast()
	box.mu.Unlock()
	defer func() {
		box.mu.Lock()
		defer box.mu.Unlock()
		l.resting--
		box.changed.Broadcast()
	}()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-newer:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// Resume serves the chats with messages of an earlier run, and the chats that rest has left on
// disk. It returns when ctx ends.
func (box *Outbox) Resume(ctx context.Context) error {
	names := maps.Clone(box.o.Channels)
	err := retry.Until(ctx, func() error {
		for after := ""; ; {
			next, err := box.o.Store.ChatsToSend(ctx, after, 1)
			if err != nil || len(next) == 0 {
				return err
			}
			names[next[0].Channel] = nil  // it may no longer be enabled
			after = next[0].Channel + ";" // behind the keys of all its chats
		}
	}, func(err error) { box.o.Log.Error("cannot read the outbox, will retry", zap.Error(err)) })
	if err != nil {
		return nil //nolint:nilerr // ctx has ended
	}
	var resuming sync.WaitGroup
	for name := range names {
		resuming.Go(func() { box.resumeChannel(ctx, name) })
	}
	resuming.Wait()
	return nil
}

// resumeChannel is Resume for the chats of one channel.
func (box *Outbox) resumeChannel(ctx context.Context, channel string) {
	for {
		if err := box.sweep(ctx, channel); err != nil {
			box.o.Log.Error("cannot read the outbox, will retry", zap.String("channel", channel), zap.Error(err))
		} else {
			box.await(ctx, func() bool { return box.load(channel).deferred })
		}
		if !retry.Sleep(ctx, sweepInterval) {
			return
		}
		box.mu.Lock()
		box.load(channel).deferred = false
		box.mu.Unlock()
	}
}

// sweep serves all chats of a channel with pending deliveries, a limited number at a time.
func (box *Outbox) sweep(ctx context.Context, channel string) error {
	for after := channel + ":"; ; {
		chats, err := box.o.Store.ChatsToSend(ctx, after, concurrentChats)
		if ctx.Err() != nil || err == nil && len(chats) == 0 {
			return nil //nolint:nilerr // the outbox ends
		}
		if err != nil {
			return err
		}
		for _, chat := range chats {
			if chat.Channel != channel {
				return nil
			}
			box.Wake(chat)
			after = chat.String()
			box.await(ctx, func() bool {
				l := box.load(channel)
				return l.served-l.resting < concurrentChats
			})
		}
	}
}
