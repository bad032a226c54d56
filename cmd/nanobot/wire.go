package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/channels/discord"
	"nanobot/channels/markdown"
	"nanobot/channels/telegram"
	"nanobot/channels/web"
	"nanobot/cmd/nanobot/recording"
	"nanobot/cmd/nanobot/state"
	"nanobot/config"
	"nanobot/gateway"
	"nanobot/gateway/intake"
	"nanobot/gateway/turn"
	"nanobot/internal/dbfile"
	"nanobot/internal/httpd"
	"nanobot/internal/nofollow"
	"nanobot/internal/words"
	"nanobot/terminal"
	"nanobot/terminal/acp"
	"nanobot/terminal/blocks"
	"nanobot/terminal/keys"
	"nanobot/terminal/plain"
	"nanobot/terminal/process"
	"nanobot/terminal/rich"
)

// networks are the chat networks of serve; a new one is a line here.
var networks = []channels.Description{
	telegram.Describe(telegram.Timing{}),
	discord.Describe(),
	web.Describe(),
}

// pageNetwork is the network whose chats the HTTP API names without a channel.
const pageNetwork = web.Name

// protocols are the ways to talk with an agent; a new one is a line here. The first is the default.
var protocols = []terminal.Description{
	plain.Describe(),
	rich.Describe(),
	acp.Describe(),
	keys.Describe(),
	keys.DescribeScreen(),
	blocks.Describe(),
}

// openChannels opens the enabled channels. The error has the mistakes of all channels.
func openChannels(cfg *config.Config, s prepareOptions) (map[string]channels.Channel, error) {
	open := map[string]channels.Channel{}
	database, err := channelDatabase(cfg)
	failures := []error{err}
	for _, n := range enabledChannels(cfg) {
		ch, err := n.Open(channels.OpenOptions{
			Channel: n.Name, Settings: cfg.Channels[n.Name], StateDir: cfg.SharedDir(), Database: database,
			State: s.state, Requester: identifyUser, SignIns: s.signIns, Log: s.log,
			Admitted: func(user string) bool { return s.isAdmitted(n.Name, user) },
			Folder:   func(chat string) (*os.Root, error) { return terminal.UserRoot(cfg.Workspace, n.Name, chat) },
		})
		if err != nil {
			failures = append(failures, cfg.Locate(err, cfg.ChannelPath(n.Name)...))
			continue
		}
		open[n.Name] = ch
	}
	return open, errors.Join(append(failures, checkTokens(cfg)...)...)
}

// checkTokens reports accounts of one network whose tokens, which may be in different files, are
// the same: each message would be answered twice.
func checkTokens(cfg *config.Config) (mistakes []error) {
	taken := map[string]string{}
	for _, n := range enabledChannels(cfg) {
		account, ok := cfg.Channels[n.Name].(config.Account)
		if !ok {
			continue
		}
		network, _, _ := strings.Cut(n.Name, ".")
		for _, own := range account.OwnValues() {
			value, err := config.Secret(own.Value).Reveal()
			key := strings.Join([]string{network, own.Key, own.Scope, strings.TrimPrefix(value, "Bot ")}, "\x00")
			if first, found := taken[key]; found && err == nil {
				mistakes = append(mistakes, cfg.Locate(config.Problem{
					Path: []string{own.Key}, Text: fmt.Sprintf("must have another %s than %s", own.Noun, cfg.ChannelKey(first)),
				}, cfg.ChannelPath(n.Name)...))
			} else if err == nil {
				taken[key] = n.Name
			}
		}
	}
	return mistakes
}

// identifyUser returns the user of a request that the HTTP server has authenticated.
func identifyUser(r *http.Request) (user string, operator bool) {
	id := httpd.IdentityOf(r.Context())
	return id.User, id.Role == httpd.Operator
}

// signIns are the sign-ins at the HTTP server.
type signIns struct{ site **site }

