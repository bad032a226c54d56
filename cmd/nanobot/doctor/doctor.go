// Package doctor checks whether a bot works, and says how to fix it. It repairs nothing, and it
// makes no channel or protocol itself: its options provide them.
package doctor

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"nanobot/channels"
	"nanobot/cmd/nanobot/exit"
	"nanobot/cmd/nanobot/systemd"
	"nanobot/cmd/nanobot/trust"
	"nanobot/config"
	"nanobot/gateway/hooks"
	"nanobot/gateway/store"
	"nanobot/gateway/store/postgres"
	"nanobot/terminal"
	"nanobot/terminal/process"
	"nanobot/terminal/sandbox"
)

// DefaultCheckTime is enough to check databases of some hundred megabytes.
const DefaultCheckTime = 20 * time.Second

// Store is the state, in whichever engine.
type Store interface {
	store.Store
	// MissingCopies counts the files that undelivered messages need, and those that are missing.
	MissingCopies(ctx context.Context) (missing, all int, err error)
}

// Options say what to check, and provide the functions of the program's wiring.
type Options struct {
	Path      string // of the config
	Turn      bool   // run the agents
	OnlyAgent string // run this agent and make no other check; "" makes all checks
	// Listen is how long to watch for another program that uses the bot's token, and for an agent
	// that connects to the MCP tools.
	Listen    time.Duration
	CheckTime time.Duration // time limit for checking the databases; 0 is DefaultCheckTime
	Out       io.Writer
	JSON      bool // print JSON

	// Load reads a config, with the environment of this process.
	Load func(path string) (*config.Config, error)
	// Protocol describes the protocol with a name.
	Protocol func(name string) (terminal.Description, bool)
	// Prepare opens the channels of a config as serve does, and changes nothing. Its error has a
	// line for each mistake.
	Prepare func(*config.Config) (Prepared, error)
	// NewRunner makes a runner for the agent of a config, with this supervisor and the socket of
	// the MCP tools; "": none. It uses the protocol that wrap returns for the configured one.
	NewRunner func(cfg *config.Config, supervisor *process.Supervisor, socket string,
		wrap func(terminal.Protocol) terminal.Protocol) (*terminal.Runner, error)
	// ServeTools serves MCP tools without a chat to the agents of a supervisor until stop is
	// called. connected is closed when an agent has connected. The socket is "" if there is none.
	ServeTools func(*config.Config, *process.Supervisor) (socket string, connected <-chan struct{}, stop func())
	// OpenStore opens the state while a daemon may be running.
	OpenStore func(context.Context, *config.Config) (Store, error)
	// Database returns how to open the shared store of a config that has one.
	Database func(*config.Config) (postgres.Options, error)
	// PrivateFiles returns the files that agents must not send: the config, the secrets and the
	// files of the state.
	PrivateFiles func(*config.Config) []string
	// Operator is the user who runs the doctor.
	Operator channels.User
}

// Prepared has the open channels of a config.
type Prepared struct {
	Channels        map[string]channels.Channel // the enabled ones, by name
	MissingFeatures []string                    // configured features of isolation that this machine lacks
	Schedules       []string                    // a line about the next occurrences of each schedule
	Hooks           map[string]hooks.Hook       // by name
}

// doctor is one examination of a bot.
type doctor struct {
	Options

	cfg           *config.Config
	agent         string // the agent whose section is in cfg.Terminal; "" is the default one
	isService     bool   // the config is where the systemd units look for it
	unit          systemd.UnitState
	unitName      string     // "" if no unit belongs to the config
	daemonPID     int        // process ID of the daemon; 0 if it is not running
	membersUp     bool       // daemons on any machine use the shared store
	user          trust.User // the user of the daemon, if this process is root
	startedByRoot bool       // this process was started by a doctor of root, see runAsUser
	userErr       error      // why the user of the daemon is unknown
	damaged       bool       // the state cannot be used
	findings      findings
	printed       int // how many findings were printed
}

// Run makes the checks, prints the findings and returns them. The error is an exit.Error if the
// exit status of the program is not 0.
func Run(ctx context.Context, o Options) ([]channels.Finding, error) {
	d := &doctor{Options: o}
	status := d.examine(ctx)
	if ctx.Err() != nil {
		return d.findings, exit.Error{Status: exit.Interrupted}
	}
	if err := d.printSummary(); err != nil {
		return d.findings, err
	}
	if status != 0 {
		return d.findings, exit.Error{Status: status}
	}
	return d.findings, nil
}

// examine makes all checks, prints the findings as they come, and returns the exit status.
func (d *doctor) examine(ctx context.Context) int {
	if d.OnlyAgent != "" {
		return d.examineAgent(ctx)
	}
	if err := trust.CheckConfig(d.Path); err != nil {
		return d.reportConfigError(err)
	}
	bot, isBot := systemd.FindBot(d.Path)
	if d.isService = isBot; isBot {
		bot.SetEnviron()
	}
	prepared, ok := d.checkConfig(bot, isBot)
	if !ok {
		return exit.Config
	}
	for _, check := range []func(){
		d.findUser,
		func() { d.checkReadable(bot) },
		func() { d.add("systemd", d.checkUnit(ctx, bot, isBot)) },
		func() { d.add("daemon", d.findDaemon()) },
		d.checkWorkspace,
		func() { d.add("state", d.checkState(ctx)) },
		func() { d.checkDatabase(ctx) },
		func() { d.add("secrets", d.checkSecrets()) },
		d.checkDisk,
		func() { d.checkHTTP(ctx) },
		func() { d.checkHooks(ctx, prepared.Hooks) },
		func() { d.checkRoutes(ctx) },
		d.checkKernel,
		func() { d.forEachAgent(func() { d.add("isolation.user", d.checkSameUser()) }) },
		func() { d.forEachAgent(func() { d.add("agent", d.checkAgent(ctx)) }) },
		func() { d.add("check-agent", d.nameAgentCheck()) },
		func() { d.forEachAgent(func() { d.add("hear", d.checkHear(ctx)) }) },
		func() { d.checkNetworks(ctx, prepared.Channels) },
	} {
		if check(); ctx.Err() == nil { // the finding of an interrupted check means nothing
			d.printFindings()
		}
	}
	return d.exitStatus()
}

