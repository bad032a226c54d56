package terminal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"nanobot/config"
	"nanobot/terminal/process"
	"nanobot/terminal/sandbox"
)

// Options is what a runner needs to know.
type Options struct {
	Config    config.Terminal
	Workspace string // absolute
	Protocol  Protocol
	Environ   []string        // the gateway's own environment
	Secrets   []config.Secret // of the gateway, never shown to the agent
	Private   []string        // the gateway's own files and folders, never sent
	Readable  []string        // of these, those that hold no secret and may be read
	State     string          // the folder of the gateway's state; "": none
	Program   string          // the gateway's own file, which no agent in a sandbox may change; "": not known
	// Agent is the agent's name, for the owner of its processes.
	Agent string
	// Socket is where the daemon serves its tools to agents; "": nowhere.
	Socket string
	// Supervisor kills what an agent has started when the agent ends; nil: processes that leave the
	// agent's process group live on.
	Supervisor *process.Supervisor
	Log        *zap.Logger
}

// Request is one incoming message for the agent.
type Request struct {
	Channel, ChatID string
	Text            string
	Media           []string
	MessageID       string
	User            *User
	ThreadID        string
	ReplyTo         *Quote
	RunID           string
	Attempt         int
	History         []HistoryEntry // oldest first
	// Ask puts an agent's question to the person; nil: nobody answers.
	Ask Ask
	// Injections has what the person writes while the agent is at work; nil: nothing, and stdin is
	// closed as usual. What is put in stays there until the agent reads, so a sender must not wait
	// longer than the turn lasts. Its files are for GrantFiles first.
	Injections <-chan Injection
	// AwaitPerson, if not nil, is called when the turn begins to wait for messages of the person,
	// with no process running, and what it returns when the turn goes on, as Turn.AwaitPerson.
	AwaitPerson func(ctx context.Context) (resume func(ctx context.Context) error)
	// PersonTexts, if not nil, returns what the person has written since the turn began, but for
	// answers to questions.
	PersonTexts func() []string
	// OnCancel, if not nil, is called when the agent's time is up or it is told to stop. Frames may
	// follow.
	OnCancel func()
	// RunName marks the agent's processes, and GatewayName those that outlive the turn, for KillRun
	// and KillPersistent after a crash. Without a name there is no mark.
	RunName, GatewayName string
	// Task names the part of the message that this request is, where the agent is handed a message
	// in several parts; "": it is all of it.
	Task string
	// Token proves to the gateway which chat the agent's processes work for; "": there is none.
	Token string
	// Memory, if not nil, is what is known of the chat from earlier turns.
	Memory Memory
	// OnClockStart, if not nil, is called when the time of the turn begins to count, with
	// Turn.PauseTimeout.
	OnClockStart func(pause func() (resume func()))
	// OnAgentInfo, if not nil, is called with what the agent tells of itself.
	OnAgentInfo func(AgentInfo)
	// OnLog, if not nil, is called with each log frame, beside the log.
	OnLog func(Frame)
	// OnExit, if not nil, is called when the last process of the turn has exited, where that is
	// known while what the agent said is still being emitted, and no other process will follow.
	OnExit func()
	// OnLaunch, if not nil, is called for each process that works on the turn, before anything is
	// read from it.
	OnLaunch func(pid int)
}

// files are those that the person sent or quoted.
func (r Request) files() []string {
	if r.ReplyTo == nil {
		return r.Media
	}
	return slices.Concat(r.Media, r.ReplyTo.Media)
}

// Runner runs turns of the configured agent. It is safe for concurrent use.
type Runner struct {
	o         Options
	command   config.Command
	env       []string
	providers map[string]Provider
	servers   []MCPServer
	sandbox   *sandbox.Sandbox
	kept      keptAgents
	turns     sync.WaitGroup
}

// NewRunner prepares what all turns share. It fails when the command would evaluate the user's
// text, when a secret of the agent cannot be read, or when the agent cannot be confined as it must
// be.
func NewRunner(o Options) (*Runner, error) {
	r := &Runner{o: o, providers: map[string]Provider{}}
	var err error
	if r.command, err = config.ParseCommand(o.Config.Shell, o.Config.Command); err != nil {
		return nil, fmt.Errorf("terminal.command: %w", err)
	}
	for name, p := range o.Config.Providers {
		provider := Provider{Models: p.Models, BaseURL: p.BaseURL, APIKeys: []string{}}
		for i, key := range p.APIKeys {
			v, err := key.Reveal()
			if err != nil {
				return nil, fmt.Errorf("terminal.providers.%s.apiKeys[%d]: %w", name, i, err)
			}
			provider.APIKeys = append(provider.APIKeys, v)
		}
		r.providers[name] = provider
	}
	if r.servers, err = mcpServers(o.Config.MCPServers); err != nil {
		return nil, err
	}
	var inEnv map[string]Provider
	if o.Config.ProviderEnv {
		inEnv = r.providers
	}
	if r.sandbox, err = newSandbox(o); err != nil {
		return nil, err
	}
	r.env = environ(slices.Concat(o.Environ, r.sandbox.UserEnviron()), o.Secrets, inEnv, o.Config.Env)
	return r, nil
}

