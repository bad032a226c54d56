package terminal_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"nanobot/config"
	"nanobot/internal/musttest"
	"nanobot/terminal"
	"nanobot/terminal/protocoltest"
)

// askingProtocol asks a question and then works.
type askingProtocol struct{ work time.Duration }

func (p askingProtocol) Turn(ctx context.Context, t terminal.Turn) (terminal.Outcome, error) {
	if _, err := t.Ask(ctx, terminal.Question{Text: "Sure?"}); err != nil {
		return terminal.Outcome{}, err
	}
	select {
	case <-ctx.Done():
		return terminal.Outcome{Status: terminal.TimedOut}, nil
	case <-time.After(p.work):
		return terminal.Outcome{Status: terminal.Done}, nil
	}
}

func TestTheTimeThatAPersonTakesToAnswerDoesNotCount(t *testing.T) {
	for work, want := range map[time.Duration]terminal.Status{90 * time.Second: terminal.Done, 150 * time.Second: terminal.TimedOut} {
		synctest.Test(t, func(t *testing.T) {
			cfg := config.Default().Terminal
			cfg.Command, cfg.Timeout = "unused", 120
			r := musttest.Get(terminal.NewRunner(terminal.Options{Config: cfg, Workspace: t.TempDir(), Protocol: askingProtocol{work}, Log: zap.NewNop()}))(t)
			ask := func(context.Context, terminal.Question) (terminal.Answer, error) {
				time.Sleep(50 * time.Minute)
				return terminal.Answer{Text: "yes"}, nil
			}
			out, err := r.Turn(t.Context(), terminal.Request{Envelope: terminal.Envelope{Channel: "cli", ChatID: "1"}}, &protocoltest.Chat{OnAsk: ask})
			if err != nil || out.Status != want {
				t.Errorf("after %s of work: %s, %v", work, out.Status, err)
			}
		})
	}
}
