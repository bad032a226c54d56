package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/cmd/nanobot/exit"
	"nanobot/cmd/nanobot/format"
	"nanobot/cmd/nanobot/systemd"
	"nanobot/cmd/nanobot/trust"
	"nanobot/config"
	"nanobot/internal/dbfile"
	"nanobot/terminal/confine"
	"nanobot/terminal/process"
)

func newDoctor(std stdio) *cobra.Command {
	var path string
	var asJSON, noTurn, onlyAgent bool
	var reading time.Duration
	cmd := &cobra.Command{
		Use:   "doctor [flags]",
		Short: "Find out whether the bot would work, and what to do if not",
		Long: `Doctor makes the checks of the start, asks the chat networks about the bot, and sends the agent one harmless message in a chat of its own. It
works while the daemon runs and does not disturb it. For root it judges by the rights of the user whom the state belongs to, if nobody else than
root can change the config. Each line is ok, warn or fail, with what to do about it; --json prints
[{"check":…,"status":"ok|warn|fail","detail":…,"fix":…}].

Exit status: 0 nothing failed, 1 something did, 78 bad config or a damaged state.`,
		Example: `  nanobot doctor
  nanobot doctor --config /etc/nanobot/mybot/config.json --no-turn`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			d := doctor{path: cmp.Or(configPath(path), "config.json"), turn: !noTurn, listen: 5 * time.Second, reading: reading, out: std.out, json: asJSON}
			examine := d.examine
			if onlyAgent {
				examine = d.onlyAgent
			}
			status := examine(ctx)
			if ctx.Err() != nil {
				return exit.Error{Status: exit.Interrupted}
			}
			if err := d.finish(); err != nil {
				return err
			}
			if status != 0 {
				return exit.Error{Status: status}
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&path, "config", "c", "", "config file (default: $NANOBOT_CONFIG, else config.json here)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&noTurn, "no-turn", false, "do not run the agent")
	cmd.Flags().BoolVar(&onlyAgent, "only-agent", false, "only run the agent")
	cmd.Flags().DurationVar(&reading, "check-time", readingTime, "how long the databases may be checked")
	_ = cmd.Flags().MarkHidden("only-agent")
	_ = cmd.MarkFlagFilename("config", "json")
	return cmd
}

// readingTime is enough for some hundred megabytes.
const readingTime = 20 * time.Second

// doctor finds out whether a bot would work.
type doctor struct {
	path   string        // of the config
	turn   bool          // run the agent
	listen time.Duration // how long others who use the bot's token are waited for
	out    io.Writer
	json   bool
	// reading is how long the databases may be read through.
	reading time.Duration

	cfg      *config.Config
	service  bool // of systemd's: the config is where the units look for it
	unit     systemd.UnitState
	unitName string // "": none belongs to the config
	running  int    // the daemon's process; 0: none runs
	servant  trust.User
	forRoot  bool  // who becomes somebody else to try something by hand
	doubt    error // who the daemon is cannot be told
	damaged  bool  // the state cannot be used
	found    []channels.Finding
	shown    int // how many of them were printed
}

func (d *doctor) say(check string, status channels.Verdict, detail, fix string) {
	d.found = append(d.found, channels.Finding{Check: check, Status: status, Detail: detail, Fix: fix})
}

func (d *doctor) ok(check, format string, args ...any) {
	d.say(check, channels.Good, fmt.Sprintf(format, args...), "")
}

// examine makes all checks and returns the exit status.
func (d *doctor) examine(ctx context.Context) int {
	if err := trust.CheckConfig(d.path); err != nil {
		return d.refuse(err)
	}
	bot, isBot := systemd.FindBot(d.path)
	if d.service = isBot; isBot {
		bot.SetEnviron()
	}
	open, ok := d.checkConfig(bot, isBot)
	if !ok {
		return exit.Config
	}
	for _, check := range []func(){
		d.findServant,
		func() { d.checkReading(bot) },
		func() { d.checkUnit(ctx, bot, isBot) },
		d.findDaemon,
		d.checkWorkspace,
		func() { d.checkState(ctx) },
		d.checkSecrets,
		d.checkDisk,
		func() { d.checkHTTP(ctx) },
		d.checkKernel,
		d.checkSameUser,
		func() { d.checkAgent(ctx) },
		func() { d.checkNetworks(ctx, open) },
	} {
		if check(); ctx.Err() == nil { // what was cut short says nothing
			d.show()
		}
	}
	return d.status()
}

// status is the exit status that goes with what was found.
func (d *doctor) status() int {
	if d.damaged {
		return exit.Config
	}
	if slices.ContainsFunc(d.found, func(f channels.Finding) bool { return f.Status == channels.Bad }) {
		return exit.Failed
	}
	return 0
}

// refuse says why the config is not used.
func (d *doctor) refuse(err error) int {
	var mistakes config.Mistakes
	if !errors.As(err, &mistakes) {
		d.say("config", channels.Bad, err.Error(), "run this as the user that the daemon runs as")
		return exit.Failed
	}
	for _, m := range mistakes {
		fix := `correct it; "nanobot schema" says what is possible`
		if m.Line == 0 && m.Key == "" && m.Variable == "" { // the file as a whole
			fix = "name the bot's config by --config, or run this as who can read it, such as with sudo"
		}
		d.say("config", channels.Bad, m.String(), fix)
	}
	return exit.Config
}

// load reads the config.
func (d *doctor) load() (ok bool) {
	var err error
	if d.cfg, err = config.Load(d.path, os.Environ()); err != nil {
		d.refuse(err)
	}
	return err == nil
}

// checkConfig does what the start does before it touches anything: it reads the config, its secrets included, and makes the channels.
func (d *doctor) checkConfig(bot systemd.Bot, isBot bool) (map[string]channels.Channel, bool) {
	const check = "config"
	if !d.load() {
		return nil, false
	}
	cfg := d.cfg
	cage := process.NewCage(process.CageOptions{})
	defer cage.Close()
	settings, open, err := prepare(cfg, starting{cage, noUser, dbfile.NewWatch(), zap.NewNop()})
	if err != nil {
		for line := range strings.Lines(err.Error()) {
			d.say(check, channels.Bad, strings.TrimSpace(line), withSudo(err, "correct it in "+d.path+", or put the secret that it names there"))
		}
		return nil, false
	}
	if len(open) == 0 {
		d.say(check, channels.Doubtful, "no channel is enabled, so serve does not start; run and chat work", "enable one under channels in "+d.path)
	}
	d.warn(bot, isBot)
	for _, lack := range settings.Runner.Lacks() {
		d.say("isolation", channels.Doubtful, lack, "see that this machine has it, or change it in "+d.path+"; a service of systemd's may have more than is seen from here")
	}
	if isBot && cfg.Terminal.Sandbox == confine.Landlock {
		d.ok("isolation", "the unit forbids namespaces (RestrictNamespaces=) unless a drop-in says otherwise, so the workspace is granted to the agent entry by entry: directly in it the "+
			"agent can neither list, make, rename nor delete anything, but it can use what is there. Give it a subfolder to work in, or see relax.conf")
	}
	d.ok(check, "%s can be read and has no mistakes", cfg.File())
	return open, true
}

// checkNetworks has each channel ask its network.
func (d *doctor) checkNetworks(ctx context.Context, open map[string]channels.Channel) {
	e := channels.Examination{Running: d.running != 0, Listen: d.listen}
	for _, name := range slices.Sorted(maps.Keys(open)) {
		if x, ok := open[name].(channels.Examiner); ok {
			d.found = append(d.found, x.Examine(ctx, e)...)
		}
	}
}

// show prints what was found since it was called last: an agent or a network may take its time. Whatever it was, no secret is in it.
func (d *doctor) show() {
	hide := d.secrets()
	for ; d.shown < len(d.found); d.shown++ {
		f := &d.found[d.shown]
		f.Detail, f.Fix = hide.Replace(format.OneLine(f.Detail)), hide.Replace(f.Fix)
		if d.json {
			continue
		}
		fmt.Fprintf(d.out, "%-4s  %-16s  %s\n", f.Status, f.Check, f.Detail)
		if f.Fix != "" {
			fmt.Fprintf(d.out, "      %-16s  → %s\n", "", f.Fix)
		}
	}
}

// finish prints the rest.
func (d *doctor) finish() error {
	d.show()
	if d.json {
		return format.WriteJSON(d.out, d.found)
	}
	count := map[channels.Verdict]int{}
	for _, f := range d.found {
		count[f.Status]++
	}
	_, err := fmt.Fprintf(d.out, "\n%d ok, %d warn, %d fail\n", count[channels.Good], count[channels.Doubtful], count[channels.Bad])
	return err
}

// secrets replaces everything in a text that must not be shown.
func (d *doctor) secrets() *strings.Replacer {
	if d.cfg == nil {
		return strings.NewReplacer()
	}
	all := d.cfg.OwnSecrets()
	for _, p := range d.cfg.Terminal.Providers {
		all = append(all, p.APIKeys...)
	}
	var values []string
	for _, s := range all {
		if v, err := s.Reveal(); err == nil {
			values = append(values, v)
		}
	}
	return hiding(values)
}

// hiding replaces values in a text. A short one would tear words apart, and is no secret.
func hiding(values []string) *strings.Replacer {
	var pairs []string
	for _, v := range values {
		if len(v) >= 6 {
			pairs = append(pairs, v, "***")
		}
	}
	return strings.NewReplacer(pairs...)
}
