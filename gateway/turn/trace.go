package turn

import (
	"encoding/json"
	"strings"
	"sync"
	"time"

	"nanobot/gateway/events"
	"nanobot/terminal"
)

const (
	// The bounds of a trace: lines, bytes of text, and bytes of one line.
	maxTraceLines, maxTraceBytes, maxTraceLine = 200, 32 << 10, 1 << 10
)

// tracer records the trace of a turn. A nil tracer records nothing.
type tracer struct {
	mu    sync.Mutex
	trace events.Trace
	size  int
}

func (t *tracer) add(f terminal.Frame) {
	if t == nil {
		return
	}
	text := f.Text
	if len(text) > maxTraceLine {
		text = strings.ToValidUTF8(text[:maxTraceLine], "") + "…"
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.trace.Lines = append(t.trace.Lines, events.TraceLine{
		Time: time.Now().UTC(), Kind: string(f.Kind), Level: f.Level,
		Text: text,
	})
	for t.size += len(text); len(t.trace.Lines) > maxTraceLines || t.size > maxTraceBytes; t.trace.Missed++ {
		t.size -= len(t.trace.Lines[0].Text)
		t.trace.Lines = t.trace.Lines[1:]
	}
}

// encode returns the trace in its stored form.
func (t *tracer) encode(stderr string) string {
	if t == nil {
		return ""
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.trace.Stderr = stderr
	b, err := json.Marshal(t.trace)
	if err != nil {
		return ""
	}
	return string(b)
}

// snapshot returns the trace of a running turn.
func (t *tracer) snapshot() events.Trace {
	if t == nil {
		return events.Trace{}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.trace
	now.Lines = append([]events.TraceLine(nil), now.Lines...)
	return now
}

// Trace returns the trace of the turn so far.
func (out *output) Trace() events.Trace { return out.tracer.snapshot() }
