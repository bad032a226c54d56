package terminal

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"syscall"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"nanobot/internal/words"
	"nanobot/terminal/process"
	"nanobot/terminal/sandbox"
)

// turn is one run of the agent.
type turn struct {
	*Runner
	req     Request
	userDir string
	chat    sandbox.ChatDirs
	emit    func(Frame) error
	log     *zap.Logger
	reveal  bool
	media   mediaRules
	used    usage
	pause   func() (resume func()) // pauses the timeout of the turn
	waiting *warmAgent             // was started before the message; nil: none, or it is used

	mu      sync.Mutex
	answers []string // of the person, to the agent's questions
}

func (t *turn) launch(ctx context.Context, in Input) (*Agent, error) {
	if a := t.waiting; a != nil {
		t.waiting = nil
		return a.begin(ctx, t, in), nil
	}
	cfg := t.o.Config
	command := t.command.Expand(t.req.Text, ShellQuote)
	if len(command) > maxCommand {
		return nil, errCommandTooLong
	}
	start := func(env []string) (*Agent, error) {
		o := t.sandboxed(process.Options{
			Args: []string{cfg.Shell, "-c", command}, Dir: t.workDir(), Env: slices.Concat(t.env, env, t.chat.Environ(), t.markEnv()), Input: in.First, KeepInput: in.KeepOpen,
		})
		if !o.Helper { // a helper that could not execute the agent is started again
			o.OnCgroupEmpty = in.onAllExited
		}
		return launch(ctx, o, in.onStop)
	}
	agent, err := start(t.messageEnv(maxVariable))
	if errors.Is(err, syscall.E2BIG) { // with a small stack limit, all arguments and variables together have less room than one may have
		agent, err = start(t.messageEnv(0))
	}
	if errors.Is(err, syscall.E2BIG) && t.command.HasPlaceholder() {
		return nil, errCommandTooLong
	}
	if err == nil {
		agent.reportUsage = t.used.add
		t.attachProcess(agent.Pid())
	}
	return agent, err
}

// execEnv returns the execution environment of the turn's agent.
func (t *turn) execEnv() ExecEnv {
	return ExecEnv{
		Dir: t.workDir(), Roots: t.o.workDirs(), Env: t.persistentEnv(), Shell: t.o.Config.Shell, MCPServers: t.servers,
		Private: t.o.Private, Chats: t.chatFolders(), Protected: t.o.Config.Protect, User: t.sandbox.User(), ApplySandbox: t.sandboxed,
	}
}

// sessionAccess implements Turn.SessionAccess.
func (t *turn) sessionAccess(ctx context.Context) (SessionAccess, error) {
	if t.req.SessionAccess == nil {
		return OwnSessions, nil
	}
	return t.req.SessionAccess(ctx)
}

// chatFolders returns the folders whose entries belong to chats.
func (t *turn) chatFolders() []ChatFolders {
	return []ChatFolders{{Parent: filepath.Dir(t.userDir), Own: t.userDir}}
}

func (t *turn) emitTooLong() (Outcome, error) {
	return Outcome{Status: Failed}, t.emit(Frame{Kind: Error, Code: "TOO_LONG", Text: t.req.Words.Text(words.MessageTooLong, maxCommand>>10)})
}

// emitFrame logs log frames, checks media, and passes other frames on.
func (t *turn) emitFrame(f Frame) error {
	f.Text = Clean(f.Text)
	if f.Kind == Log {
		t.log.Check(logLevel(f.Level), "agent").Write(zap.String("text", f.Text))
		if t.req.OnLog != nil {
			t.req.OnLog(f)
		}
		return nil
	}
	return t.checkMedia(f, t.emit)
}

// checkMedia passes a frame on to emit, with the files that may be sent.
func (t *turn) checkMedia(f Frame, emit func(Frame) error) error {
	if len(f.Media) > 0 || len(f.Links) > 0 {
		f.Media, f.Links = t.resolvePaths(f.Media, f.ProtocolDir), t.resolvePaths(f.Links, "")
		return t.media.emitMedia(f, t.reveal, t.req.Words, emit)
	}
	return emit(f)
}

// pushFunc returns Turn.Push.
func (t *turn) pushFunc() func(Frame) error {
	if t.req.Push == nil {
		return nil
	}
	return func(f Frame) error {
		f.Text = Clean(f.Text)
		return t.checkMedia(f, t.req.Push)
	}
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