// Turn runs the agent on one message and hands what the user is to see to emit, in order. An error
// is what we could not do; what the agent did wrong has been emitted.
func (r *Runner) Turn(ctx context.Context, req Request, emit func(Frame) error) (Outcome, error) {
	r.turns.Add(1)
	defer r.turns.Done()
	began := time.Now()
	cfg := r.o.Config
	if !cfg.On() {
		return Outcome{Status: Failed}, emit(Frame{Kind: Message, Text: "This bot is switched off at the moment."})
	}
	userDir, err := UserDir(r.o.Workspace, req.ChatID)
	if err != nil {
		return Outcome{}, unbegun(err)
	}
	chat, err := r.sandbox.PrepareChat(userDir, req.files(), r.pool() == nil)
	if err != nil {
		return Outcome{}, unbegun(err)
	}
	t := &turn{
		Runner: r, req: req, emit: emit, userDir: userDir, chat: chat,
		log:    r.o.Log.With(zap.String("chat", req.Channel+":"+req.ChatID), zap.String("run", req.RunID)),
		reveal: cfg.RevealErrors.To(req.ChatID, req.Channel+":"+req.ChatID),
	}
	t.media = t.mediaRules()
	t.media.typed = typed{texts: t.texts, began: began, dirs: []string{t.dir(), r.o.Workspace, userDir}, home: lookup(r.env, "HOME")}
	ctx, pause, cancel := withTimeout(ctx, time.Duration(cfg.Timeout)*time.Second)
	defer cancel()
	if req.OnCancel != nil {
		defer context.AfterFunc(ctx, req.OnCancel)()
	}
	if req.OnClockStart != nil {
		req.OnClockStart(pause)
	}
	out, err := r.o.Protocol.Turn(ctx, Turn{
		Envelope: r.envelope(req, userDir), Run: cmp.Or(req.RunName, req.RunID) + req.Task,
		Launch:           t.launch,
		LaunchPersistent: t.keep, AttachProcess: t.uses, PauseTimeout: pause, AwaitPerson: req.awaitPerson(pause),
		ExecEnv: t.place(),
		Memory:  t.memory(), ReportAgentInfo: t.tell,
		Emit: t.take,
		Ask:  t.ask, Interactive: cfg.Interactive,
		Stdin:      cfg.Stdin,
		Injections: req.Injections, PassMedia: cfg.PassMedia,
		Final:   FinalOptions{Reveal: t.reveal, Timeout: cfg.Timeout},
		OnEmpty: req.OnExit,
		MaxLine: cfg.MaxLine, MaxOutput: cfg.MaxOutput,
	})
	if errors.Is(err, errTooLong) {
		return t.tooLong()
	}
	used := t.used.total()
	out.Memory, out.CPU = used.Memory, used.CPU
	return out, err
}

// ExecEnv prepares the place where the agent of a chat works, for commands that are run outside of
// turns.
func (r *Runner) ExecEnv(channel, chatID string) (ExecEnv, error) {
	t, err := r.outsideTurns(channel, chatID)
	if err != nil {
		return ExecEnv{}, err
	}
	return t.place(), nil
}

// outsideTurns prepares what is done for a chat outside of its turns. An agent of the chat may be
// running, so its temporary files stay.
func (r *Runner) outsideTurns(channel, chatID string) (*turn, error) {
	userDir, err := UserDir(r.o.Workspace, chatID)
	if err != nil {
		return nil, err
	}
	chat, err := r.sandbox.PrepareChat(userDir, nil, false)
	if err != nil {
		return nil, err
	}
	return &turn{Runner: r, req: Request{Channel: channel, ChatID: chatID}, userDir: userDir, chat: chat}, nil
}

// UserRoot creates the folder of a chat and opens it.
func (r *Runner) UserRoot(chatID string) (*os.Root, error) { return UserRoot(r.o.Workspace, chatID) }

// GrantFiles lets the agent have files of a chat that come while it is at work. Those of a Request
// it has anyway.
func (r *Runner) GrantFiles(chatID string, files []string) error {
	if len(files) == 0 {
		return nil
	}
	userDir, err := UserDir(r.o.Workspace, chatID)
	if err != nil {
		return err
	}
	return r.sandbox.ChownToAgent(userDir, files)
}

