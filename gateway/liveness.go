package gateway

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// Liveness tells a watchdog whether a running gateway is alive: its dispatcher loops, its store
// accepts writes, and the loops of all channels run. A channel without a connection is alive, since
// it retries, and so is a full store, since a restart would free no space and would kill running
// agents. Only one goroutine may use it.
type Liveness struct {
	g     *Gateway
	probe chan error // of the write in progress; nil: there is none
}

// Liveness returns a liveness check.
func (g *Gateway) Liveness() *Liveness { return &Liveness{g: g} }

// Check returns nil if the gateway is alive. ctx bounds how long the check may take.
func (p *Liveness) Check(ctx context.Context) error {
	if err := p.g.checkChannelLoops(); err != nil {
		return err
	}
	select {
	case <-p.g.lanes.Heartbeat():
	case <-ctx.Done():
		return errors.New("the dispatcher does not respond")
	}
	if p.probe == nil {
		// A write cannot be cancelled, so it continues when it takes too long; there is never more
		// than one.
		answer := make(chan error, 1)
		go func() { answer <- p.g.o.Store.CheckWritable(context.WithoutCancel(ctx)) }()
		p.probe = answer
	}
	select {
	case err := <-p.probe:
		p.probe = nil
		if err != nil && !errors.Is(err, store.ErrFull) {
			return fmt.Errorf("the store cannot be written to: %w", err)
		}
		return nil
	case <-ctx.Done():
		return errors.New("the store does not respond")
	}
}

// Wait waits for a write that is still in progress. The store must not be closed before.
func (p *Liveness) Wait() {
	if p.probe != nil {
		<-p.probe
	}
}

// checkChannelLoops returns an error if the loop of a channel has ended before the gateway.
func (g *Gateway) checkChannelLoops() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.endedLoops) > 0 {
		return fmt.Errorf("the loop of channel %s has ended", slices.Sorted(maps.Keys(g.endedLoops))[0])
	}
	return nil
}

// markEnded records that the loop of a channel has ended.
func (g *Gateway) markEnded(ctx context.Context, name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if ctx.Err() == nil {
		g.endedLoops[name] = true
	}
}

// Summary is the state of the gateway as far as it is known without a write.
type Summary struct {
	Channels         map[string]ChannelHealth
	Running, Waiting int
}

// Summary returns the state of the channels and the numbers of turns.
func (g *Gateway) Summary(ctx context.Context) (Summary, error) {
	b := Summary{Channels: g.channelHealth(), Running: len(g.lanes.RunningTurns())}
	var err error
	b.Waiting, err = g.o.Store.CountPending(ctx, channels.Chat{})
	return b, err
}

// channelHealth returns the state of each channel.
func (g *Gateway) channelHealth() map[string]ChannelHealth {
	g.mu.Lock()
	now := maps.Clone(g.health)
	g.mu.Unlock()
	for name, ch := range g.o.Channels {
		c := now[name]
		if healthy, ok := ch.(channels.HealthReporter); ok && c.OK {
			if err := healthy.Health(); err != nil {
				c.OK, c.Error = false, err.Error()
			}
		}
		now[name] = c
	}
	return now
}

// ShutdownTimeout is the longest time that Run may take to return after its context has ended.
func (g *Gateway) ShutdownTimeout() time.Duration {
	return g.currentSettings().DrainTimeout + g.o.AbandonAfter
}
