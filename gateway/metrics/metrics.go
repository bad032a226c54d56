// Package metrics counts what a gateway does, for Prometheus.
package metrics

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"nanobot/gateway"
)

// Metrics counts. Its Watch is for the gateway's options.
type Metrics struct {
	registry *prometheus.Registry
	turns    *prometheus.CounterVec
	took     prometheus.Histogram
	sends    *prometheus.CounterVec
}

// New returns metrics of a gateway that is yet to be made.
func New() *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		turns: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "nanobot_turns_total", Help: "Turns that have ended, by channel and outcome.",
		}, []string{"channel", "outcome"}),
		took: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "nanobot_turn_seconds", Help: "How long turns took.", Buckets: []float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 3600},
		}),
		sends: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "nanobot_sends_total", Help: "Tries to send a message, by channel and result: sent, retrying, failed or unknown.",
		}, []string{"channel", "result"}),
	}
	m.registry.MustRegister(m.turns, m.took, m.sends, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Watch counts an event.
func (m *Metrics) Watch(e gateway.Event) {
	switch e.What {
	case gateway.Ended:
		m.turns.WithLabelValues(e.Chat.Channel, e.Status).Inc()
		m.took.Observe(e.Took.Seconds())
	case gateway.Sent, gateway.Retrying, gateway.Failed, gateway.Unknown:
		m.sends.WithLabelValues(e.Chat.Channel, string(e.What)).Inc()
	case gateway.Queued, gateway.Started, gateway.Said:
	}
}

// Handler serves the metrics, with those that are looked up in the gateway when they are asked for.
func (m *Metrics) Handler(g *gateway.Gateway) http.Handler {
	m.registry.MustRegister(state{g})
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// state collects what is true at the moment.
type state struct{ g *gateway.Gateway }

var (
	running   = prometheus.NewDesc("nanobot_turns_running", "Turns at work.", nil, nil)
	waiting   = prometheus.NewDesc("nanobot_inbox_waiting", "Messages that wait for a turn.", nil, nil)
	age       = prometheus.NewDesc("nanobot_inbox_age_seconds", "How long the oldest of them has waited.", nil, nil)
	storeUp   = prometheus.NewDesc("nanobot_store_up", "Whether the state can be written to.", nil, nil)
	channelUp = prometheus.NewDesc("nanobot_channel_up", "Whether a channel runs.", []string{"channel"}, nil)
	agentRSS  = prometheus.NewDesc("nanobot_agents_resident_bytes", "Memory of the agents at work, with their children.", nil, nil)
)

// Describe is part of prometheus.Collector.
func (s state) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{running, waiting, age, storeUp, channelUp, agentRSS} {
		to <- d
	}
}

// Collect is part of prometheus.Collector.
func (s state) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	h := s.g.Health(ctx)
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	gauge(running, float64(h.Running))
	gauge(waiting, float64(h.Waiting))
	waited := 0.0
	if !h.Oldest.IsZero() {
		waited = max(0, time.Since(h.Oldest).Seconds())
	}
	gauge(age, waited)
	gauge(storeUp, one(h.Store == ""))
	for name, c := range h.Channels {
		gauge(channelUp, one(c.OK), name)
	}
	gauge(agentRSS, float64(resident(s.g.Agents())))
}

func one(ok bool) float64 {
	if ok {
		return 1
	}
	return 0
}
