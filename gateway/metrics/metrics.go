// Package metrics counts what a gateway does, for Prometheus.
package metrics

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"nanobot/gateway"
	"nanobot/gateway/events"
)

// Metrics counts. Its Watch is for the gateway's options.
type Metrics struct {
	mu    sync.Mutex
	turns map[pair]int
	sends map[pair]int
	drops map[pair]int
	took  histogram
}

// pair is a channel, and what something in it came to.
type pair struct{ channel, result string }

// New returns metrics of a gateway that is yet to be made.
func New() *Metrics {
	return &Metrics{turns: map[pair]int{}, sends: map[pair]int{}, drops: map[pair]int{}}
}

// Watch counts an event.
func (m *Metrics) Watch(e events.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch e.What {
	case events.Ended:
		m.turns[pair{e.Chat.Channel, e.Status}]++
		m.took.add(e.Took.Seconds())
	case events.Sent, events.Retrying, events.Failed, events.Unknown:
		m.sends[pair{e.Chat.Channel, string(e.What)}]++
	case events.Dropped:
		m.drops[pair{e.Chat.Channel, e.Reason}]++
	case events.Queued, events.Started, events.Said:
	}
}

// Handler serves the metrics, with those that are looked up in the gateway when they are asked for.
func (m *Metrics) Handler(g *gateway.Gateway) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var p page
		m.counted(&p)
		state(r.Context(), g, &p)
		process(&p)
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = w.Write(p.Bytes()) // whoever asked is gone
	})
}

func (m *Metrics) counted(p *page) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p.family("nanobot_turns_total", "counter", "Turns that have ended, by channel and outcome.")
	p.pairs("nanobot_turns_total", "outcome", m.turns)
	p.family("nanobot_sends_total", "counter", "Tries to send a message, by channel and result: sent, retrying, failed or unknown.")
	p.pairs("nanobot_sends_total", "result", m.sends)
	p.family("nanobot_dropped_total", "counter", "Messages that got no turn, by channel and reason: queue_full, rate_limited, busy, not_admitted or cancelled.")
	p.pairs("nanobot_dropped_total", "reason", m.drops)
	m.took.write(p, "nanobot_turn_seconds", "How long turns took.")
}

func (p *page) pairs(name, label string, counts map[pair]int) {
	for _, c := range slices.SortedFunc(maps.Keys(counts), func(a, b pair) int { return strings.Compare(a.channel+"\x00"+a.result, b.channel+"\x00"+b.result) }) {
		p.sample(name, float64(counts[c]), "channel", c.channel, label, c.result)
	}
}

// state is what is true at the moment.
func state(ctx context.Context, g *gateway.Gateway, p *page) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	h := g.Health(ctx)
	waited := 0.0
	if !h.Oldest.IsZero() {
		waited = max(0, time.Since(h.Oldest).Seconds())
	}
	p.gauge("nanobot_turns_running", "Turns at work.", float64(h.Running))
	p.gauge("nanobot_inbox_waiting", "Messages that wait for a turn.", float64(h.Waiting))
	p.gauge("nanobot_inbox_age_seconds", "How long the oldest of them has waited.", waited)
	p.gauge("nanobot_store_up", "Whether the state can be written to.", one(h.Store == ""))
	p.family("nanobot_channel_up", "gauge", "Whether a channel runs.")
	for _, name := range slices.Sorted(maps.Keys(h.Channels)) {
		p.sample("nanobot_channel_up", one(h.Channels[name].OK), "channel", name)
	}
	p.gauge("nanobot_agents_resident_bytes", "Memory of the agents at work, with their children.", float64(resident(g.Agents())))
}

func one(ok bool) float64 {
	if ok {
		return 1
	}
	return 0
}
