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
	adopted  bool // deliveries of other members may be pending
}

// channelLoads are the loads of the channels. Outbox.mu guards them.
type channelLoads map[string]*channelLoad

func (all channelLoads) of(channel string) *channelLoad {
	if all[channel] == nil {
		all[channel] = &channelLoad{}
	}
	return all[channel]
}

// nothingSent reports whether all chats wait for the time of a delivery.
func (all channelLoads) nothingSent() bool {
	for _, l := range all {
		if l.served != l.resting {
			return false
		}
	}
	return true
}

// backlog is what waits to be sent on one channel.
type backlog struct {
	box     *Outbox
	channel string
}

// rest waits for the time of a delivery, or until newer receives. It reports false when ctx ends,
// or when so many chats of the channel wait that this one is left on disk until there are fewer.
func (b backlog) rest(ctx context.Context, wait time.Duration, newer <-chan struct{}) bool {
	box := b.box
	box.mu.Lock()
	l := box.loads.of(b.channel)
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

// Sweep has Resume serve the chats with messages of members that are gone.
func (box *Outbox) Sweep() {
	box.mu.Lock()
	defer box.mu.Unlock()
	for name := range box.o.Channels {
		box.loads.of(name).adopted = true
	}
	box.changed.Broadcast()
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
		resuming.Go(func() { backlog{box, name}.resume(ctx) })
	}
	resuming.Wait()
	return nil
}

// resume is Outbox.Resume for the chats of one channel.
func (b backlog) resume(ctx context.Context) {
	for {
		if err := b.sweep(ctx); err != nil {
			b.box.o.Log.Error("cannot read the outbox, will retry", zap.String("channel", b.channel), zap.Error(err))
		} else {
			b.box.await(ctx, func() bool { l := b.box.loads.of(b.channel); return l.deferred || l.adopted })
		}
		if !b.isAdopted() && !retry.Sleep(ctx, sweepInterval) || ctx.Err() != nil {
			return
		}
		b.box.mu.Lock()
		l := b.box.loads.of(b.channel)
		l.deferred, l.adopted = false, false
		b.box.mu.Unlock()
	}
}

func (b backlog) isAdopted() bool {
	b.box.mu.Lock()
	defer b.box.mu.Unlock()
	return b.box.loads.of(b.channel).adopted
}

// sweep serves all chats of the channel with pending deliveries, a limited number at a time.
func (b backlog) sweep(ctx context.Context) error {
	box := b.box
	for after := b.channel + ":"; ; {
		chats, err := box.o.Store.ChatsToSend(ctx, after, concurrentChats)
		if ctx.Err() != nil || err == nil && len(chats) == 0 {
			return nil //nolint:nilerr // the outbox ends
		}
		if err != nil {
			return err
		}
		for _, chat := range chats {
			if chat.Channel != b.channel {
				return nil
			}
			box.Wake(chat)
			after = chat.String()
			box.await(ctx, func() bool {
				l := box.loads.of(b.channel)
				return l.served-l.resting < concurrentChats
			})
		}
	}
}
