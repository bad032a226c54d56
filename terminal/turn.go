package terminal

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"nanobot/internal/words"
	"nanobot/terminal/media"
	"nanobot/terminal/process"
	"nanobot/terminal/sandbox"
)

// turn is one run of the agent. It is the Chat and the Host of the protocol.
type turn struct {
	*Runner
	Chat        // of the gateway
	req         Request
	userDir     string
	folder      string // of the place, below the workspace; "": the agent's own working folder
	workspace   string // that the agent is told
	dir         string // in which the agent works
	dirs        sandbox.ChatDirs
	log         *zap.Logger
	reveal      bool
	media       media.Rules
	echo        media.EchoFilter
	sent        *media.Sent
	used        usage
	pause       func() (resume func()) // pauses the timeout of the turn
	execEnvOnce func() ExecEnv
	waiting     *process.Child // was started before the message; nil: none, or it is used
	heard       heardMemory

	mu      sync.Mutex
	said    []string // by the agent, as it is spoken
	answers []string // of the person, to the agent's questions
}

// Launch implements Host.
func (t *turn) Launch(ctx context.Context, in Input) (*Agent, error) {
	if child := t.waiting; child != nil {
		t.waiting = nil
		return t.begin(ctx, child, in), nil
	}
	command := t.command.Expand(t.req.Text, ShellQuote)
	if len(command) > maxCommand {
		return nil, errCommandTooLong
	}
	start := func(env []string) (*Agent, error) {
		o := t.sandboxed(t.commandOptions(command, t.dir, slices.Concat(t.agentEnv(), env, t.dirs.Environ(), t.markEnv())))
		o.Input, o.KeepInput = in.First, in.KeepOpen
		if !o.Helper { // a helper that could not execute the agent is started again
			o.OnCgroupEmpty = in.onAllExited
		}
		return launch(ctx, o, in.onStop)
	}
	agent, err := start(t.messageEnv(maxVariable))
	// with a small stack limit, all arguments and variables together have less room than one may
	// have
	if errors.Is(err, syscall.E2BIG) {
		agent, err = start(t.messageEnv(0))
	}
	if errors.Is(err, syscall.E2BIG) && t.command.HasPlaceholder() {
		return nil, errCommandTooLong
	}
	if err == nil {
		agent.reportUsage = t.used.add
		t.Report(Launched(agent.Pid()))
	}
	return agent, err
}

// execEnv returns the execution environment of the turn's agent.
func (t *turn) execEnv() ExecEnv {
	return ExecEnv{
		Dir: t.dir, Place: t.folder, Roots: t.o.workDirs(), Env: t.persistentEnv(), Shell: t.o.Config.Shell,
		MCPServers: t.servers, Private: t.o.Private, Chats: t.chatFolders(), Protected: t.o.Config.Protect,
		User: t.sandbox.User(), ApplySandbox: t.sandboxed,
	}
}

// ExecEnv implements Host.
func (t *turn) ExecEnv() ExecEnv { return t.execEnvOnce() }

// PauseTimeout implements Host.
func (t *turn) PauseTimeout() (resume func()) { return t.pause() }

// chatFolders returns the folders whose entries belong to chats.
func (t *turn) chatFolders() []media.ChatFolders {
	return []media.ChatFolders{{Parent: filepath.Dir(t.userDir), Own: t.userDir}}
}

func (t *turn) emitTooLong() (Outcome, error) {
	return Outcome{Status: Failed}, t.Chat.Emit(Frame{
		Kind: Error, Code: "TOO_LONG",
		Text: t.req.Words.Text(words.MessageTooLong, maxCommand>>10),
	})
}

// Emit cleans a frame, checks its media, and passes it on. Log frames are logged, too.
func (t *turn) Emit(f Frame) error {
	f.Text = Clean(f.Text)
	if f.Kind == Log {
		t.log.Check(logLevel(f.Level), "agent").Write(zap.String("text", f.Text))
	}
	t.recordSaid(f)
	return t.emitMedia(f, t.Chat.Emit)
}

// Push is Emit after the turn.
func (t *turn) Push(f Frame) error {
	f.Text = Clean(f.Text)
	return t.emitMedia(f, t.Chat.Push)
}

func logLevel(level string) zapcore.Level {
	switch level {
	case "debug", "":
		return zapcore.DebugLevel
	case "warning", "warn":
		return zapcore.WarnLevel
	case "error":
		return zapcore.ErrorLevel
	}
	return zapcore.InfoLevel
}

// stopwatchContext is a context that ends when a Stopwatch has counted the turn's timeout.
type stopwatchContext struct {
	context.Context //nolint:containedctx // it is a context with another Deadline
	watch           *process.Stopwatch
}

// withTimeout is context.WithTimeoutCause with ErrTimeout, except that it only counts time in which
// this program could run: an agent that finishes while the daemon is stopped has not timed out.
// pause stops the time until resume is called.
func withTimeout(ctx context.Context, d time.Duration) (_ context.Context, pause func() (resume func()),
	_ context.CancelFunc,
) {
	inner, cancel := context.WithCancelCause(ctx)
	watch := process.NewStopwatch(d, func() { cancel(ErrTimeout) })
	return stopwatchContext{inner, watch}, watch.Pause, func() {
		watch.Stop()
		cancel(context.Canceled)
	}
}

// Deadline returns the end of the remaining time, assuming no pause.
func (c stopwatchContext) Deadline() (time.Time, bool) {
	end := time.Now().Add(c.watch.Remaining())
	if earlier, ok := c.Context.Deadline(); ok && earlier.Before(end) {
		return earlier, true
	}
	return end, true
}
