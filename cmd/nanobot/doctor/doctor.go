// Package doctor checks whether a bot works, and explains how to fix it. It repairs nothing, and
// makes no channel or protocol itself: its options provide them.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"nanobot/channels"
	"nanobot/cmd/nanobot/exit"
	"nanobot/cmd/nanobot/systemd"
	"nanobot/cmd/nanobot/trust"
	"nanobot/config"
	"nanobot/gateway/store/sqlite"
	"nanobot/terminal"
	"nanobot/terminal/process"
	"nanobot/terminal/sandbox"
)

// DefaultCheckTime is enough to check databases of some hundred megabytes.
const DefaultCheckTime = 20 * time.Second

// Options say what to examine, and provide what only the wiring of the program knows.
type Options struct {
	Path      string        // of the config
	Turn      bool          // run the agent
	OnlyAgent string        // run this agent and make no other check; "": make all
	Listen    time.Duration // how long to watch for another program with the bot's token
	CheckTime time.Duration // how long the databases may be checked; 0: DefaultCheckTime
	Out       io.Writer
	JSON      bool // print JSON

	// Load reads a config, with the environment of this process.
	Load func(path string) (*config.Config, error)
	// Protocol describes the protocol with a name.
	Protocol func(name string) (terminal.Description, bool)
	// Prepare makes of a config what serve would run, before it touches anything. Its error has a
	// line for each mistake.
	Prepare func(*config.Config) (Prepared, error)
	// NewRunner makes a runner for the agent of a config, with this supervisor. It uses the
	// protocol that wrap returns for the configured one.
	NewRunner func(cfg *config.Config, supervisor *process.Supervisor, wrap func(terminal.Protocol) terminal.Protocol) (*terminal.Runner, error)
	// OpenStore opens the state while a daemon may be running.
	OpenStore func(context.Context, *config.Config) (*sqlite.Store, error)
	// PrivateFiles names the files that agents must not send: the config, secrets and the daemon's
	// own state.
	PrivateFiles func(*config.Config) []string
	// Operator is the user who runs the doctor.
	Operator channels.User
}

// Prepared is what serve would run.
type Prepared struct {
	Channels map[string]channels.Channel // those that are enabled, by name
	Lacks    []string                    // what this machine lacks of the configured isolation
}

// doctor holds the state of one examination.
type doctor struct {
	Options

	cfg      *config.Config
	agent    string // whose section cfg has in the place of terminal; "": it is the default one
	service  bool   // of systemd's: the config is where the units look for it
	unit     systemd.UnitState
	unitName string     // "": none belongs to the config
	running  int        // the daemon's process; 0: none runs
	user     trust.User // that the daemon runs as, where root asks
	forRoot  bool       // who becomes somebody else to try something by hand
	userErr  error      // why it is not known which user the daemon runs as
	damaged  bool       // the state cannot be used
	found    []channels.Finding
	shown    int // how many of them were printed
}

// report adds a finding.
func (d *doctor) report(check string, status channels.Verdict, detail, fix string) {
	if d.agent != "" {
		check += "." + d.agent
	}
	d.found = append(d.found, channels.Finding{Check: check, Status: status, Detail: detail, Fix: fix})
}

// ok adds the finding of a check that passed.
func (d *doctor) ok(check, format string, args ...any) {
	d.report(check, channels.Good, fmt.Sprintf(format, args...), "")
}

// Run examines a bot, prints the findings and returns them. The error is an exit.Error if the
// program is to end with another status than 0.
func Run(ctx context.Context, o Options) ([]channels.Finding, error) {
	d := &doctor{Options: o}
	status := d.examine(ctx)
	if ctx.Err() != nil {
		return d.found, exit.Error{Status: exit.Interrupted}
	}
	if err := d.finish(); err != nil {
		return d.found, err
	}
	if status != 0 {
		return d.found, exit.Error{Status: status}
	}
	return d.found, nil
}

// examine makes all checks, prints the findings as they come, and returns the exit status.
func (d *doctor) examine(ctx context.Context) int {
	if d.OnlyAgent != "" {
		return d.examineAgent(ctx)
	}
	if err := trust.CheckConfig(d.Path); err != nil {
		return d.refuse(err)
	}
	bot, isBot := systemd.FindBot(d.Path)
	if d.service = isBot; isBot {
		bot.SetEnviron()
	}
	open, ok := d.checkConfig(bot, isBot)
	if !ok {
		return exit.Config
	}
	for _, check := range []func(){
		d.findUser,
		func() { d.checkReadable(bot) },
		func() { d.checkUnit(ctx, bot, isBot) },
		d.findDaemon,
		d.checkWorkspace,
		func() { d.checkState(ctx) },
		d.checkSecrets,
		d.checkDisk,
		func() { d.checkHTTP(ctx) },
		d.checkKernel,
		func() { d.forAgents(d.checkSameUser) },
		func() { d.forAgents(func() { d.checkAgent(ctx) }) },
		func() { d.checkNetworks(ctx, open) },
	} {
		if check(); ctx.Err() == nil { // what was cut short says nothing
			d.show()
		}
	}
	return d.status()
}

