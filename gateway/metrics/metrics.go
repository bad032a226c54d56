// Package metrics counts the events of a gateway and serves them in the format of Prometheus. It
// does not decide who may read them.
package metrics

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"nanobot/channels"
	"nanobot/gateway"
	"nanobot/gateway/events"
	"nanobot/gateway/store"
	"nanobot/internal/procfs"
)

// Metrics counts events. Its Observe is for the gateway's options.
type Metrics struct {
	mu    sync.Mutex
	turns map[result]int
	sends map[result]int
	drops map[result]int
	// occurrences counts by schedule and outcome, automatic the turns whose message nobody has
	// typed by kind of origin and outcome, and calls those of hooks by hook and status. Names that
	// people choose in chats are no labels.
	occurrences, automatic, calls map[[2]string]int
	took                          map[string]*histogram   // by agent
	used                          map[string]*events.Used // by agent
}

// result is a channel and the result of a turn or a delivery in it. Turns also have an agent.
type result struct{ channel, result, agent string }

// New returns empty metrics, before the gateway exists.
func New() *Metrics {
	return &Metrics{
		turns: map[result]int{}, sends: map[result]int{}, drops: map[result]int{},
		occurrences: map[[2]string]int{},
		automatic:   map[[2]string]int{}, calls: map[[2]string]int{},
		took: map[string]*histogram{store.DefaultAgent: {}}, // the default agent always exists
		used: map[string]*events.Used{store.DefaultAgent: {}},
	}
}

// Observe counts an event.
func (m *Metrics) Observe(e events.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch e.Type {
	case events.Ended:
		m.turns[result{e.Chat.Channel, e.Status, e.Agent}]++
		if e.Origin != channels.Person {
			m.automatic[[2]string{e.Origin.Kind(), e.Status}]++
		}
		if m.took[e.Agent] == nil {
			m.took[e.Agent] = &histogram{}
		}
		m.took[e.Agent].add(e.Took.Seconds())
		m.countUsage(e.Agent, e.Used)
	case events.Sent, events.Retrying, events.Failed, events.Unknown:
		m.sends[result{channel: e.Chat.Channel, result: string(e.Type)}]++
	case events.Dropped:
		m.drops[result{channel: e.Chat.Channel, result: e.Reason}]++
	case events.Occurred:
		m.occurrences[[2]string{e.Schedule, e.Status}]++
	case events.Queued, events.Started, events.Output:
	}
}

// countUsage adds the usage of a turn. The caller holds mu.
func (m *Metrics) countUsage(agent string, u events.Used) {
	sum := m.used[agent]
	if sum == nil {
		sum = &events.Used{}
		m.used[agent] = sum
	}
	sum.Turns += u.Turns
	sum.Seconds += u.Seconds
	sum.InputTokens += u.InputTokens
	sum.OutputTokens += u.OutputTokens
	sum.Cost += u.Cost
}

// CountCall counts the call of a hook.
func (m *Metrics) CountCall(hook, status string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls[[2]string{hook, status}]++
}

// Handler serves the counters, and gauges that are read from the gateway for each request.
func (m *Metrics) Handler(g *gateway.Gateway) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var p page
		m.writeCounters(&p)
		writeGauges(r.Context(), g, &p)
		writeProcess(&p)
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = w.Write(p.Bytes()) // the client may have disconnected
	})
}

