package turn

import (
	"context"
	"errors"
	"sync"

	"nanobot/terminal"
)

// toolSequence is the base of the sequence numbers of tool messages, which end before
// outbox.ReportSequence.
const toolSequence = 1 << 29

// The reasons why a tool cannot act in a turn. The agent reads the texts.
var (
	// ErrNotRunning says that the agent of the turn is not running.
	ErrNotRunning = errors.New("the turn has ended")
	errEnding     = errors.New("the bot is about to restart, so nobody can answer now; ask again later")
)

// toolAccess lets the tools of the chat act in a turn, while its agent runs.
type toolAccess struct {
	mu       sync.Mutex
	chat     *chat
	ended    <-chan struct{} // closed when the turn is told to end; nil: the agent is not running
	pause    func() (resume func())
	messages int // number of messages of tools
}

// allow lets tools act until withdraw is called.
func (a *toolAccess) allow(c *chat, ended <-chan struct{}) (withdraw func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.chat, a.ended = c, ended
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.ended = nil
	}
}

// setClock sets the function that pauses the clock of the turn.
func (a *toolAccess) setClock(pause func() (resume func())) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pause = pause
}

// EmitForTool handles a frame of a tool like a frame of the agent. The caller closes the files.
func (t *Turn) EmitForTool(f terminal.Frame) error {
	t.toolAccess.mu.Lock()
	defer t.toolAccess.mu.Unlock()
	if t.toolAccess.ended == nil {
		return ErrNotRunning
	}
	t.toolAccess.messages++
	f.Sequence = toolSequence + t.toolAccess.messages
	return t.toolAccess.chat.Emit(f)
}

// AskForTool asks a question of a tool in the chat and waits for the answer, until ctx or the turn
// ends. The clock of the turn is paused meanwhile.
func (t *Turn) AskForTool(ctx context.Context, q terminal.Question) (terminal.Answer, error) {
	t.toolAccess.mu.Lock()
	chat, ended, pause := t.toolAccess.chat, t.toolAccess.ended, t.toolAccess.pause
	t.toolAccess.mu.Unlock()
	if ended == nil {
		return terminal.Answer{}, ErrNotRunning
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer onClosed(ended, func() { cancel(ErrNotRunning) })()
	defer t.stage.OnIntakeClosed(func() { cancel(errEnding) })()
	if pause != nil {
		defer pause()()
	}
	return chat.Ask(ctx, q)
}

// PauseForTool pauses the clock of the turn while a tool waits for people, until resume is called.
func (t *Turn) PauseForTool() (resume func()) {
	t.toolAccess.mu.Lock()
	ended, pause := t.toolAccess.ended, t.toolAccess.pause
	t.toolAccess.mu.Unlock()
	if ended == nil || pause == nil {
		return func() {}
	}
	return pause()
}

// OnIntakeClosed calls f when the gateway stops receiving messages, unless stop is called first.
func (s *Stage) OnIntakeClosed(f func()) (stop func()) { return onClosed(s.intakeClosed, f) }

// onClosed calls f when a channel is closed, unless stop is called first.
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