// Close waits for the turns that run and ends the agents that are kept.
func (r *Runner) Close() {
	r.turns.Wait()
	if p := r.pool(); p != nil {
		p.Close()
	}
}

// mediaRoots are the folders that files may be sent from. The chat's folder is in the workspace,
// and is not named because an agent could put a link there.
func (r *Runner) mediaRoots(chat sandbox.ChatDirs) []string {
	if roots := r.o.Config.MediaRoots; len(roots) > 0 {
		roots = slices.Clone(roots)
		for i, root := range roots { // of these, the agent's own
			roots[i] = r.sandbox.TempPath(chat, root)
		}
		return roots
	}
	if r.sandbox.SeparatesChats() {
		return []string{r.o.Workspace} // each chat's folder for temporary files is in there, too
	}
	// The temp folder is often a private one, and agents write /tmp all the same.
	return []string{r.o.Workspace, os.TempDir(), "/tmp"}
}

func (r *Runner) envelope(req Request, userDir string) Envelope {
	e := Envelope{
		Version: Version, Text: req.Text, Channel: req.Channel, ChatID: req.ChatID,
		SessionKey: req.Channel + ":" + req.ChatID, Workspace: r.o.Workspace, UserDataDir: userDir,
		Providers: r.providers, MessageID: req.MessageID, User: req.User, ThreadID: req.ThreadID,
		ReplyTo: req.ReplyTo, RunID: req.RunID, Attempt: req.Attempt,
	}
	for _, h := range req.History {
		h.Time = h.Time.UTC().Truncate(time.Second) // many parsers know no nanoseconds
		if !r.o.Config.PassMedia {
			h.Media = nil
		}
		e.History = append(e.History, h)
	}
	if r.o.Config.PassMedia {
		e.Media = req.Media
	}
	return e
}

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

	mu      sync.Mutex
	answers []string // of the person, to the agent's questions
}

func (t *turn) launch(ctx context.Context, in Input) (*Agent, error) {
	cfg := t.o.Config
	command := t.command.Expand(t.req.Text, ShellQuote)
	if len(command) > maxCommand {
		return nil, errTooLong
	}
	start := func(env []string) (*Agent, error) {
		o := t.sandboxed(process.Options{
			Args: []string{cfg.Shell, "-c", command}, Dir: t.dir(), Env: slices.Concat(t.env, env, t.chat.Environ(), process.RunEnv(t.req.RunName)), Input: in.First, KeepInput: in.KeepOpen,
		})
		if !o.Helper { // a helper that could not become the agent is started again
			o.OnCgroupEmpty = in.onEmpty
		}
		return launch(ctx, o, in.onStop)
	}
	agent, err := start(t.messageEnv(maxVariable))
	if errors.Is(err, syscall.E2BIG) { // where the stack is small, arguments and variables together may have less room than one of them
		agent, err = start(t.messageEnv(0))
	}
	if errors.Is(err, syscall.E2BIG) && t.command.HasPlaceholder() {
		return nil, errTooLong
	}
	if err == nil {
		agent.used = t.used.add
		t.uses(agent.Pid())
	}
	return agent, err
}

// place is where the agent works.
func (t *turn) place() ExecEnv {
	return ExecEnv{
		Dir: t.dir(), Roots: t.o.workDirs(), Env: t.keptEnv(), Shell: t.o.Config.Shell, MCPServers: t.servers,
		Private: t.o.Private, Chats: t.chats(), User: t.sandbox.User(), ApplySandbox: t.sandboxed,
	}
}

// chats tell the folders of other chats.
func (t *turn) chats() []ChatFolders {
	return []ChatFolders{{Parent: filepath.Dir(t.userDir), Own: t.userDir}}
}

func (t *turn) dir() string {
	if t.o.Config.Cwd != "" {
		return t.o.Config.Cwd
	}
	return t.o.Workspace
}

func (t *turn) tooLong() (Outcome, error) {
	return Outcome{Status: Failed}, t.emit(Frame{Kind: Error, Code: "TOO_LONG", Text: fmt.Sprintf(
		"Your message is too long for this bot: its command line holds at most %d KiB.", maxCommand>>10)})
}

// take logs what is for the log, checks media and passes on what the user is to see.
func (t *turn) take(f Frame) error {
	f.Text = Clean(f.Text)
	if f.Kind == Log {
		t.log.Check(logLevel(f.Level), "agent").Write(zap.String("text", f.Text))
		if t.req.OnLog != nil {
			t.req.OnLog(f)
		}
		return nil
	}
	if len(f.Media) > 0 {
		f.Media = t.resolveTempPaths(f)
		return t.media.emitMedia(f, t.reveal, t.emit)
	}
	return t.emit(f)
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
