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
	"sync/atomic"
	"syscall"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"nanobot/config"
	"nanobot/internal/words"
	"nanobot/terminal/process"
	"nanobot/terminal/sandbox"
)

// Options configures a Runner.
type Options struct {
	Config    config.Terminal
	Workspace string // absolute
	Protocol  Protocol
	Environ   []string        // the gateway's own environment
	Secrets   []config.Secret // of the gateway, never shown to the agent
	Private   []string        // the gateway's own files and folders, which are never sent
	Readable  []string        // files in Private that have no secrets, which agents may read
	State     string          // the folder of the gateway's state; "": none
	Program   string          // the gateway's executable, which sandboxed agents cannot change; "": unknown
	// Warm allows that processes are started before their message, as Config.Warm says.
	Warm bool
	// Agent is the agent's name, for the owner of its processes.
	Agent string
	// Socket is the path of the daemon's socket for agents' tools; "": there is none.
	Socket string
	// Supervisor kills all descendants of an agent when the agent ends; nil: processes that leave
	// the agent's process group survive.
	Supervisor *process.Supervisor
	// FindLinks is Turn.FindLinks.
	FindLinks func(markdown string) []Link
	Log       *zap.Logger
}

// Request is one incoming message for the agent.
type Request struct {
	Channel, ChatID string
	Text            string
	Media           []string
	MessageID       string
	User            *User
	Words           words.Words // for the person
	ThreadID        string
	Group           bool
	ReplyTo         *Quote
	Forwarded       *Forwarded
	MediaNames      []string
	RunID           string
	Attempt         int
	ConversationID  string
	History         []HistoryEntry // oldest first
	// Ask puts the agent's questions to the person; nil: nobody answers.
	Ask Ask
	// Offer posts the pickers of the protocol; nil: people cannot choose.
	Offer Offer
	// SessionAccess is Turn.SessionAccess; nil: OwnSessions.
	SessionAccess func(ctx context.Context) (SessionAccess, error)
	// Injections has messages that the person sends while the agent runs; nil: none, and stdin is
	// closed after the envelope. A message stays in the channel until the agent reads, so a sender
	// must not block longer than the turn. Its files are granted by GrantFiles first.
	Injections <-chan Injection
	// Push, if not nil, sends a Message of the agent outside of turns. It may be called after the
	// turn.
	Push func(Frame) error
	// OnRefuseInjections, if not nil, is called if the agent accepts no injections.
	OnRefuseInjections func()
	// BoardHidden is Turn.BoardHidden.
	BoardHidden func() bool
	// AwaitPerson, if not nil, is called when the turn begins to wait for messages of the person
	// without running a process, and resume when the turn continues. See Turn.AwaitPerson.
	AwaitPerson func(ctx context.Context) (resume func(ctx context.Context) error)
	// PersonTexts, if not nil, returns the person's messages since the turn began, without answers
	// to questions.
	PersonTexts func() []string
	// OnCancel, if not nil, is called after the timeout or a stop. Frames may follow.
	OnCancel func()
	// RunName marks the agent's processes, and GatewayName persistent agents, so that KillRun and
	// KillPersistent find them after a crash. Without a name there is no mark.
	RunName, GatewayName string
	// Task names the part of the message in this request, if the agent gets a message in several
	// parts; "": the whole message.
	Task string
	// Token proves to the gateway which chat the agent's processes work for; "": none.
	Token string
	// Memory, if not nil, holds what is remembered of the chat from earlier turns.
	Memory Memory
	// OnClockStart, if not nil, is called with Turn.PauseTimeout when the timeout of the turn
	// starts.
	OnClockStart func(pause func() (resume func()))
	// OnAgentInfo, if not nil, is called with what the agent reports about itself.
	OnAgentInfo func(AgentInfo)
	// OnLog, if not nil, is called with each log frame, in addition to logging it.
	OnLog func(Frame)
	// OnExit, if not nil, is called when the last process of the turn has exited, if that is known
	// while output is still being emitted and no other process will follow.
	OnExit func()
	// OnLaunch, if not nil, is called for each process that works on the turn, before its output is
	// read.
	OnLaunch func(pid int)
}