// forAgents makes a check for each agent, whose section is in the place of terminal meanwhile.
func (d *doctor) forAgents(check func()) {
	all := d.cfg
	defer func() { d.cfg, d.agent = all, "" }()
	for _, name := range all.AgentNames() {
		d.useAgent(all, name)
		check()
	}
}

// useAgent has the checks look at one agent. It reports false if there is no such agent.
func (d *doctor) useAgent(all *config.Config, name string) bool {
	own, ok := all.ForAgent(name)
	if !ok {
		return false
	}
	if d.cfg, d.agent = own, name; name == config.DefaultAgent {
		d.agent = ""
	}
	return true
}

// status returns the exit status for the findings.
func (d *doctor) status() int {
	if d.damaged {
		return exit.Config
	}
	if slices.ContainsFunc(d.found, func(f channels.Finding) bool { return f.Status == channels.Bad }) {
		return exit.Failed
	}
	return 0
}

// refuse reports why the config is not used, and returns the exit status.
func (d *doctor) refuse(err error) int {
	var mistakes config.Mistakes
	if !errors.As(err, &mistakes) {
		d.report("config", channels.Bad, err.Error(), "run this as the user that the daemon runs as")
		return exit.Failed
	}
	for _, m := range mistakes {
		fix := `correct it; "nanobot schema" says what is possible`
		if m.Line == 0 && m.Key == "" && m.Variable == "" { // the file as a whole
			fix = "name the bot's config by --config, or run this as who can read it, such as with sudo"
		}
		d.report("config", channels.Bad, m.String(), fix)
	}
	return exit.Config
}

// load reads the config.
func (d *doctor) load() (ok bool) {
	var err error
	if d.cfg, err = d.Load(d.Path); err != nil {
		d.refuse(err)
	}
	return err == nil
}

// checkConfig does what the start does before it touches anything: it reads the config, its secrets
// included, and makes the channels.
func (d *doctor) checkConfig(bot systemd.Bot, isBot bool) (map[string]channels.Channel, bool) {
	const check = "config"
	if !d.load() {
		return nil, false
	}
	cfg := d.cfg
	prepared, err := d.Prepare(cfg)
	if err != nil {
		for line := range strings.Lines(err.Error()) {
			d.report(check, channels.Bad, strings.TrimSpace(line), suggestSudo(err, "correct it in "+d.Path+", or put the secret that it names there"))
		}
		return nil, false
	}
	if len(prepared.Channels) == 0 {
		d.report(check, channels.Doubtful, "no channel is enabled, so serve does not start; run and chat work", "enable one under channels in "+d.Path)
	}
	d.reportWarnings(bot, isBot)
	for _, lack := range prepared.Lacks {
		d.report("isolation", channels.Doubtful, lack, "see that this machine has it, or change it in "+d.Path+"; a service of systemd's may have more than is seen from here")
	}
	if isBot && slices.ContainsFunc(cfg.AgentNames(), func(name string) bool { own, _ := cfg.ForAgent(name); return own.Terminal.Sandbox == sandbox.Landlock }) {
		d.ok("isolation", "the unit forbids namespaces (RestrictNamespaces=) unless a drop-in says otherwise, so the workspace is granted to the agent entry by entry: directly in it the "+
			"agent can neither list, make, rename nor delete anything, but it can use what is there. Give it a subfolder to work in, or see relax.conf")
	}
	d.ok(check, "%s can be read and has no mistakes", cfg.File())
	return prepared.Channels, true
}

// checkNetworks has each channel ask its network about the bot.
func (d *doctor) checkNetworks(ctx context.Context, open map[string]channels.Channel) {
	e := channels.ExamineOptions{Running: d.running != 0, Listen: d.Listen}
	for _, name := range slices.Sorted(maps.Keys(open)) {
		if x, ok := open[name].(channels.Examiner); ok {
			d.found = append(d.found, x.Examine(ctx, e)...)
		}
	}
}
