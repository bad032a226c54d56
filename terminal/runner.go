package terminal

import (
	"cmp"
	"context"
	"errors"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"go.uber.org/zap"

	"nanobot/config"
	"nanobot/internal/placeholder"
	"nanobot/internal/words"
	"nanobot/terminal/media"
	"nanobot/terminal/process"
	"nanobot/terminal/sandbox"
	"nanobot/terminal/warm"
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
	// FindLinks is Host.FindLinks; nil: none are found.
	FindLinks func(markdown string) []Link
	// TypeOf returns the MIME type of a file, and SpokenText what is spoken of an answer. Without
	// TypeOf no file is turned into text.
	TypeOf     func(path, name string) string
	SpokenText func(text string, format Format) string
	// Record records the turns; nil: they are not recorded.
	Record RecordFunc
	Log    *zap.Logger
}

// Runner runs turns of the configured agent. It is safe for concurrent use. The embedded interfaces
// are the protocol's, or do nothing if the protocol does not implement them.
type Runner struct {
	Controller
	SecretReader
	CommandStopper
	LeftCommandEnder
	Restarter
	o          Options
	command    placeholder.Command
	plain      []string // the words of the command if it needs no shell, see plainWords
	env        []string
	providers  map[string]Provider
	servers    []MCPServer
	sandbox    *sandbox.Sandbox
	persistent persistentAgents
	sent       media.SentByTurns
	warm       *warm.Waiting
	places     chatPlaces
	turns      sync.WaitGroup
	beside     chan struct{} // has an element for each command of hear and speak that runs

	restartWarning restartWarning
}

// NewRunner prepares what all turns share. It returns an error when the command would evaluate the
// user's text, when a secret of the agent cannot be read, or when a required sandbox is not
// available. The error joins a config.Problem of the agent's section for each.
func NewRunner(o Options) (*Runner, error) {
	r := &Runner{
		Controller: featureOf[Controller](o.Protocol), SecretReader: featureOf[SecretReader](o.Protocol),
		CommandStopper: featureOf[CommandStopper](o.Protocol), Restarter: featureOf[Restarter](o.Protocol),
		LeftCommandEnder: featureOf[LeftCommandEnder](o.Protocol),
		o:                o, providers: map[string]Provider{},
		places: chatPlaces{last: map[string]Place{}, trees: map[string]checkedTree{}},
		beside: make(chan struct{}, max(2, runtime.NumCPU())), // one may use a whole core
	}
	var err error
	var failures []error
	if r.command, err = placeholder.Parse(o.Config.Shell, o.Config.Command); err != nil {
		failures = append(failures, config.Problem{Path: []string{"command"}, Text: err.Error()})
	}
	for name, p := range o.Config.Providers {
		provider := Provider{Models: p.Models, BaseURL: p.BaseURL, APIKeys: []string{}}
		for i, key := range p.APIKeys {
			v, err := key.RevealAt("providers", name, "apiKeys", strconv.Itoa(i))
			failures = append(failures, err)
			provider.APIKeys = append(provider.APIKeys, v)
		}
		r.providers[name] = provider
	}
	if r.servers, err = mcpServers(o.Config.MCPServers); err != nil {
		failures = append(failures, err)
	}
	if r.sandbox, err = newSandbox(o); err != nil {
		failures = append(failures, err)
	}
	if err := errors.Join(failures...); err != nil {
		return nil, err
	}
	var inEnv map[string]Provider
	if o.Config.ProviderEnv {
		inEnv = r.providers
	}
	folder := []string{"PWD=" + r.ownDir()} // as a shell sets it
	r.env = agentEnviron(slices.Concat(o.Environ, r.sandbox.UserEnviron(), folder), o.Secrets, inEnv, o.Config.Env)
	if !r.command.HasPlaceholder() {
		r.plain = r.plainWords(o.Config.Command)
	}
	r.warm = r.newWaiting()
	return r, nil
}

