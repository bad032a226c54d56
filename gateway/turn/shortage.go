package turn

import (
	"context"
	"errors"
	"sync"
	"syscall"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/display"
	"nanobot/internal/words"
	"nanobot/terminal"
	"nanobot/terminal/process"
)

const (
	// firstShortagePause and maxShortagePause bound the backoff of a turn whose agent cannot be
	// started because file descriptors, processes or memory are exhausted.
	firstShortagePause, maxShortagePause = 100 * time.Millisecond, 5 * time.Second
	// shortageNoticeAfter is how long a turn waits before the chat is told.
	shortageNoticeAfter = 5 * time.Second
)

// shortage tracks which resource is exhausted, across all turns, so that only changes are logged
// and not every attempt.
type shortage struct {
	mu       sync.Mutex
	missing  syscall.Errno // 0: no shortage
	failures int           // failed starts of agents
	ended    int           // shortages that are over
	// freed wakes one of the turns that wait. Its buffer is for a turn that is about to wait.
	freed chan struct{}
}

// wakeOne lets one of the turns that wait try again, since an agent has ended.
func (s *shortage) wakeOne() {
	select {
	case s.freed <- struct{}{}:
	default: // one is about to be woken
	}
}

// recordFailure records a failed start that was tried after the given number of shortages had
// ended, and reports whether the missing resource has changed. A failure that is reported after the
// end of its shortage does not begin a new one.
func (s *shortage) recordFailure(errno syscall.Errno, ended int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures++
	if ended != s.ended {
		return false
	}
	changed := s.missing != errno
	s.missing = errno
	return changed
}

// endedCount returns the number of shortages that are over.
func (s *shortage) endedCount() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

func (s *shortage) failureCount() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failures
}

// recordSuccess records that an agent has run that was started after the given number of failures,
// and reports whether this ends a shortage. An agent that was started before the last failure
// proves nothing.
func (s *shortage) recordSuccess(times int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.missing == 0 || s.failures != times {
		return false
	}
	s.missing = 0
	s.ended++
	return true
}

// runWithRetries runs the agent. While resources are exhausted, it waits and retries with backoff.
func (t *Turn) runWithRetries(ctx context.Context, chat *chat) (terminal.Outcome, error) {
	began, pause := time.Now(), firstShortagePause
	for {
		ended := t.stage.shortage.endedCount()
		out, err := t.runOnce(ctx, chat)
		var short *terminal.ShortageError
		if !errors.As(err, &short) {
			t.stage.shortage.wakeOne()
			if t.pid.Load() != 0 && t.stage.shortage.recordSuccess(t.failures) {
				t.log.Info("agents can be started again")
			}
			return out, err
		}
		t.lacksResources.Store(true)
		t.markNotStarted()
		if t.stage.shortage.recordFailure(short.Errno, ended) {
			t.log.Warn("agents cannot be started, will retry", zap.Error(err))
		}
		if short.Errno == syscall.EMFILE || short.Errno == syscall.ENFILE {
			t.stage.closeIdleConnections()
		}
		if time.Since(began) >= shortageNoticeAfter {
			t.reportShortage(chat)
		}
		// Yielding the slot lets turns run that need no new process.
		if !t.slot.Yield(ctx, pause, t.stage.shortage.freed) {
			return terminal.Outcome{Status: terminal.Stopped},
				chat.Emit(terminal.Frame{Kind: terminal.Error, Code: terminal.StoppedCode, Text: t.words.Text(words.StoppedText)})
		}
		pause = min(2*pause, maxShortagePause)
	}
}

// closeIdleConnections closes the connections that channels keep for later requests. The store
// keeps its few: a read that had to open the database would fail now.
func (s *Stage) closeIdleConnections() {
	for _, c := range s.o.Channels {
		if keeper, ok := c.(channels.ConnectionKeeper); ok {
			keeper.CloseIdleConnections()
		}
	}
}

// markNotStarted clears the process record, so that the next start of the gateway runs the turn as
// if it had never been claimed. The next try repeats the sequence numbers of this one.
func (t *Turn) markNotStarted() {
	t.recordProcess(process.NewNotStartedRecord())
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sequence = 0
}

// reportShortage tells the chat once, without a notification, that the turn waits.
func (t *Turn) reportShortage(chat *chat) {
	again := t.shortageReported.Swap(true)
	text := t.words.Text(words.ShortOfResources)
	if t.display.ShowProgress(display.Content{Text: text}) || again {
		return
	}
	if err := chat.post(channels.Message{
		Kind: channels.Progress, Text: text,
		Notification: channels.Notification{Silent: true},
	}); err != nil {
		t.log.Warn("chat not notified", zap.Error(err))
	}
}
