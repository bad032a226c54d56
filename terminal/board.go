package terminal

import (
	"bytes"
	"context"
	"io"
	"sync"
	"time"
)

const (
	// lastLineDelay is the time before the first line is shown. The output of a quick agent is
	// complete by then.
	lastLineDelay = 2 * time.Second
	// lastLineInterval is the shortest time between two updates of the last line on the board.
	lastLineInterval = time.Second
	// lastLinePause is the pause in the output after which a line without an end is shown.
	lastLinePause = 300 * time.Millisecond
	// maxLastLine limits the bytes of a line that are examined, shownLastLine the characters that
	// are shown.
	maxLastLine, shownLastLine = 4 << 10, 160
)

// lastLine finds the last line of an output. A carriage return ends a line, too, since progress
// bars overwrite a line by it.
type lastLine struct {
	mu       sync.Mutex
	complete []byte // the last line that has ended and is not blank
	begun    []byte // what came after it
	changed  time.Time
	wake     chan struct{}
}

func newLastLine() *lastLine { return &lastLine{wake: make(chan struct{}, 1)} }

// Write examines the next part of the output. It never fails and never waits.
func (l *lastLine) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(p)
	if n > maxLastLine { // the beginning cannot matter
		l.begun, p = l.begun[:0], p[n-maxLastLine:]
	}
	for {
		i := bytes.IndexAny(p, "\r\n")
		if i < 0 {
			break
		}
		if line := append(l.begun, p[:i]...); OneLine(string(line), 1) != "" {
			l.complete = append(l.complete[:0], line...)
		}
		l.begun, p = l.begun[:0], p[i+1:]
	}
	l.begun = append(l.begun, p...)
	l.begun = l.begun[:min(len(l.begun), maxLastLine)]
	l.changed = time.Now()
	select {
	case l.wake <- struct{}{}:
	default:
	}
	return n, nil
}

// text returns the line to show. A line without an end counts after lastLinePause; due is the time
// until then, or 0.
func (l *lastLine) text() (text string, due time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	line := l.complete
	if begun := OneLine(string(l.begun), shownLastLine); begun != "" {
		if due = lastLinePause - time.Since(l.changed); due <= 0 {
			return begun, 0
		}
	}
	return OneLine(string(line), shownLastLine), max(due, 0)
}

// run shows the last line on the board until ctx ends.
func (l *lastLine) run(ctx context.Context, emit func(Frame) error) {
	select {
	case <-ctx.Done():
		return
	case <-time.After(lastLineDelay):
	}
	shown := ""
	var pause <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.wake:
		case <-pause:
		}
		text, due := l.text()
		if pause = nil; due > 0 {
			pause = time.After(due)
		}
		if text == "" || text == shown {
			continue
		}
		shown = text
		if emit(Frame{Kind: Progress, Board: true, Preview: true, Text: CodeSpan(text)}) != nil {
			return // the final response reports it
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(lastLineInterval):
		}
	}
}

// ReadLinesShowingLast is ReadLines for agents that do not report progress: the board shows the
// last line that the agent has printed.
func (t Turn) ReadLinesShowingLast(ctx context.Context, handle LineFunc) (Outcome, error) {
	last := newLastLine()
	showing, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var work sync.WaitGroup
	work.Go(func() { last.run(showing, t.Emit) })
	stop := func() {
		cancel()
		work.Wait()
	}
	defer stop()
	return t.runLines(ctx, lineOptions{
		watch: last, beforeFinal: stop,
		start: func(context.Context, io.Writer) (LineFunc, func(AgentExit)) {
			return handle, func(AgentExit) {}
		},
	})
}
