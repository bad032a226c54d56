package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"nanobot/channels"
	"nanobot/channels/web"
	"nanobot/cmd/nanobot/dev"
	"nanobot/cmd/nanobot/exit"
	"nanobot/cmd/nanobot/format"
	"nanobot/config"
	"nanobot/gateway"
	"nanobot/gateway/retry"
	"nanobot/gateway/store"
	"nanobot/internal/words"
)

func newDev(std stdio) *cobra.Command {
	var flags webFlags
	var agent agentFlags
	cmd := &cobra.Command{
		Use:   "dev [flags] [COMMAND...]",
		Short: "Write an agent: each save of a file runs the last message again",
		Long: `Dev is web for the author of an agent. It watches the config, the files that the command names, and the folders of
the config and of the agents, without node_modules, users, __pycache__ and names that begin with a dot. When a file is
saved, the agents start again, with the config as it is now, and the last message of the page runs again. A save of the
config or of a file that the command names ends a running turn first. Other files may be the agent's own, so a change
during a turn does not run it again.

Beside the chat the page shows the last turn: the envelope, the frames with their times, what was sent and the
receipts. Ctrl+S in the page saves it as tests/NAME.nbt.jsonl, for nanobot replay. Turns are recorded as
gateway.record says, by default in the state.`,
		Example: `  nanobot dev                    # the agent of config.json
  nanobot dev 'python3 agent.py'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := loadForWeb(cmd, agent, args)
			if err != nil {
				return err
			}
			if cfg.File() == "" && cfg.Terminal.Command == "" && cfg.Terminal.Enabled == nil {
				return exit.Usagef("dev: there is no config.json in this folder; add a COMMAND such as 'python3 agent.py'")
			}
			l := &devLoop{out: std.err, cfg: cfg}
			l.load = func() (*config.Config, error) {
				if cfg.File() == "" {
					return cfg, nil
				}
				again, err := loadForWeb(cmd, agent, args)
				if err != nil {
					return nil, err
				}
				again.Gateway.Record, l.cfg = recordFolder(again), again
				return again, flags.enablePage(again)
			}
			flags.extend = func(d *daemon) {
				cfg.Gateway.Record = recordFolder(cfg)
				l.d, d.lists, d.extend = d, allowedByConfig(cfg), l.start
			}
			return flags.run(cmd.Context(), cfg, std, func(context.Context, string) error { return nil })
		},
	}
	cmd.SetFlagErrorFunc(explainCommandFlagError)
	addConfigFlag(cmd, &agent.config)
	agent.addProtocol(cmd)
	flags.add(cmd)
	return cmd
}

// devLoop runs the last message of the page again when a file of its agent has changed.
type devLoop struct {
	d    *daemon
	cfg  *config.Config // the last that was read
	load func() (*config.Config, error)
	out  io.Writer

	daemonParts
	page  *dev.Page
	files dev.Watch
}

// start adds the panel to the page, and returns what watches the files until ctx ends.
func (l *devLoop) start(parts daemonParts) func(ctx context.Context) {
	l.daemonParts = parts
	cfg := l.d.cfg
	replay := "nanobot replay"
	if cfg.File() == "" {
		replay += " --protocol " + cfg.Terminal.Protocol + " --command " + format.ShellWord(cfg.Terminal.Command)
	}
	l.page = &dev.Page{
		Folder: cfg.Gateway.Record, Tests: "tests", Replay: replay, Words: l.site.words, Log: l.d.log,
	}
	if page, ok := l.open[web.Name].(*web.Channel); ok {
		page.ShowDev()
	}
	for pattern, h := range l.page.Handlers() {
		l.site.handleForOperators(pattern, h)
	}
	l.watchFiles()
	return func(ctx context.Context) {
		l.files.Run(ctx, dev.Events{
			Run: l.runAgain, RanSince: l.ranSince,
			Skipped: func(files []string) { l.showNote(words.DevSkipped, listFiles(files), len(files)) },
			TooMany: func() { l.showNote(words.DevTooMany, dev.MaxEntries) },
		})
	}
}

// showNote tells the author in the page and in the terminal.
func (l *devLoop) showNote(key words.Key, values ...any) {
	note := words.NewError(key, values...)
	l.page.SetNote(note)
	fmt.Fprintln(l.out, "nanobot:", note)
}

// listFiles names a few files.
func listFiles(files []string) string {
	var names []string
	for _, path := range files[:min(3, len(files))] {
		names = append(names, filepath.Base(path))
	}
	if len(files) > len(names) {
		names = append(names, "…")
	}
	return strings.Join(names, ", ")
}

// watchFiles watches the config, the files in the agents' commands, and their folders.
func (l *devLoop) watchFiles() {
	cfg, w := l.cfg, &l.files
	w.Files, w.Folders, w.Ignored = nil, nil, []string{cfg.Gateway.StateDir, cfg.Gateway.Record}
	if path, err := filepath.Abs(cfg.File()); err == nil && cfg.File() != "" {
		w.Files, w.Folders = []string{path}, []string{filepath.Dir(path)}
	}
	for _, name := range cfg.AgentNames() {
		own, _ := cfg.ForAgent(name)
		folder := cmp.Or(own.Terminal.Cwd, own.Workspace)
		w.Folders = append(w.Folders, folder)
		for _, word := range strings.Fields(own.Terminal.Command) {
			path := strings.Trim(word, `'"`)
			if !filepath.IsAbs(path) {
				path = filepath.Join(folder, path)
			}
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				w.Files = append(w.Files, path)
			}
		}
	}
}

// pageTurns returns the newest turns of the page's people.
func (l *devLoop) pageTurns(ctx context.Context) (own []store.Inbound) {
	turns, err := l.store.Turns(ctx, store.TurnFilter{Origin: channels.Person.String(), Limit: 100})
	if err != nil {
		return nil
	}
	for _, turn := range turns {
		if turn.In.Chat.Channel == web.Name && turn.State != store.Dead {
			own = append(own, turn)
		}
	}
	return own
}

func (l *devLoop) ranSince(ctx context.Context, t time.Time) bool {
	for _, turn := range l.pageTurns(ctx) {
		if turn.State == store.Running || turn.Ended.After(t) {
			return true
		}
	}
	return false
}

// runAgain has the agents of the current config run the last message again.
func (l *devLoop) runAgain(ctx context.Context, changed []string) {
	if err := l.d.reloadFrom(l.load, l.gateway, l.host, l.store); err != nil {
		l.showNote(words.DevBroken, strings.TrimSpace(err.Error()))
		return
	}
	l.watchFiles()
	l.files.Changed() // from now on; what has changed before is run
	turns := l.pageTurns(ctx)
	if len(turns) == 0 {
		return
	}
	l.showNote(words.DevFiles, listFiles(changed), len(changed))
	last := turns[0]
	var err error
	if last.State == store.Running {
		err = l.gateway.Stop(ctx, last.ID)
	}
	for err == nil || errors.Is(err, gateway.ErrNotNow) { // its agent has ended
		last, _, err = l.store.Inbound(ctx, last.ID)
		if err == nil && !last.Ended.IsZero() {
			l.page.RunAgain(last.ID)
			err = l.gateway.Retry(ctx, last.ID)
			break
		}
		if last.State == store.Pending || !retry.Sleep(ctx, 20*time.Millisecond) { // it has not run yet
			return
		}
	}
	if err != nil {
		l.showNote(words.DevNotRun, err.Error())
	}
}