// Of returns the name of the sign-in of a request; "" for a script.
func (signIns) Of(r *http.Request) string { return httpd.SignIn(r.Context()) }

// Valid reports whether a sign-in has neither ended nor expired.
func (s signIns) Valid(ctx context.Context, name string) (bool, error) {
	return (*s.site).access.Grants().SignedIn(ctx, name)
}

var errNoChannel = errors.New("no channel is enabled, so nobody could talk to the bot; enable one in the config, or " +
	"run nanobot web or nanobot chat to talk to it here")

// agentHost has the parts of the daemon that agents are started with.
type agentHost struct {
	supervisor *process.Supervisor
	socket     string   // path of the socket of the MCP tools; "" if there is none
	environ    []string // the environment from which agents get theirs; nil: that of this process
	// record is of the agent of a config; nil: turns are not recorded.
	record func(*config.Config) terminal.RecordFunc
}

// newSettings returns the settings of a gateway that a reload can change.
func newSettings(cfg *config.Config, h agentHost, log *zap.Logger) (gateway.Settings, error) {
	agents, err := newAgents(cfg, h, log)
	configured, hookErr := newHooks(cfg)
	recordErr := checkRecordFolder(cfg)
	if err = errors.Join(err, hookErr, recordErr); err != nil {
		return gateway.Settings{}, err
	}
	s := gateway.Settings{
		Agents: agents, Routes: cfg.Routes, Quotas: cfg.Quotas, Hooks: configured, AllowFrom: map[string][]string{},
		WhileRunning: intake.WhileRunning(cfg.Gateway.WhileRunning), QueueLimit: cfg.Gateway.QueueLimit,
		RatePerMinute: cfg.Gateway.RatePerMinute,
		Gather:        time.Duration(cfg.Gateway.Gather) * time.Millisecond,
		OnCrash:       turn.OnCrash(cfg.Gateway.OnCrash), AtMostOnce: cfg.Gateway.Delivery == "atMostOnce",
		DrainTimeout: time.Duration(cfg.Gateway.DrainTimeout) * time.Second,
		Files: gateway.Files{
			MaxBytes: int64(cfg.Gateway.Files.Max) << 20,
			Keep:     time.Duration(cfg.Gateway.Files.KeepDays) * 24 * time.Hour,
		},
		Keep:  cfg.Gateway.Keep,
		Roles: cfg.Roles.People(), Words: wordSettings(cfg), Schedules: newSchedules(cfg), Timezone: cfg.Gateway.Timezone,
		Runbooks: gateway.Runbooks{
			Folder: runbooksFolder(cfg), Approvers: cfg.Runbooks.Approvers, CheckShell: cfg.Runbooks.AgentShell == "check",
		},
	}
	s.Recordings = recordFolders(cfg)
	for name, settings := range cfg.Channels {
		if list, ok := settings.(channels.AccessList); ok {
			s.AllowFrom[name] = list.Allowed()
		}
	}
	return s, nil
}

// wordSettings returns the operator's settings of the texts for people.
func wordSettings(cfg *config.Config) words.Settings {
	s := words.Settings{Overrides: cfg.Gateway.Words}
	if cfg.Gateway.Language != "auto" {
		s.Language = cfg.Gateway.Language
	}
	return s
}

// runbooksFolder returns the folder of the runbooks, or "" for none. With sandboxed agents the
// folder must exist, and within the workspace it must not be a symbolic link to the outside: an
// agent could otherwise make a link to files that it must not read.
func runbooksFolder(cfg *config.Config) string {
	folder := cfg.Runbooks.Folder
	if !anyAgent(cfg, func(t config.Terminal) bool { return t.Sandbox != "none" && t.Sandbox != "" || t.User != "" }) {
		return folder
	}
	real, err := filepath.EvalSymlinks(folder)
	if err != nil || containsAny(cfg.Workspace, folder) && !containsAny(cfg.Workspace, real) {
		return ""
	}
	return real
}