// Turn runs the agent on one message and passes frames for the user to emit, in order. An error
// means that the gateway could not do its part; mistakes of the agent have been emitted.
func (r *Runner) Turn(ctx context.Context, req Request, chat Chat) (out Outcome, err error) {
	r.turns.Add(1)
	defer r.turns.Done()
	defer r.warnAboutRestarts()
	defer r.record(req, &chat, &out, &err)()
	began := time.Now()
	cfg := r.o.Config
	if !cfg.On() {
		return Outcome{Status: Failed}, chat.Emit(Frame{Kind: Message, Text: req.Words.Text(words.SwitchedOff)})
	}
	userDir, err := UserDir(r.o.Workspace, req.Channel, req.ChatID)
	if err != nil {
		return Outcome{}, wrapShortage(err)
	}
	r.enterPlace(req)
	t := &turn{
		Runner: r, Chat: chat, req: req, userDir: userDir,
		log:    r.o.Log.WithLazy(zap.String("chat", req.chatKey()), zap.String("run", req.RunID)),
		reveal: cfg.RevealErrors.Includes(req.ChatID, req.chatKey()),
	}
	t.setPlace()
	t.waiting = r.warm.Claim(req.chatKey(), t.dir)
	defer t.killWaiting()
	t.dirs, err = r.sandbox.PrepareChat(userDir, req.attachedFiles(), r.pool() == nil && t.waiting == nil)
	if err != nil {
		return Outcome{}, wrapShortage(err)
	}
	t.media = t.mediaRules()
	var forget func()
	t.sent, forget = r.sent.Begin(req.chatKey())
	defer forget()
	t.echo = media.EchoFilter{
		Texts: t.personTexts, Began: began, Dirs: []string{t.dir, r.o.Workspace, userDir},
		Home: lookupEnv(r.env, "HOME"),
	}
	ctx, pause, cancel := withTimeout(ctx, time.Duration(cfg.Timeout)*time.Second)
	defer cancel()
	t.pause, t.execEnvOnce = pause, sync.OnceValue(t.execEnv)
	defer context.AfterFunc(ctx, func() { chat.Report(Cancelled{}) })()
	chat.Report(ClockStarted{Pause: pause})
	work := Turn{
		Run: cmp.Or(req.RunName, req.RunID) + req.Task, Words: req.Words,
		FittingSize: req.FittingSize,
		Settings: Settings{
			Stdin: cfg.Stdin, Interactive: cfg.Interactive, PassMedia: cfg.PassMedia, MaxLine: cfg.MaxLine,
			MaxOutput: cfg.MaxOutput,
			Final:     FinalOptions{Reveal: t.reveal, Timeout: cfg.Timeout, Format: cfg.Format, Stderr: cfg.Stderr},
		},
		Chat: t, Host: t,
	}
	if err := t.preparePlace(ctx); err != nil {
		return t.emitPlaceError(ctx, work, err)
	}
	if left, ok := t.unspoken(ctx); ok {
		return t.speak(ctx, left)
	}
	if err := t.hear(ctx); err != nil {
		return t.emitPlaceError(ctx, work, err)
	}
	work.Envelope = t.recordEnvelope(t.envelope())
	defer t.prepareNext()
	out, err = r.o.Protocol.Turn(ctx, work)
	if errors.Is(err, errCommandTooLong) {
		return t.emitTooLong()
	}
	if err == nil {
		out, err = t.speakAnswer(ctx, out)
	}
	used := t.used.total()
	out.Memory, out.CPU = used.Memory, used.CPU
	return out, err
}

// ExecEnv prepares the execution environment of a chat's agent, in the place of the chat's last
// turn, for commands that run outside of turns.
func (r *Runner) ExecEnv(channel, chatID string) (ExecEnv, error) {
	t, err := r.prepareOutsideTurn(channel, chatID)
	if err != nil {
		return ExecEnv{}, err
	}
	return t.execEnv(), nil
}

// ExecEnvFor is ExecEnv in the place of a message, which it prepares. Its error is a *words.Error
// if the agent cannot work there.
func (r *Runner) ExecEnvFor(ctx context.Context, req Request, chat Chat) (ExecEnv, error) {
	r.enterPlace(req)
	t, err := r.prepareOutsideTurn(req.Channel, req.ChatID)
	if err != nil {
		return ExecEnv{}, err
	}
	t.req, t.Chat = req, chat
	if err := t.preparePlace(ctx); err != nil {
		return ExecEnv{}, err
	}
	return t.execEnv(), nil
}

// prepareOutsideTurn prepares work for a chat outside of its turns, in the place of the last one.
// An agent of the chat may be running, so its temporary files stay.
func (r *Runner) prepareOutsideTurn(channel, chatID string) (*turn, error) {
	userDir, err := UserDir(r.o.Workspace, channel, chatID)
	if err != nil {
		return nil, err
	}
	chat, err := r.sandbox.PrepareChat(userDir, nil, false)
	if err != nil {
		return nil, err
	}
	t := &turn{
		Runner: r, req: Request{Envelope: Envelope{Channel: channel, ChatID: chatID}}, userDir: userDir,
		dirs: chat, log: r.o.Log,
	}
	t.req.Place = r.places.ofChat(t.req.chatKey())
	t.setPlace()
	return t, nil
}

// UserRoot creates the folder of a chat and opens it.
func (r *Runner) UserRoot(channel, chatID string) (*os.Root, error) {
	return UserRoot(r.o.Workspace, channel, chatID)
}

// GrantFiles gives the agent access to files of a chat that arrive while it runs. The files of a
// Request are granted anyway.
func (r *Runner) GrantFiles(channel, chatID string, files []string) error {
	if len(files) == 0 {
		return nil
	}
	userDir, err := UserDir(r.o.Workspace, channel, chatID)
	if err != nil {
		return err
	}
	return r.sandbox.ChownToAgent(userDir, files)
}

// Close waits for running turns and ends persistent agents.
func (r *Runner) Close() {
	r.turns.Wait()
	r.warm.Close()
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

func (t *turn) envelope() Envelope {
	e := t.req.Envelope
	e.Version, e.SessionKey, e.Workspace, e.UserDataDir, e.Providers = Version, t.req.chatKey(), t.workspace,
		t.userDir, t.providers
	e.Channel, e.Account = splitChannel(e.Channel)
	e.History = slices.Clone(e.History)
	for i := range e.History {
		e.History[i].Time = e.History[i].Time.UTC().Truncate(time.Second) // many parsers do not accept nanoseconds
	}
	if !t.o.Config.PassMedia {
		e.Media, e.MediaNames = nil, nil
		e.Heard = slices.Clone(e.Heard)
		for i, h := range e.Heard {
			e.Heard[i].File = h.Name
		}
		for i := range e.History {
			e.History[i].Media = nil
		}
	}
	return e
}

// FindLinks returns the links and images of a Markdown text.
func (r *Runner) FindLinks(markdown string) []Link {
	if r.o.FindLinks == nil {
		return nil
	}
	return r.o.FindLinks(markdown)
}

// ownDir returns the agent's own working folder.
func (r *Runner) ownDir() string {
	if r.o.Config.Cwd != "" {
		return r.o.Config.Cwd
	}
	return r.o.Workspace
}
