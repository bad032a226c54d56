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
	"nanobot/internal/musttest"
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
	fx := newFixture(t, `echo '{"type":"log","level":"warning","text":"hm"}'; echo '{"type":"message","text":"hi"}'; echo oops >&2; exit 3`)
	fx.watch = w.watch
	fx.start()
	failures := 1
	fx.net.Fault = func(gatewaytest.Call) gatewaytest.Fault {
		if failures--; failures >= 0 {
			return gatewaytest.Fault{Status: 500}
		}
		return gatewaytest.Fault{}
	}
	fx.net.UserWrites("1", "u", "hello")
	fx.expect("1", "hi", "STDERR: oops\nExit code: 3")
	w.await(t, 1, "[ended failed retrying said said said sent sent started]")
	trace := musttest.Get(fx.gw.Trace(t.Context(), 1))(t)
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
	fx := newFixture(t, `i=0; while [ $i -lt 300 ]; do echo "{\"type\":\"log\",\"text\":\"$i $(printf %200s x)\"}"; i=$((i+1)); done`)
	fx.watch = func(events.Event) {}
	fx.start()
	fx.net.UserWrites("1", "u", "hello")
	fx.awaitIdle("1")
	fx.awaitText("1", "(no output)")
	trace := musttest.Get(fx.gw.Trace(t.Context(), 1))(t)
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
	fx := newFixture(t, `touch up; `+waitForFileScript("go")+`echo '{"type":"message","text":"done"}'`)
	fx.start()
	fx.net.UserWrites("1", "u", "one")
	fx.awaitFile("up")
	for deadline := time.Now().Add(testTimeout); len(fx.gw.Activity()[store.DefaultAgent].PIDs) != 1; time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d agents at work", len(fx.gw.Activity()[store.DefaultAgent].PIDs))
		}
	}
	if err := fx.gw.Retry(t.Context(), 1); !errors.Is(err, gateway.ErrNotNow) {
		t.Errorf("retried a running turn: %v", err)
	}
	musttest.Do(t, fx.gw.Stop(t.Context(), 1))
	fx.awaitText("1", "Stopped.")
	fx.awaitIdle("1")
	fx.touchFile("go")
	musttest.Do(t, fx.gw.Retry(t.Context(), 1))
	fx.awaitText("1", "done")
	if err := fx.gw.Retry(t.Context(), 99); !errors.Is(err, gateway.ErrNotNow) {
		t.Errorf("retried what there is not: %v", err)
	}
}

func TestAnOperatorsStopIsDurableBeforeTheAgentEnds(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, `trap 'touch told' TERM; trap '' INT; touch up; `+waitForFileScript("go"))
	fx.start()
	fx.net.UserWrites("1", "u", "one")
	fx.awaitFile("up")
	musttest.Do(t, fx.gw.Stop(t.Context(), 1))
	now, _, err := fx.store.Inbound(t.Context(), 1)
	if err != nil || now.Outcome.Status != "stopped" {
		t.Errorf("the message is %s %q, %v", now.State, now.Outcome.Status, err)
	}
	fx.awaitFile("told") // otherwise it may end by itself before it is stopped
	fx.touchFile("go")
	fx.awaitText("1", "Stopped.")
}

func TestTheHealthCheckNamesProblems(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, waitForFileScript("go"))
	fx.start()
	fx.net.UserWrites("1", "u", "one")
	fx.net.UserWrites("1", "u", "two")
	fx.awaitText("1", "Queued.")
	h := fx.gw.Health(t.Context())
	if !h.OK || !h.Channels["net"].OK || h.Store != "" || h.Running != 1 || h.Waiting != 1 || h.Oldest.IsZero() {
		t.Errorf("got %+v", h)
	}
	fx.touchFile("go")
	fx.stop() // and the store is closed
	if h := fx.gw.Health(t.Context()); h.OK || h.Store == "" {
		t.Errorf("with a store that cannot be written: %+v", h)
	}
}