// newAgents makes the agents of a config. The error has the mistakes of all agents.
func newAgents(cfg *config.Config, h agentHost, log *zap.Logger) (map[string]gateway.Agent, error) {
	agents := map[string]gateway.Agent{}
	var failures []error
	for _, name := range cfg.AgentNames() {
		own, _ := cfg.ForAgent(name)
		runner, err := newRunner(own, h, log)
		if err != nil {
			failures = append(failures, err)
			continue
		}
		agents[name] = gateway.Agent{
			Runner: runner, Progress: turn.Progress(own.Terminal.Progress), PassHistory: own.Terminal.PassHistory,
			Injectable: own.SupportsInject(), Approvers: own.Terminal.Approvers, Launch: launchRecord(runner),
			Labels: own.Terminal.Labels,
		}
	}
	return agents, cfg.Locate(errors.Join(failures...))
}

// prepareOptions has the parameters of prepare.
type prepareOptions struct {
	host       agentHost
	isAdmitted func(channel, user string) bool // reports whether a user has access, once the gateway runs
	signIns    channels.SignIns                // usable once the site is open
	state      *dbfile.Watch
	log        *zap.Logger
}

// prepare makes the settings and channels of a config before the daemon changes anything: it reads
// the secrets, checks the sandbox, and opens the channels. Its error has all mistakes.
func prepare(cfg *config.Config, s prepareOptions) (gateway.Settings, map[string]channels.Channel, error) {
	settings, err := newSettings(cfg, s.host, s.log)
	open, openErr := openChannels(cfg, s)
	err = errors.Join(err, openErr)
	if cfg.HTTP.Listen != "" {
		_, tokenErr := cfg.HTTP.RevealToken()
		err = errors.Join(err, tokenErr)
	}
	if err != nil {
		return gateway.Settings{}, nil, cfg.Locate(errors.Join(err, closeChannels(open)))
	}
	return settings, open, nil
}

// checkStart returns the error with which serve would refuse to start. It reads credentials only
// where systemd provides them.
func checkStart(cfg *config.Config) error {
	supervisor := process.NewSupervisor(process.SupervisorOptions{})
	defer supervisor.Close()
	_, open, err := prepare(cfg.WithoutCredentials(),
		prepareOptions{agentHost{supervisor: supervisor}, admitsNobody, nil, dbfile.NewWatch(), zap.NewNop()})
	if err != nil {
		return err
	}
	return closeChannels(open)
}

// admitsNobody is the access list of channels that are opened only to be checked.
func admitsNobody(_, _ string) bool { return false }

// newDirect makes the gateway of run and chat, which stores nothing. Its words are English. record
// returns the path of a turn's cassette; nil: turns are not recorded.
func newDirect(cfg *config.Config, supervisor *process.Supervisor, record recordPath, log *zap.Logger) (
	*gateway.Direct, error,
) {
	h := agentHost{supervisor: supervisor}
	if record != nil {
		h.record = func(cfg *config.Config) terminal.RecordFunc {
			return recording.New(log).For(recordedAgent(cfg, record))
		}
	}
	runner, err := newRunner(cfg, h, log)
	if err != nil {
		return nil, err
	}
	return &gateway.Direct{Runner: runner, HideProgress: cfg.Terminal.Progress == "off", Log: log}, nil
}

func newRunner(cfg *config.Config, h agentHost, log *zap.Logger) (*terminal.Runner, error) {
	protocol, err := newProtocol(cfg)
	if err != nil {
		return nil, err
	}
	return newRunnerWith(cfg, protocol, h, log)
}

// newProtocol makes the protocol that a config names.
func newProtocol(cfg *config.Config) (terminal.Protocol, error) {
	p, ok := findProtocol(cfg.Terminal.Protocol)
	if !ok {
		return nil, fmt.Errorf("protocol %q is not part of this build", cfg.Terminal.Protocol)
	}
	return p.Open(terminal.OpenOptions{
		Config: cfg.Terminal, MaxConcurrent: cfg.Gateway.MaxConcurrent, Agents: cfg.CountProtocol(cfg.Terminal.Protocol),
	}), nil
}

