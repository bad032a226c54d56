package gateway_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"nanobot/gateway"
	"nanobot/gateway/events"
	"nanobot/gateway/gatewaytest"
	"nanobot/gateway/store"
)

// eventRecorder collects events.
type eventRecorder struct {
	mu     sync.Mutex
	events []events.Event
}

func (w *eventRecorder) watch(e events.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, e)
}

// await waits until the events of a turn are these, in order.
func (w *eventRecorder) await(t *testing.T, inbound int64, want string) {
	t.Helper()
	var got []string
	for deadline := time.Now().Add(testTimeout); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		got = nil
		w.mu.Lock()
		for _, e := range w.events {
			if e.Inbound == inbound {
				got = append(got, strings.TrimSpace(string(e.Type)+" "+e.Status))
			}
		}
		w.mu.Unlock()
		if slices.Sort(got); fmt.Sprint(got) == want { // a send and the end of its turn come in any order
			return
		}
	}
	t.Fatalf("was told %v of turn %d, want %s", got, inbound, want)
}

func TestEventsReportATurn(t *testing.T) {
	t.Parallel()
	w := &eventRecorder{}
	r := newFixture(t, `echo '{"type":"log","level":"warning","text":"hm"}'; echo '{"type":"message","text":"hi"}'; echo oops >&2; exit 3`)
	r.watch = w.watch
	r.start()
	failures := 1
	r.net.Fault = func(gatewaytest.Call) gatewaytest.Fault {
		if failures--; failures >= 0 {
			return gatewaytest.Fault{Status: 500}
		}
		return gatewaytest.Fault{}
	}
	r.net.UserWrites("1", "u", "hello")
	r.expect("1", "hi", "STDERR: oops\nExit code: 3")
	w.await(t, 1, "[ended failed retrying said said said sent sent started]")
	trace, err := r.gw.Trace(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, l := range trace.Lines {
		lines = append(lines, l.Kind+l.Level+": "+l.Text)
	}
	if got := strings.Join(lines, "|"); got != "logwarning: hm|message: hi|message: STDERR: oops\nExit code: 3" || trace.Stderr != "oops\n" {
		t.Errorf("traced %q, stderr %q", got, trace.Stderr)
	}
}

func TestATraceIsBounded(t *testing.T) {
	t.Parallel()
	r := newFixture(t, `i=0; while [ $i -lt 300 ]; do echo "{\"type\":\"log\",\"text\":\"$i $(printf %200s x)\"}"; i=$((i+1)); done`)
	r.watch = func(events.Event) {}
	r.start()
	r.net.UserWrites("1", "u", "hello")
	r.awaitIdle("1")
	r.awaitText("1", "(no output)")
	trace, err := r.gw.Trace(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	size := 0
	for _, l := range trace.Lines {
		size += len(l.Text)
	}
	if size > 32<<10 || len(trace.Lines)+trace.Missed != 301 || trace.Lines[len(trace.Lines)-1].Text != "(no output)" {
		t.Errorf("kept %d lines of %d bytes, missed %d", len(trace.Lines), size, trace.Missed)
	}
}

func TestAnOperatorStopsAndRetries(t *testing.T) {
	t.Parallel()
	r := newFixture(t, `touch up; `+waitForFileScript("go")+`echo '{"type":"message","text":"done"}'`)
	r.start()
	r.net.UserWrites("1", "u", "one")
	r.awaitFile("up")
	for deadline := time.Now().Add(testTimeout); len(r.gw.Activity()[store.DefaultAgent].PIDs) != 1; time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d agents at work", len(r.gw.Activity()[store.DefaultAgent].PIDs))
		}
	}
	if err := r.gw.Retry(t.Context(), 1); !errors.Is(err, gateway.ErrNotNow) {
		t.Errorf("retried a running turn: %v", err)
	}
	if err := r.gw.Stop(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	r.awaitText("1", "Stopped.")
	r.awaitIdle("1")
	r.touchFile("go")
	if err := r.gw.Retry(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	r.awaitText("1", "done")
	if err := r.gw.Retry(t.Context(), 99); !errors.Is(err, gateway.ErrNotNow) {
		t.Errorf("retried what there is not: %v", err)
	}
}

func TestAnOperatorsStopIsDurableBeforeTheAgentEnds(t *testing.T) {
	t.Parallel()
	r := newFixture(t, `trap '' TERM INT; touch up; `+waitForFileScript("go"))
	r.start()
	r.net.UserWrites("1", "u", "one")
	r.awaitFile("up")
	if err := r.gw.Stop(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	now, _, err := r.store.Inbound(t.Context(), 1)
	if err != nil || now.Outcome.Status != "stopped" {
		t.Errorf("the message is %s %q, %v", now.State, now.Outcome.Status, err)
	}
	r.touchFile("go")
	r.awaitText("1", "Stopped.")
}

func TestTheHealthCheckNamesProblems(t *testing.T) {
	t.Parallel()
	r := newFixture(t, waitForFileScript("go"))
	r.start()
	r.net.UserWrites("1", "u", "one")
	r.net.UserWrites("1", "u", "two")
	r.awaitText("1", "Queued.")
	h := r.gw.Health(t.Context())
	if !h.OK || !h.Channels["net"].OK || h.Store != "" || h.Running != 1 || h.Waiting != 1 || h.Oldest.IsZero() {
		t.Errorf("got %+v", h)
	}
	r.touchFile("go")
	r.stop() // and the store is closed
	if h := r.gw.Health(t.Context()); h.OK || h.Store == "" {
		t.Errorf("with a store that cannot be written: %+v", h)
	}
}