// attachedFiles returns the files that the person sent or quoted.
func (r Request) attachedFiles() []string {
	if r.ReplyTo == nil {
		return r.Media
	}
	return slices.Concat(r.Media, r.ReplyTo.Media)
}

// Runner runs turns of the configured agent. It is safe for concurrent use.
type Runner struct {
	o          Options
	command    config.Command
	env        []string
	providers  map[string]Provider
	servers    []MCPServer
	sandbox    *sandbox.Sandbox
	persistent persistentAgents
	sent       sentFilesOfTurns
	warm       atomic.Pointer[warmAgents] // nil: none are
	turns      sync.WaitGroup
}

// NewRunner prepares what all turns share. It returns an error when the command would evaluate the
// user's text, when a secret of the agent cannot be read, or when a required sandbox is not
// available.
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
	r.env = agentEnviron(slices.Concat(o.Environ, r.sandbox.UserEnviron()), o.Secrets, inEnv, o.Config.Env)
	return r, nil
}

// Turn runs the agent on one message and passes frames for the user to emit, in order. An error
// means that the gateway could not do its part; mistakes of the agent have been emitted.
func (r *Runner) Turn(ctx context.Context, req Request, emit func(Frame) error) (Outcome, error) {
	r.turns.Add(1)
	defer r.turns.Done()
	began := time.Now()
	cfg := r.o.Config
	if !cfg.On() {
		return Outcome{Status: Failed}, emit(Frame{Kind: Message, Text: req.Words.Text(words.SwitchedOff)})
	}
	userDir, err := UserDir(r.o.Workspace, req.ChatID)
	if err != nil {
		return Outcome{}, wrapShortage(err)
	}
	warm := r.warm.Load()
	waiting := warm.claimWaiting(req.Channel + ":" + req.ChatID)
	chat, err := r.sandbox.PrepareChat(userDir, req.attachedFiles(), r.pool() == nil && waiting == nil)
	t := &turn{
		Runner: r, req: req, emit: emit, userDir: userDir, chat: chat, waiting: waiting,
		log:    r.o.Log.With(zap.String("chat", req.Channel+":"+req.ChatID), zap.String("run", req.RunID)),
		reveal: cfg.RevealErrors.To(req.ChatID, req.Channel+":"+req.ChatID),
	}
	defer t.killWaiting()
	if err != nil {
		return Outcome{}, wrapShortage(err)
	}
	defer warm.prepare(t)
	t.media = t.mediaRules()
	var forget func()
	t.media.sent, forget = r.sent.begin(req.Channel + ":" + req.ChatID)
	defer forget()
	t.media.echo = echoFilter{texts: t.personTexts, began: began, dirs: []string{t.workDir(), r.o.Workspace, userDir}, home: lookupEnv(r.env, "HOME")}
	ctx, pause, cancel := withTimeout(ctx, time.Duration(cfg.Timeout)*time.Second)
	defer cancel()
	t.pause = pause
	if req.OnCancel != nil {
		defer context.AfterFunc(ctx, req.OnCancel)()
	}
	if req.OnClockStart != nil {
		req.OnClockStart(pause)
	}
	out, err := r.o.Protocol.Turn(ctx, Turn{
		Envelope: r.envelope(req, userDir), Run: cmp.Or(req.RunName, req.RunID) + req.Task,
		Launch:           t.launch,
		LaunchPersistent: t.launchPersistent, AttachProcess: t.attachProcess, PauseTimeout: pause, AwaitPerson: req.awaitPerson(pause), BoardHidden: req.BoardHidden,
		ExecEnv: t.execEnv(),
		Memory:  t.memory(), ReportAgentInfo: t.reportAgentInfo,
		Emit: t.emitFrame, Push: t.pushFunc(),
		Ask: t.ask, Offer: t.offer, SessionAccess: t.sessionAccess, Interactive: cfg.Interactive,
		Stdin:      cfg.Stdin,
		Injections: req.Injections, RefuseInjections: t.refuseInjections, PassMedia: cfg.PassMedia,
		Words: req.Words, Final: FinalOptions{Words: req.Words, Reveal: t.reveal, Timeout: cfg.Timeout, Format: cfg.Format, Stderr: cfg.Stderr},
		Redact:      r.redactSecrets,
		FindLinks:   r.o.FindLinks,
		OnAllExited: req.OnExit,
		MaxLine:     cfg.MaxLine, MaxOutput: cfg.MaxOutput,
	})
	if errors.Is(err, errCommandTooLong) {
		return t.emitTooLong()
	}
	used := t.used.total()
	out.Memory, out.CPU = used.Memory, used.CPU
	return out, err
}