func newRunnerWith(cfg *config.Config, protocol terminal.Protocol, h agentHost, log *zap.Logger) (
	*terminal.Runner, error,
) {
	if cfg.AgentName() != config.DefaultAgent {
		log = log.With(zap.String("agent", cfg.AgentName()))
	}
	program, err := os.Executable()
	if err != nil {
		program = "" // not protected from agents; where packages install it, only root can write
	}
	if h.environ == nil {
		h.environ = os.Environ()
	}
	o := terminal.Options{
		Config: cfg.Terminal, Workspace: cfg.Workspace, Protocol: protocol, Environ: h.environ,
		Secrets: cfg.SecretsToHide(), Private: privatePaths(cfg), Readable: readablePaths(cfg), State: cfg.Gateway.StateDir,
		Program: program, Supervisor: h.supervisor,
		Warm: cfg.CanWarm(), Agent: cfg.AgentName(), Socket: h.socket, FindLinks: findLinks,
		TypeOf: channels.TypeOf, SpokenText: spokenText, Log: log,
	}
	if h.record != nil {
		o.Record = h.record(cfg)
	}
	runner, err := terminal.NewRunner(o)
	if failures := append(cfg.CheckPrograms(), err); errors.Join(failures...) != nil {
		return nil, cfg.Locate(errors.Join(failures...), cfg.AgentPath()...)
	}
	for _, missing := range runner.MissingFeatures() {
		log.Warn(missing)
	}
	return runner, nil
}

// findLinks returns the links and images of a Markdown text.
func findLinks(text string) (links []terminal.Link) {
	for _, l := range markdown.Links(text) {
		links = append(links, terminal.Link(l))
	}
	return links
}

// spokenText returns what is spoken of an answer.
func spokenText(text string, format terminal.Format) string {
	return markdown.Spoken(text, channels.Format(format))
}

// readablePaths returns the paths that agents may read but not change: the runbooks, and the config
// if it has only references to secrets.
func readablePaths(cfg *config.Config) []string {
	if cfg.FileContainsSecrets() || cfg.File() == "" {
		return []string{cfg.Runbooks.Folder}
	}
	return []string{cfg.Runbooks.Folder, cfg.File()}
}

// privatePaths returns the paths that agents must not change, send or, except for readablePaths,
// read: the config, key files, runbooks and the state. The state folder is private as a whole,
// since SQLite would read a journal that an agent puts beside the database. If agents work in that
// folder, only the files of the state are private.
func privatePaths(cfg *config.Config) []string {
	dir := cfg.Gateway.StateDir
	paths := append(append(cfg.SecretFiles(), auditFiles(cfg)...), cfg.File(), cfg.Runbooks.Folder)
	for _, p := range state.Parts(stateFolders()) {
		paths = append(paths, filepath.Join(dir, p.Name))
	}
	if !containsAny(dir, filepath.Join(cfg.Workspace, "users"), cfg.Terminal.Cwd) {
		paths = append(paths, dir)
	}
	paths = append(paths, recordFolder(cfg))
	if shared := cfg.SharedDir(); shared != dir {
		paths = append(paths, filepath.Dir(shared)) // and the folders of other members beside it
	}
	return paths
}

// containsAny reports whether a folder contains or is one of the paths, as written or with symbolic
// links resolved. The paths need not exist.
func containsAny(folder string, paths ...string) bool {
	actual := func(path string) string {
		if end, _, err := nofollow.Resolve(path); err == nil {
			return end
		}
		return path
	}
	return slices.ContainsFunc(paths, func(path string) bool {
		return path != "" && (nofollow.Within(folder, path) || nofollow.Within(actual(folder), actual(path)))
	})
}
