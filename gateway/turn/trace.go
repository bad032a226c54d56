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
	// tracedLines and tracedText bound what is kept of one turn; tracedLine bounds one line of it.
	tracedLines, tracedText, tracedLine = 200, 32 << 10, 1 << 10
)

// tracer gathers a trace. Nil gathers nothing.
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
	if len(text) > tracedLine {
		text = strings.ToValidUTF8(text[:tracedLine], "") + "…"
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.trace.Lines = append(t.trace.Lines, events.TraceLine{Time: time.Now().UTC(), Kind: string(f.Kind), Level: f.Level, Text: text})
	for t.size += len(text); len(t.trace.Lines) > tracedLines || t.size > tracedText; t.trace.Missed++ {
		t.size -= len(t.trace.Lines[0].Text)
		t.trace.Lines = t.trace.Lines[1:]
	}
}

// text is the trace as it is stored.
func (t *tracer) text(stderr string) string {
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

// snapshot is the trace of a turn that still runs.
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

// Trace is what was seen of the turn so far.
func (t *Turn) Trace() events.Trace { return t.tracer.snapshot() }