func (m *Metrics) writeCounters(p *page) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p.family("nanobot_turns_total", "counter", "Turns that have ended, by channel, outcome and agent.")
	p.writeResults("nanobot_turns_total", "outcome", m.turns)
	p.family("nanobot_automatic_turns_total", "counter",
		"Ended turns whose message nobody has typed, by kind of origin (ask, agent, hook or schedule) and outcome.")
	p.writePairs("nanobot_automatic_turns_total", "origin", "outcome", m.automatic)
	p.family("nanobot_sends_total", "counter",
		"Attempts to send a message, by channel and result: sent, retrying, failed or unknown.")
	p.writeResults("nanobot_sends_total", "result", m.sends)
	p.family("nanobot_dropped_total", "counter",
		"Messages that got no turn, by channel and reason: queue_full, rate_limited, busy, not_admitted, cancelled or read.")
	p.writeResults("nanobot_dropped_total", "reason", m.drops)
	p.family("nanobot_schedule_occurrences_total", "counter",
		"Occurrences of schedules by outcome: ran, caught-up or skipped. Those made in chats count as chat.")
	p.writePairs("nanobot_schedule_occurrences_total", "schedule", "outcome", m.occurrences)
	p.family("nanobot_hook_calls_total", "counter",
		"Calls of hooks, by hook and status: that of HTTP, or silent if the template made no text.")
	p.writePairs("nanobot_hook_calls_total", "hook", "status", m.calls)
	p.family("nanobot_turn_seconds", "histogram", "How long turns took, by agent.")
	for _, agent := range slices.Sorted(maps.Keys(m.took)) {
		m.took[agent].write(p, "nanobot_turn_seconds", "agent", agent)
	}
	for _, c := range []struct {
		name, help string
		of         func(*events.Used) float64
	}{
		{"turns", "Turns that count as usage: the agent was started", func(u *events.Used) float64 { return u.Turns }},
		{"seconds", "Time that turns took without waiting for people", func(u *events.Used) float64 { return u.Seconds }},
		{"input_tokens", "Tokens that agents say they have read", func(u *events.Used) float64 { return u.InputTokens }},
		{"output_tokens", "Tokens that agents say they have written", func(u *events.Used) float64 { return u.OutputTokens }},
		{"cost_dollars", "US dollars that agents say they have cost", func(u *events.Used) float64 { return u.Cost }},
	} {
		name := "nanobot_usage_" + c.name + "_total"
		p.family(name, "counter", c.help+", by agent.")
		for _, agent := range slices.Sorted(maps.Keys(m.used)) {
			p.sample(name, c.of(m.used[agent]), "agent", agent)
		}
	}
}

func (p *page) writeResults(name, label string, counts map[result]int) {
	order := func(a, b result) int {
		return cmp.Or(strings.Compare(a.channel, b.channel), strings.Compare(a.result, b.result),
			strings.Compare(a.agent, b.agent))
	}
	for _, c := range slices.SortedFunc(maps.Keys(counts), order) {
		labels := []string{"channel", c.channel, label, c.result}
		if c.agent != "" {
			labels = append(labels, "agent", c.agent)
		}
		p.sample(name, float64(counts[c]), labels...)
	}
}

func (p *page) writePairs(name, label, other string, counts map[[2]string]int) {
	order := func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }
	for _, c := range slices.SortedFunc(maps.Keys(counts), order) {
		p.sample(name, float64(counts[c]), label, c[0], other, c[1])
	}
}

// Restarted is the name of a metric that `nanobot doctor` reads.
const Restarted = "nanobot_agents_restarted_total"

// writeGauges writes the current state of the gateway.
func writeGauges(ctx context.Context, g *gateway.Gateway, p *page) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	h := g.Health(ctx)
	waited := 0.0
	if !h.Oldest.IsZero() {
		waited = max(0, time.Since(h.Oldest).Seconds())
	}
	working := g.Activity()
	agents := slices.Sorted(maps.Keys(working))
	p.family("nanobot_turns_running", "gauge", "Running turns, by agent.")
	for _, agent := range agents {
		p.sample("nanobot_turns_running", float64(working[agent].Turns), "agent", agent)
	}
	p.family("nanobot_agents_warm", "gauge", "Processes that were started before their message and wait for it, by agent.")
	for _, agent := range agents {
		p.sample("nanobot_agents_warm", float64(working[agent].Warm), "agent", agent)
	}
	p.family(Restarted, "counter",
		"Persistent agents that were started again because there was no room to keep them, by agent, since the last reload.")
	for _, agent := range agents {
		p.sample(Restarted, float64(working[agent].Restarted), "agent", agent)
	}
	p.gauge("nanobot_inbox_waiting", "Messages that wait for a turn.", float64(h.Waiting))
	p.gauge("nanobot_inbox_age_seconds", "Age of the oldest waiting message.", waited)
	p.gauge("nanobot_store_up", "1 if the state can be written to.", boolValue(h.Store == ""))
	p.family("nanobot_channel_up", "gauge", "1 if the channel runs.")
	for _, name := range slices.Sorted(maps.Keys(h.Channels)) {
		p.sample("nanobot_channel_up", boolValue(h.Channels[name].OK), "channel", name)
	}
	p.family("nanobot_agents_resident_bytes", "gauge",
		"Memory of the agents that run, with their children, without shared pages, by agent.")
	for _, agent := range agents {
		resident := int64(0)
		for _, pid := range working[agent].PIDs {
			resident += procfs.TreeMemory(pid)
		}
		p.sample("nanobot_agents_resident_bytes", float64(resident), "agent", agent)
	}
}

func boolValue(ok bool) float64 {
	if ok {
		return 1
	}
	return 0
}
