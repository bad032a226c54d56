package turn

import (
	"context"
	"errors"
	"sync"
	"syscall"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

const (
	// firstShortage and longestShortage bound the backoff of a turn whose agent cannot be started
	// for want of file descriptors, processes or memory.
	firstShortage, longestShortage = 100 * time.Millisecond, 5 * time.Second
	// shortageNotice is how long a turn waits before its person is told.
	shortageNotice = 5 * time.Second
)

const shortageText = "This machine is short of resources. Your message waits until it can be worked on; /stop drops it."

// shortage records which resource is missing, across all turns, so that the log has one line when
// that changes and none for each try.
type shortage struct {
	mu    sync.Mutex
	last  syscall.Errno // 0: nothing
	times int           // how often an agent could not be started
	ended int           // how many shortages are over
}

// becomes records the failure of a start that was tried after so many shortages had ended, and
// reports whether something else lacked before. A failure that is reported after the end of the
// shortage in which it happened begins no new one.
func (s *shortage) becomes(errno syscall.Errno, ended int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.times++
	if ended != s.ended {
		return false
	}
	changed := s.last != errno
	s.last = errno
	return changed
}

// endedSoFar counts the shortages that are over.
func (s *shortage) endedSoFar() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

func (s *shortage) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.times
}

// passed notes that an agent ran which was started after so many failures, and reports whether that
// ends a shortage. An agent that was started before the last failure shows nothing.
func (s *shortage) passed(times int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == 0 || s.times != times {
		return false
	}
	s.last = 0
	s.ended++
	return true
}

// work runs the agent. While it cannot be started for want of resources the message is not used up:
// the turn waits and tries again.
func (t *Turn) work(ctx context.Context, calls callbacks) (terminal.Outcome, error) {
	began, pause := time.Now(), firstShortage
	for {
		ended := t.stage.shortage.endedSoFar()
		out, err := t.attempt(ctx, calls)
		var short *terminal.ShortageError
		if !errors.As(err, &short) {
			if t.pid.Load() != 0 && t.stage.shortage.passed(t.failures) {
				t.log.Info("agents can be started again")
			}
			return out, err
		}
		t.unbegun()
		if t.stage.shortage.becomes(short.Errno, ended) {
			t.log.Warn("agents cannot be started, will retry", zap.Error(err))
		}
		if time.Since(began) >= shortageNotice {
			t.tellShortage(calls)
		}
		// Turns that need no new process are not delayed.
		if !t.slot.Yield(ctx, pause) {
			return terminal.Outcome{Status: terminal.Stopped}, calls.emit(terminal.Frame{Kind: terminal.Error, Code: "STOPPED", Text: "Stopped."})
		}
		pause = min(2*pause, longestShortage)
	}
}

// unbegun takes back that there is about to be an agent, so that the next start of the gateway runs
// the turn as if it had never been claimed. What the turn says at the next try is what it said at
// this one.
func (t *Turn) unbegun() {
	if err := t.stage.o.Store.SetProcess(t.inbound.ID, store.Process(terminal.RecordNotStarted())); err != nil {
		t.log.Warn("turn not noted as waiting", zap.Error(err))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sequence = 0
}

// tellShortage tells the person once, without a notification, that the turn waits.
func (t *Turn) tellShortage(calls callbacks) {
	again := t.short.Swap(true)
	if t.transient.show(board{text: shortageText}) || again {
		return
	}
	if err := calls.say(channels.Message{Kind: channels.Progress, Text: shortageText}); err != nil {
		t.log.Warn("chat not told", zap.Error(err))
	}
}
