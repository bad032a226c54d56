package keys_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"go.uber.org/zap"

	"nanobot/config"
	"nanobot/internal/musttest"
	"nanobot/terminal"
	"nanobot/terminal/keys"
)

// turnFunc is a protocol whose turns call a function.
type turnFunc func(terminal.Turn)

func (f turnFunc) Turn(_ context.Context, t terminal.Turn) (terminal.Outcome, error) {
	f(t)
	return terminal.Outcome{Status: terminal.Done}, nil
}

// BenchmarkKeyToScreen measures how long it takes from a key to its effect on the screen, through a
// program that echoes it. The budget is 5 ms.
func BenchmarkKeyToScreen(b *testing.B) {
	cfg := config.Default().Terminal
	cfg.Command = "true"
	var took []time.Duration
	runner := musttest.Get(terminal.NewRunner(terminal.Options{
		Config: cfg, Workspace: b.TempDir(), Log: zap.NewNop(), Supervisor: supervisor,
		Protocol: turnFunc(func(t terminal.Turn) {
			s, err := keys.OpenTerminal(t, "/bin/sh", "-c", "stty raw -echo; echo up; exec cat")
			if err != nil {
				b.Error(err)
				return
			}
			defer s.Close()
			s.AwaitScreen("up")
			for b.Loop() {
				began := time.Now()
				s.Press(b.Context(), "x")
				took = append(took, time.Since(began))
			}
		}),
	}))(b)
	defer runner.Close()
	musttest.Get(runner.Turn(b.Context(), terminal.Request{Envelope: terminal.Envelope{Channel: "cli", ChatID: "local"}}, terminal.NoChat{}))(b)
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms/p50")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "ms/p99")
}
