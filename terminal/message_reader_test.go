package terminal_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"nanobot/config"
	"nanobot/internal/musttest"
	"nanobot/terminal"
	"nanobot/terminal/protocoltest"
)

// readerProtocol is a MessageReader whose turns wait for a message of the person.
type readerProtocol struct {
	waits func(ctx context.Context, t terminal.Turn) error
}

func (r readerProtocol) Turn(ctx context.Context, t terminal.Turn) (terminal.Outcome, error) {
	return terminal.Outcome{Status: terminal.Done}, r.waits(ctx, t)
}

func (r readerProtocol) ReadMessage(_ context.Context, m terminal.PersonMessage) (bool, error) {
	return m.Text == "read me", nil
}

func newReaderRunner(t *testing.T, waits func(ctx context.Context, t terminal.Turn) error) *terminal.Runner {
	t.Helper()
	cfg := config.Terminal{Shell: "/bin/sh", Command: "true", Timeout: 60}
	r := musttest.Get(terminal.NewRunner(terminal.Options{Config: cfg, Workspace: t.TempDir(), Protocol: readerProtocol{waits}, Log: zap.NewNop()}))(t)
	return r
}

func noFrames(terminal.Frame) error { return errors.New("nothing was to be said") }

func TestATurnThatAwaitsAPersonDoesNotTimeOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls []string
		r := newReaderRunner(t, func(ctx context.Context, turn terminal.Turn) error {
			resume := turn.AwaitPerson(ctx)
			time.Sleep(5 * time.Hour)
			if err := resume(ctx); err != nil {
				return err
			}
			<-ctx.Done() // now it is the agent's time again
			calls = append(calls, context.Cause(ctx).Error())
			return nil
		})
		chat := &protocoltest.Chat{OnFrame: noFrames, OnAwait: func(context.Context) func(context.Context) error {
			calls = append(calls, "awaits")
			return func(context.Context) error {
				calls = append(calls, "resumes")
				return nil
			}
		}}
		began := time.Now()
		musttest.Get(r.Turn(t.Context(), terminal.Request{Envelope: terminal.Envelope{Channel: "c", ChatID: "1"}}, chat))(t)
		if len(calls) != 3 || calls[0] != "awaits" || calls[1] != "resumes" || calls[2] != terminal.ErrTimeout.Error() {
			t.Errorf("the turn %q", calls)
		}
		if took := time.Since(began); took < 5*time.Hour+time.Minute || took > 5*time.Hour+2*time.Minute {
			t.Errorf("the time was up after %s", took)
		}
	})
}

func TestAStoppedTurnDoesNotContinueAfterItsWait(t *testing.T) {
	ctx, stop := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	r := newReaderRunner(t, func(ctx context.Context, turn terminal.Turn) error {
		resume := turn.AwaitPerson(ctx)
		stop(stopped)
		<-ctx.Done()
		return resume(ctx)
	})
	if _, err := r.Turn(ctx, terminal.Request{Envelope: terminal.Envelope{Channel: "c", ChatID: "1"}}, protocoltest.Frames(noFrames)); !errors.Is(err, stopped) {
		t.Errorf("the turn ended with %v", err)
	}
}

func TestARunnerPassesMessagesOnToAProtocolThatReadsThem(t *testing.T) {
	r := newReaderRunner(t, nil)
	for text, want := range map[string]bool{"read me": true, "and me": false} {
		if read, err := r.ReadMessage(t.Context(), terminal.PersonMessage{Text: text}); read != want || err != nil {
			t.Errorf("%q was read: %v, %v", text, read, err)
		}
	}
	if !r.ReadsMessages() {
		t.Error("the protocol reads messages")
	}
}
