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

// Pulse tells a watchdog whether a gateway that runs is alive: its dispatcher turns, its store
// takes a write, and no channel's loop is gone. A channel that is cut off from its network is
// alive: it tries again. So is a store without room: to start anew would make none, and would kill
// agents at work. Pulse is for one goroutine.
type Pulse struct {
	g     *Gateway
	probe chan error // of a write that is under way; nil: none is
}

// Pulse returns a pulse to take.
func (g *Gateway) Pulse() *Pulse { return &Pulse{g: g} }

// Take returns nil for a gateway that is alive, and what is not otherwise. ctx bounds how long it
// may take to answer.
func (p *Pulse) Take(ctx context.Context) error {
	if err := p.g.lost(); err != nil {
		return err
	}
	select {
	case <-p.g.lanes.Heartbeat():
	case <-ctx.Done():
		return errors.New("the dispatcher does not turn")
	}
	if p.probe == nil {
		// A write cannot be called off, so it is left to itself when it takes too long; there is
		// never more than one.
		answer := make(chan error, 1)
		go func() { answer <- p.g.write(context.WithoutCancel(ctx)) }()
		p.probe = answer
	}
	select {
	case err := <-p.probe:
		p.probe = nil
		if err != nil && !errors.Is(err, store.ErrFull) {
			return fmt.Errorf("the store takes no write: %w", err)
		}
		return nil
	case <-ctx.Done():
		return errors.New("the store does not answer")
	}
}

// End waits for a write that may still be under way. The store must not be closed before.
func (p *Pulse) End() {
	if p.probe != nil {
		<-p.probe
	}
}

// write sees whether the store can be written to.
func (g *Gateway) write(ctx context.Context) error {
	return g.o.Store.SetCursor(ctx, probe, time.Now().UTC().Format(time.RFC3339Nano))
}

// lost returns an error if the loop of a channel has ended, which none does before the gateway.
func (g *Gateway) lost() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.gone) > 0 {
		return fmt.Errorf("the loop of channel %s is gone", slices.Sorted(maps.Keys(g.gone))[0])
	}
	return nil
}

// leave notes that the loop of a channel has ended.
func (g *Gateway) leave(ctx context.Context, name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if ctx.Err() == nil {
		g.gone[name] = true
	}
}

// Brief is how the gateway is, as far as it can be told without a write.
type Brief struct {
	Channels         map[string]ChannelHealth
	Running, Waiting int
}

// Brief looks at the channels and counts turns.
func (g *Gateway) Brief(ctx context.Context) (Brief, error) {
	b := Brief{Channels: g.channelsNow(), Running: len(g.lanes.RunningTurns())}
	var err error
	b.Waiting, err = g.o.Store.Waiting(ctx, channels.Chat{})
	return b, err
}

// channelsNow returns how each channel is.
func (g *Gateway) channelsNow() map[string]ChannelHealth {
	g.mu.Lock()
	now := maps.Clone(g.health)
	g.mu.Unlock()
	for name, ch := range g.o.Channels {
		c := now[name]
		if healthy, ok := ch.(channels.Healthy); ok && c.OK {
			if err := healthy.Health(); err != nil {
				c.OK, c.Error = false, err.Error()
			}
		}
		now[name] = c
	}
	return now
}

// Patience is how long Run may take to return once its context has ended.
func (g *Gateway) Patience() time.Duration { return g.set().DrainTimeout + g.o.AbandonAfter }
