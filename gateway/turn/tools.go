package turn

import (
	"context"
	"errors"
	"sync"

	"nanobot/terminal"
)

// toolSequence and the numbers after it, up to outbox.ReportSequence, are for the messages of
// tools.
const toolSequence = 1 << 29

// Why a tool cannot act in a turn. The texts are for the agent.
var (
	// ErrNotRunning says that the agent of the turn does not run, or not any more.
	ErrNotRunning = errors.New("the turn has ended")
	errEnding     = errors.New("the bot is about to restart, so nobody can answer now; ask again later")
)

// toolAccess is how the tools of the chat act in a turn, while its agent runs.
type toolAccess struct {
	mu    sync.Mutex
	calls callbacks
	ended <-chan struct{} // closed when the turn is told to end; nil: its agent does not run
	pause func() (resume func())
	said  int    // messages of tools
	above string // what the progress of tools is shown below
}

// admit lets tools act until the function that it returns is called.
func (a *toolAccess) admit(calls callbacks, ended <-chan struct{}) (withdraw func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls, a.ended = calls, ended
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.ended = nil
	}
}

// setClock takes what stops the clock of the turn.
func (a *toolAccess) setClock(pause func() (resume func())) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pause = pause
}

func (a *toolAccess) setAbove(text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.above = text
}

// EmitForTool takes what a tool says in the turn, as if its agent had said it. Files are closed by
// the caller.
func (t *Turn) EmitForTool(f terminal.Frame) error {
	t.tools.mu.Lock()
	defer t.tools.mu.Unlock()
	if t.tools.ended == nil {
		return ErrNotRunning
	}
	t.tools.said++
	f.Sequence = toolSequence + t.tools.said
	if f.Kind == terminal.Progress && t.tools.above != "" {
		f.Board, f.Text = true, t.tools.above+"\n\n"+f.Text
	}
	return t.tools.calls.emit(f)
}

// AskForTool puts a question of a tool to the chat and waits for the answer, until ctx or the turn
// ends. The clock of the turn stands still meanwhile.
func (t *Turn) AskForTool(ctx context.Context, q terminal.Question) (terminal.Answer, error) {
	t.tools.mu.Lock()
	ask, ended, pause := t.tools.calls.ask, t.tools.ended, t.tools.pause
	t.tools.mu.Unlock()
	if ended == nil {
		return terminal.Answer{}, ErrNotRunning
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer onClosed(ended, func() { cancel(ErrNotRunning) })()
	defer t.stage.OnDeaf(func() { cancel(errEnding) })()
	if pause != nil {
		defer pause()()
	}
	return ask(ctx, q)
}

// PauseForTool stops the clock of the turn while a tool waits for people, until the function that
// it returns is called.
func (t *Turn) PauseForTool() (resume func()) {
	t.tools.mu.Lock()
	ended, pause := t.tools.ended, t.tools.pause
	t.tools.mu.Unlock()
	if ended == nil || pause == nil {
		return func() {}
	}
	return pause()
}

// OnDeaf calls f when the gateway receives no messages any more, until the function that it returns
// is called.
func (s *Stage) OnDeaf(f func()) (stop func()) { return onClosed(s.deaf, f) }

// onClosed calls f when a channel is closed, until the function that it returns is called.
func onClosed(closed <-chan struct{}, f func()) (stop func()) {
	stopped := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-closed:
			f()
		case <-stopped:
		}
	})
	return func() {
		close(stopped)
		watch.Wait()
	}
}
