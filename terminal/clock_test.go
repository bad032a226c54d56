package terminal_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"nanobot/internal/musttest"
	"nanobot/terminal"
)

// slowProtocol is a protocol whose turns take this long, unless the timeout is shorter.
type slowProtocol time.Duration

func (s slowProtocol) Turn(ctx context.Context, _ terminal.Turn) (terminal.Outcome, error) {
	select {
	case <-time.After(time.Duration(s)):
		return terminal.Outcome{Status: terminal.Done}, nil
	case <-ctx.Done():
		return terminal.Outcome{Status: terminal.TimedOut}, nil
	}
}

func TestTheTimeoutOfATurnCanBePaused(t *testing.T) {
	for name, test := range map[string]struct {
		pause time.Duration
		want  terminal.Status
	}{"for long enough": {20 * time.Minute, terminal.Done}, "for too short": {time.Minute, terminal.TimedOut}} {
		b := newTurnFixture(t, "plain", "true")
		b.opts.Config.Timeout, b.opts.Protocol = 600, slowProtocol(25*time.Minute)
		synctest.Test(t, func(t *testing.T) {
			b.chat.OnReport = func(r terminal.Report) {
				if clock, ok := r.(terminal.ClockStarted); ok {
					time.AfterFunc(test.pause, clock.Pause())
				}
			}
			r := musttest.Get(terminal.NewRunner(b.opts))(t)
			defer r.Close()
			out, err := r.Turn(t.Context(), b.req, &b.chat)
			if err != nil || out.Status != test.want {
				t.Errorf("%s: %+v, %v", name, out, err)
			}
		})
	}
}