// ExecEnv prepares the execution environment of a chat's agent, for commands that run outside of
// turns.
func (r *Runner) ExecEnv(channel, chatID string) (ExecEnv, error) {
	t, err := r.prepareOutsideTurn(channel, chatID)
	if err != nil {
		return ExecEnv{}, err
	}
	return t.execEnv(), nil
}

// prepareOutsideTurn prepares work for a chat outside of its turns. An agent of the chat may be
// running, so its temporary files stay.
func (r *Runner) prepareOutsideTurn(channel, chatID string) (*turn, error) {
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

// GrantFiles gives the agent access to files of a chat that arrive while it runs. The files of a
// Request are granted anyway.
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

// Close waits for running turns and ends persistent agents.
func (r *Runner) Close() {
	r.turns.Wait()
	r.warm.Load().close()
	if p := r.pool(); p != nil {
		p.Close()
	}
}

// mediaRoots returns the folders from which files may be sent. The chat's folder is not listed by
// itself, because an agent could replace it by a symbolic link; it is inside the workspace.
func (r *Runner) mediaRoots(chat sandbox.ChatDirs) []string {
	if roots := r.o.Config.MediaRoots; len(roots) > 0 {
		roots = slices.Clone(roots)
		for i, root := range roots { // the agent's /tmp may be its chat's
			roots[i] = r.sandbox.TempPath(chat, root)
		}
		return roots
	}
	if r.sandbox.SeparatesChats() {
		return []string{r.o.Workspace} // which contains the chats' temporary folders
	}
	// TMPDIR is often a private folder, and agents write to /tmp all the same.
	return []string{r.o.Workspace, os.TempDir(), "/tmp"}
}

func (r *Runner) envelope(req Request, userDir string) Envelope {
	e := Envelope{
		Version: Version, Text: req.Text, Channel: req.Channel, ChatID: req.ChatID,
		SessionKey: req.Channel + ":" + req.ChatID, Workspace: r.o.Workspace, UserDataDir: userDir,
		Providers: r.providers, MessageID: req.MessageID, User: req.User, ThreadID: req.ThreadID, Group: req.Group,
		ReplyTo: req.ReplyTo, Forwarded: req.Forwarded, RunID: req.RunID, Attempt: req.Attempt, ConversationID: req.ConversationID,
	}
	for _, h := range req.History {
		h.Time = h.Time.UTC().Truncate(time.Second) // many parsers do not accept nanoseconds
		if !r.o.Config.PassMedia {
			h.Media = nil
		}
		e.History = append(e.History, h)
	}
	if r.o.Config.PassMedia {
		e.Media, e.MediaNames = req.Media, req.MediaNames
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
		Private: t.o.Private, Chats: t.chatFolders(), User: t.sandbox.User(), ApplySandbox: t.sandboxed,
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

func (r *Runner) workDir() string {
	if r.o.Config.Cwd != "" {
		return r.o.Config.Cwd
	}
	return r.o.Workspace
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
