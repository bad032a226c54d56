package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"nanobot/channels"
	"nanobot/gateway/audit"
	"nanobot/gateway/events"
	"nanobot/gateway/store"
	"nanobot/gateway/turn"
)

// ErrNotNow says that a turn is not in a state for what is asked.
var ErrNotNow = errors.New("the turn is not in a state for that")

// Stop ends a turn that runs, or drops one that waits.
func (g *Gateway) Stop(ctx context.Context, inbound int64) error {
	i, found, err := g.o.Store.Inbound(ctx, inbound)
	if err != nil {
		return fmt.Errorf("stop turn %d: %w", inbound, err)
	}
	if found {
		defer g.lanes.Lock(i.In.Chat)()
		g.auditOperator(i, "/stop")
	}
	if found && i.State == store.Pending {
		n, err := g.o.Store.Cancel(ctx, i.In.Chat, inbound)
		if err != nil {
			return fmt.Errorf("stop turn %d: %w", inbound, err)
		}
		if n > 0 {
			g.o.Watch.Report(events.Event{Type: events.Dropped, Chat: i.In.Chat, Inbound: inbound, Reason: events.Cancelled})
			return nil
		}
	}
	g.lanes.AwaitClaim() // it may have begun just now
	for _, t := range g.lanes.RunningTurns() {
		if t.Inbound().ID == inbound && !t.AgentEnded() {
			t.Cancel(turn.ErrStopped)
			return nil
		}
	}
	return fmt.Errorf("stop turn %d: %w", inbound, ErrNotNow)
}

// Retry runs a turn again that has ended.
func (g *Gateway) Retry(ctx context.Context, inbound int64) error {
	i, found, err := g.o.Store.Inbound(ctx, inbound)
	if err != nil {
		return fmt.Errorf("retry turn %d: %w", inbound, err)
	}
	if !found || i.Ended.IsZero() || i.Started.IsZero() {
		return fmt.Errorf("retry turn %d: %w", inbound, ErrNotNow)
	}
	ok, err := g.intake.Admits(ctx, i.In.Chat.Channel, i.In.User.ID)
	if err != nil {
		return fmt.Errorf("retry turn %d: %w", inbound, err)
	}
	if !ok {
		return fmt.Errorf("retry turn %d: %w: its sender has no access any more", inbound, ErrNotNow)
	}
	defer g.lanes.Lock(i.In.Chat)()
	err = g.o.Store.Restart(ctx, inbound)
	if errors.Is(err, store.ErrState) {
		return fmt.Errorf("retry turn %d: %w", inbound, ErrNotNow)
	}
	if err != nil {
		return fmt.Errorf("retry turn %d: %w", inbound, err)
	}
	g.auditOperator(i, "/retry")
	g.o.Watch.Report(events.Event{Type: events.Queued, Chat: i.In.Chat, Inbound: inbound})
	g.lanes.Wake()
	return nil
}

// Trace returns what was seen of a turn, also while it runs.
func (g *Gateway) Trace(ctx context.Context, inbound int64) (events.Trace, error) {
	for _, t := range g.lanes.RunningTurns() {
		if t.Inbound().ID == inbound {
			return t.Trace(), nil
		}
	}
	var trace events.Trace
	text, err := g.o.Store.Trace(ctx, inbound)
	if err == nil && text != "" {
		err = json.Unmarshal([]byte(text), &trace)
	}
	if err != nil {
		return events.Trace{}, fmt.Errorf("read trace of turn %d: %w", inbound, err)
	}
	return trace, nil
}

// Working are the turns of one agent that run.
type Working struct {
	Turns int
	PIDs  []int // of their processes; a turn may have none yet
}

// Working returns what runs by agent. All agents that are configured are in it.
func (g *Gateway) Working() map[string]Working {
	all := map[string]Working{}
	for name := range g.set().Agents {
		all[name] = Working{}
	}
	for _, t := range g.lanes.RunningTurns() {
		if t.AgentEnded() { // its process is gone
			continue
		}
		w := all[t.Agent()]
		w.Turns++
		if pid := t.PID(); pid > 0 {
			w.PIDs = append(w.PIDs, pid)
		}
		all[t.Agent()] = w
	}
	return all
}

// auditOperator writes down what an operator does to a turn.
func (g *Gateway) auditOperator(inbound store.Inbound, command string) {
	r := audit.Record{Event: audit.Command, Decision: "operator", Command: command, Run: inbound.ID}
	g.o.Audit.Record(channels.Incoming{Chat: inbound.In.Chat, ID: inbound.In.ID}, r)
}

// ChannelHealth is how a channel is.
type ChannelHealth struct {
	OK    bool      `json:"ok"`
	Error string    `json:"error,omitempty"`
	Since time.Time `json:"since"`
}

// Health is how the gateway is.
type Health struct {
	OK       bool                     `json:"ok"`
	Channels map[string]ChannelHealth `json:"channels"`
	Store    string                   `json:"store,omitempty"` // why it cannot be written to; "" when it can
	Running  int                      `json:"running"`
	Waiting  int                      `json:"waiting"`
	Oldest   time.Time                `json:"oldest,omitzero"` // when the one came in that waits longest
}

// probe is the name under which the store is written to, to see whether it can be. It is no
// channel.
const probe = "health check"

// Health looks whether all is well: every channel runs, and the store takes what is written to it.
func (g *Gateway) Health(ctx context.Context) Health {
	h := Health{OK: true, Channels: g.channelsNow(), Running: len(g.lanes.RunningTurns())}
	for _, c := range h.Channels {
		h.OK = h.OK && c.OK
	}
	if err := g.write(ctx); err != nil {
		h.OK, h.Store = false, err.Error()
	}
	var err error
	if h.Waiting, err = g.o.Store.Waiting(ctx, channels.Chat{}); err == nil {
		h.Oldest, err = g.o.Store.Oldest(ctx)
	}
	if err != nil {
		h.OK, h.Store = false, err.Error()
	}
	return h
}

// channelIs notes how a channel is.
func (g *Gateway) channelIs(name string, err error) {
	h := ChannelHealth{OK: err == nil, Since: time.Now().UTC()}
	if err != nil {
		h.Error = err.Error()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.health[name] = h
}