// forEachAgent makes a check for each agent. During the check, cfg.Terminal is the agent's section.
func (d *doctor) forEachAgent(check func()) {
	all := d.cfg
	defer func() { d.cfg, d.agent = all, "" }()
	for _, name := range all.AgentNames() {
		d.selectAgent(all, name)
		check()
	}
}

// selectAgent makes cfg.Terminal the section of an agent. It reports false if there is no such
// agent.
func (d *doctor) selectAgent(all *config.Config, name string) bool {
	own, ok := all.ForAgent(name)
	if !ok {
		return false
	}
	if d.cfg, d.agent = own, name; name == config.DefaultAgent {
		d.agent = ""
	}
	return true
}

// exitStatus returns the exit status for the findings.
func (d *doctor) exitStatus() int {
	if d.damaged {
		return exit.Config
	}
	if slices.ContainsFunc(d.findings, func(f channels.Finding) bool { return f.Status == channels.Bad }) {
		return exit.Failed
	}
	return 0
}

// reportConfigError reports why the config cannot be used, and returns the exit status.
func (d *doctor) reportConfigError(err error) int {
	var mistakes config.Mistakes
	if !errors.As(err, &mistakes) {
		d.add("config", bad(err.Error(), "run this as the daemon's user"))
		return exit.Failed
	}
	for _, m := range mistakes {
		fix := `correct it; "nanobot schema" lists all settings`
		if m.Line == 0 && m.Key == "" && m.Variable == "" { // the file as a whole
			fix = "name the bot's config with --config, or run this as a user who can read it, such as with sudo"
		}
		d.add("config", bad(m.String(), fix))
	}
	return exit.Config
}

// loadConfig reads the config.
func (d *doctor) loadConfig() (ok bool) {
	var err error
	if d.cfg, err = d.Load(d.Path); err != nil {
		d.reportConfigError(err)
	}
	return err == nil
}

// checkConfig reads the config and its secrets and opens the channels, as the daemon does before it
// changes anything.
func (d *doctor) checkConfig(bot systemd.Bot, isBot bool) (Prepared, bool) {
	const check = "config"
	if !d.loadConfig() {
		return Prepared{}, false
	}
	cfg := d.cfg
	prepared, err := d.Prepare(cfg)
	if err != nil {
		for line := range strings.Lines(err.Error()) {
			fix := "correct it in " + d.Path + ", or create the file of the secret"
			if strings.Contains(line, unix.EACCES.Error()) {
				fix = suggestSudo(unix.EACCES, fix)
			}
			d.add(check, bad(strings.TrimSpace(line), fix))
		}
		return Prepared{}, false
	}
	if len(prepared.Channels) == 0 {
		d.add(check, doubtful("no channel is enabled, so nanobot serve does not start; nanobot run and nanobot chat work",
			"enable one under channels in "+d.Path))
	}
	d.reportWarnings(bot, isBot)
	for _, missing := range prepared.MissingFeatures {
		d.add("isolation", doubtful(missing, "enable it on this machine, or change "+d.Path+
			"; a systemd service may have features that this check cannot see"))
	}
	if isBot && slices.ContainsFunc(cfg.AgentNames(),
		func(name string) bool { own, _ := cfg.ForAgent(name); return own.Terminal.Sandbox == sandbox.Landlock }) {
		d.add("isolation",
			good("the unit forbids namespaces (RestrictNamespaces=) unless a drop-in allows them. Therefore the agent can use "+
				"the existing files and folders of the workspace, but "+
				"directly in the workspace it can neither list, create, rename nor delete anything. Give it a subfolder to work "+
				"in, or see relax.conf. Sockets of other programs that it can connect to are in the daemon's log"))
	}
	d.add(check, good("%s can be read and has no mistakes", cfg.File()))
	for _, line := range prepared.Schedules {
		d.add("schedules", good("%s", line))
	}
	return prepared, true
}

// checkNetworks lets all channels ask their networks about the bot, at the same time.
func (d *doctor) checkNetworks(ctx context.Context, open map[string]channels.Channel) {
	e := channels.ExamineOptions{Running: d.daemonPID != 0 || d.membersUp, Listen: d.Listen}
	names := slices.Sorted(maps.Keys(open))
	found := make([][]channels.Finding, len(names))
	var work sync.WaitGroup
	for i, name := range names {
		if x, ok := open[name].(channels.Examiner); ok {
			work.Go(func() { found[i] = d.nameAccount(name, x.Examine(ctx, e)) })
		}
	}
	work.Wait()
	d.findings = append(d.findings, slices.Concat(found...)...)
}

// nameAccount replaces the network in the findings of a channel by the channel, and the section of
// the network by that of the channel.
func (d *doctor) nameAccount(channel string, found []channels.Finding) []channels.Finding {
	network, _, _ := strings.Cut(channel, ".")
	section := strings.NewReplacer("channels."+network+".", d.cfg.ChannelKey(channel)+".")
	for i := range found {
		f := &found[i]
		f.Check = channel + strings.TrimPrefix(f.Check, network)
		f.Detail, f.Fix = section.Replace(f.Detail), section.Replace(f.Fix)
	}
	return found
}
