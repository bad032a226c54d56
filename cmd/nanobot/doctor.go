package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/config"
	"nanobot/terminal/process"
)

func newDoctor(std stdio) *cobra.Command {
	var path string
	var asJSON, noTurn, onlyAgent bool
	cmd := &cobra.Command{
		Use:   "doctor [flags]",
		Short: "Find out whether the bot would work, and what to do if not",
		Long: `Doctor makes the checks of the start, asks the chat networks about the bot, and sends the agent one harmless message in a chat of its own. It
works while the daemon runs and does not disturb it. Each line is ok, warn or fail, with what to do about it; --json prints
[{"check":…,"status":"ok|warn|fail","detail":…,"fix":…}].

Exit status: 0 nothing failed, 1 something did, 78 bad config.`,
		Example: `  nanobot doctor
  nanobot doctor --config /etc/nanobot/mybot/config.json --no-turn`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			d := doctor{path: cmp.Or(configPath(path), "config.json"), turn: !noTurn, listen: 5 * time.Second, out: std.out, json: asJSON}
			examine := d.examine
			if onlyAgent {
				examine = d.onlyAgent
			}
			status := examine(ctx)
			if ctx.Err() != nil {
				return statusError{status: exitInterrupted}
			}
			if err := d.finish(); err != nil {
				return err
			}
			if status != 0 {
				return statusError{status: status}
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&path, "config", "c", "", "config file (default: $NANOBOT_CONFIG, else config.json here)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&noTurn, "no-turn", false, "do not run the agent")
	cmd.Flags().BoolVar(&onlyAgent, "only-agent", false, "only run the agent")
	_ = cmd.Flags().MarkHidden("only-agent")
	_ = cmd.MarkFlagFilename("config", "json")
	return cmd
}

// doctor finds out whether a bot would work.
type doctor struct {
	path   string        // of the config
	turn   bool          // run the agent
	listen time.Duration // how long others who use the bot's token are waited for
	out    io.Writer
	json   bool

	cfg      *config.Config
	unit     unitState
	unitName string // "": none belongs to the config
	running  int    // the daemon's process; 0: none runs
	servant  servant
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
	bot, isBot := findBot(d.path)
	if isBot {
		bot.enter()
	}
	open, ok := d.checkConfig(bot, isBot)
	if !ok {
		return exitConfig
	}
	for _, check := range []func(){
		d.findServant,
		func() { d.checkReading(bot, isBot) },
		func() { d.checkUnit(ctx, bot, isBot) },
		d.findDaemon,
		d.checkWorkspace,
		func() { d.checkState(ctx) },
		d.checkSecrets,
		d.checkDisk,
		func() { d.checkHTTP(ctx) },
		d.checkKernel,
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
	if slices.ContainsFunc(d.found, func(f channels.Finding) bool { return f.Status == channels.Bad }) {
		return exitFailed
	}
	return 0
}

// load reads the config.
func (d *doctor) load() bool {
	cfg, err := config.Load(d.path, os.Environ())
	var mistakes config.Mistakes
	if errors.As(err, &mistakes) {
		for _, m := range mistakes {
			d.say("config", channels.Bad, m.String(), `correct it; "nanobot schema" says what is possible`)
		}
		return false
	}
	d.cfg = cfg
	return true
}

// checkConfig does what the start does before it touches anything: it reads the config, its secrets included, and makes the channels.
func (d *doctor) checkConfig(bot botFiles, isBot bool) (map[string]channels.Channel, bool) {
	const check = "config"
	if !d.load() {
		return nil, false
	}
	cfg := d.cfg
	cage := process.NewCage(process.CageOptions{})
	defer cage.Close()
	settings, err := newSettings(cfg, cage, zap.NewNop())
	var open map[string]channels.Channel
	if err == nil {
		open, err = openChannels(cfg, func(string, string) bool { return false }, zap.NewNop())
	}
	if errors.Is(err, errNoChannel) {
		d.say(check, channels.Doubtful, "no channel is enabled, so serve does not start; run and chat work", "enable one under channels in "+d.path)
		err = nil
	}
	if err != nil {
		d.say(check, channels.Bad, err.Error(), "correct it in "+d.path+", or see that the secret that it names can be read by who runs this")
		return nil, false
	}
	d.warn(bot, isBot)
	for _, lack := range settings.Runner.Lacks() {
		d.say("isolation", channels.Doubtful, lack, "see that this machine has it, or change it in "+d.path+"; a service of systemd's may have more than is seen from here")
	}
	d.ok(check, "%s can be read and has no mistakes", cfg.File())
	return open, true
}

// checkNetworks has each channel ask its network.
func (d *doctor) checkNetworks(ctx context.Context, open map[string]channels.Channel) {
	e := channels.Examination{Running: d.running != 0, Listen: d.listen}
	for _, name := range sortedKeys(open) {
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
		f.Detail, f.Fix = hide.Replace(oneLine(f.Detail)), hide.Replace(f.Fix)
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
		return printJSON(d.out, d.found)
	}
	count := map[channels.Verdict]int{}
	for _, f := range d.found {
		count[f.Status]++
	}
	_, err := fmt.Fprintf(d.out, "\n%d ok, %d warn, %d fail\n", count[channels.Good], count[channels.Doubtful], count[channels.Bad])
	return err
}

// secrets replaces everything in a text that must not be shown: an agent may print what it was given.
func (d *doctor) secrets() *strings.Replacer {
	var pairs []string
	add := func(value string) {
		if len(value) >= 6 { // a shorter one would tear words apart, and is no secret
			pairs = append(pairs, value, "***")
		}
	}
	if d.cfg != nil {
		all := d.cfg.OwnSecrets()
		for _, p := range d.cfg.Terminal.Providers {
			all = append(all, p.APIKeys...)
		}
		for _, s := range all {
			if v, err := s.Reveal(); err == nil {
				add(v)
			}
		}
		for _, v := range d.cfg.Terminal.Env {
			add(v)
		}
	}
	return strings.NewReplacer(pairs...)
}

// oneLine keeps a finding on its line, whatever an agent or a server has said.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
