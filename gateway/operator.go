package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"nanobot/channels"
	"nanobot/gateway/audit"
	"nanobot/gateway/events"
	"nanobot/gateway/store"
	"nanobot/gateway/turn"
)

// ErrNotNow says that the state of a turn does not allow the operation.
var ErrNotNow = errors.New("the state of the turn does not allow that")

// Stop ends a running turn, or drops a waiting one.
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
			g.o.Events.Report(events.Event{Type: events.Dropped, Chat: i.In.Chat, Inbound: inbound, Reason: events.Cancelled})
			return nil
		}
	}
	g.lanes.AwaitClaim() // the message may have been claimed since it was read
	for _, t := range g.lanes.RunningTurns() {
		if t.Inbound().ID == inbound && !t.AgentEnded() {
			if err := g.o.Store.MarkStopped(ctx, i.In.Chat, inbound); err != nil {
				return fmt.Errorf("stop turn %d: %w", inbound, err)
			}
			t.Cancel(turn.ErrStopped)
			return nil
		}
	}
	return g.stopElsewhere(ctx, inbound)
}

// stopElsewhere ends a turn that another member runs, which learns that from its next beat.
func (g *Gateway) stopElsewhere(ctx context.Context, inbound int64) error {
	i, _, err := g.o.Store.Inbound(ctx, inbound)
	if err == nil && !g.RunsElsewhere(i) {
		err = ErrNotNow
	}
	if err == nil {
		err = g.o.Store.MarkStopped(ctx, i.In.Chat, inbound)
	}
	if err != nil {
		return fmt.Errorf("stop turn %d: %w", inbound, err)
	}
	return nil
}

// Recording opens the last recording of a turn, if this member has one. Otherwise the error is
// fs.ErrNotExist.
func (g *Gateway) Recording(inbound store.Inbound) (*os.File, error) {
	r := g.currentSettings().Recordings
	if r == nil {
		return nil, fs.ErrNotExist
	}
	return r.Open(inbound, turn.RunName(inbound))
}

// RunsElsewhere reports whether another member runs the turn of a message, and has its trace until
// the turn ends.
func (g *Gateway) RunsElsewhere(inbound store.Inbound) bool {
	return inbound.State == store.Running && inbound.Owner != g.o.Store.Member()
}

// Retry runs an ended turn again.
func (g *Gateway) Retry(ctx context.Context, inbound int64) error {
	i, found, err := g.o.Store.Inbound(ctx, inbound)
	if err != nil {
		return fmt.Errorf("retry turn %d: %w", inbound, err)
	}
	if !found || i.Ended.IsZero() || i.Started.IsZero() {
		return fmt.Errorf("retry turn %d: %w", inbound, ErrNotNow)
	}
	ok, err := g.access.AdmitsMessage(ctx, i.In)
	if err != nil {
		return fmt.Errorf("retry turn %d: %w", inbound, err)
	}
	if !ok {
		return fmt.Errorf("retry turn %d: %w: the sender no longer has access", inbound, ErrNotNow)
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
	g.o.Events.Report(events.Event{Type: events.Queued, Chat: i.In.Chat, Inbound: inbound})
	g.lanes.Wake()
	return nil
}

// Trace returns the trace of a turn, which may be running here.
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

// AgentActivity describes the running turns and the waiting processes of one agent.
type AgentActivity struct {
	Turns int
	PIDs  []int // of their processes; a turn may have none yet
	Warm  int   // processes that wait for a message
	// Restarted is how many persistent agents were started again because there was no room to keep
	// them.
	Restarted int
}

// Activity returns the running turns by agent, for all configured agents.
func (g *Gateway) Activity() map[string]AgentActivity {
	all := map[string]AgentActivity{}
	for name, agent := range g.currentSettings().Agents {
		restarted, _ := agent.Runner.RestartedAgents()
		all[name] = AgentActivity{Warm: agent.Runner.WarmAgents(), Restarted: restarted}
	}
	for _, t := range g.lanes.RunningTurns() {
		if t.AgentEnded() { // its process has ended
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

// auditOperator records an operator's command about a turn.
func (g *Gateway) auditOperator(inbound store.Inbound, command string) {
	r := audit.Record{Event: audit.Command, Decision: "operator", Command: command, Run: inbound.ID}
	g.o.Audit.Record(channels.Incoming{Chat: inbound.In.Chat, ID: inbound.In.ID}, r)
}

// ChannelHealth is the state of a channel.
type ChannelHealth struct {
	OK    bool      `json:"ok"`
	Error string    `json:"error,omitempty"`
	Since time.Time `json:"since"`
}

// Health is the state of the gateway.
type Health struct {
	OK       bool                     `json:"ok"`
	Channels map[string]ChannelHealth `json:"channels"`
	Store    string                   `json:"store,omitempty"` // why the store cannot be used, or ""
	Running  int                      `json:"running"`
	Waiting  int                      `json:"waiting"`
	Oldest   time.Time                `json:"oldest,omitzero"` // when the longest waiting message was received
	Leader   string                   `json:"-"`               // the other member that receives, or ""
}

// FailingChannels returns the names of the channels that do not run, sorted.
func (h Health) FailingChannels() []string {
	var failing []string
	for name, c := range h.Channels {
		if !c.OK {
			failing = append(failing, name)
		}
	}
	slices.Sort(failing)
	return failing
}

// Health checks that every channel runs and that the store can be written to.
func (g *Gateway) Health(ctx context.Context) Health {
	h := Health{Channels: g.channelHealth(), Running: len(g.lanes.RunningTurns())}
	h.OK = len(h.FailingChannels()) == 0
	if err := g.o.Store.CheckWritable(ctx); err != nil {
		h.OK, h.Store = false, err.Error()
	}
	var err error
	if h.Waiting, err = g.o.Store.CountPending(ctx, channels.Chat{}); err == nil {
		h.Oldest, err = g.o.Store.OldestPendingSince(ctx)
	}
	if g.Standby() && err == nil {
		h.OK = false
		h.Leader, err = g.leader(ctx)
	}
	if err != nil {
		h.OK, h.Store = false, err.Error()
	}
	return h
}

// leader returns the name of the member that receives, or "".
func (g *Gateway) leader(ctx context.Context) (string, error) {
	all, err := g.o.Store.ListMembers(ctx)
	if i := slices.IndexFunc(all, func(m store.MemberStatus) bool { return m.Leader }); i >= 0 {
		return all[i].Name, err
	}
	return "", err
}

// setChannelHealth records the state of a channel.
func (g *Gateway) setChannelHealth(name string, err error) {
	h := ChannelHealth{OK: err == nil, Since: time.Now().UTC()}
	if err != nil {
		h.Error = err.Error()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.health[name] = h
}
