package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"nanobot/config"
)

func newBotsStart(b *bots) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "start [flags] NAME…",
		Short: "Start bots, now and after each reboot",
		Long: `Start has systemd start the bots now and whenever the server starts, but for those whose config has a mistake. Exit status: 0 all run, 1 one
does not, 78 all run but those with a bad config.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			chosen, err := b.named(args, all)
			if err != nil {
				return err
			}
			return b.start(cmd.Context(), chosen)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "every bot of this server")
	return cmd
}

func newBotsStop(b *bots) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "stop [flags] NAME…",
		Short: "Stop bots until they are started again",
		Long:  `Stop has systemd end the bots and not start them after a reboot. Messages that come meanwhile are answered when they are started again.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			chosen, err := b.named(args, all)
			if err != nil {
				return err
			}
			return b.each(cmd.Context(), chosen, "disable")
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "every bot of this server")
	return cmd
}

// start starts the bots whose config is good. A bad one does not keep the others from it.
func (b *bots) start(ctx context.Context, chosen []botFiles) error {
	var good []botFiles
	var mistakes config.Mistakes
	for _, f := range chosen {
		var wrong config.Mistakes
		if _, err := f.load(); errors.As(err, &wrong) {
			mistakes = append(mistakes, wrong...)
			continue
		}
		good = append(good, f)
	}
	if len(mistakes) > 0 && len(good) == 0 {
		return mistakes
	}
	err := b.each(ctx, good, "enable")
	switch {
	case len(mistakes) == 0:
		return err
	case err == nil:
		return mistakes
	}
	return fmt.Errorf("%w\n%s", err, mistakes.Error()) // not wrapped, since not all of it is about configs
}

// atOnce is how many units are started or stopped side by side. A stop may wait for the drain, and thirty bots shall not wait for each other's.
const atOnce = 64

// each enables or disables bots, now. One that cannot does not keep the others from it.
func (b *bots) each(ctx context.Context, chosen []botFiles, verb string) error {
	s := systemd{b.root}
	if !s.runs() {
		return errNoSystemd
	}
	failed := make([]error, len(chosen))
	var work errgroup.Group
	work.SetLimit(atOnce)
	for i, f := range chosen {
		work.Go(func() error {
			if _, err := s.call(ctx, verb, "--now", f.unit()); err != nil {
				failed[i] = fmt.Errorf("%s: %w; nanobot doctor --config %s finds out more", f.name, err, f.config())
			}
			return nil
		})
	}
	_ = work.Wait() // what went wrong is in failed, in the bots' order
	return errors.Join(b.show(chosen), errors.Join(failed...))
}

func newBotsRemove(b *bots) *cobra.Command {
	var yes, purge bool
	cmd := &cobra.Command{
		Use:   "remove [flags] NAME",
		Short: "Stop a bot and remove it",
		Long:  `Remove stops a bot and removes its config and its tokens. What it has received and kept stays unless --purge is said.`,
		Args:  oneBot,
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := b.known(args[0])
			if err != nil {
				return err
			}
			if !yes && !b.agreed(f, purge) {
				return errors.New("nothing was removed; --yes does it without asking")
			}
			return b.remove(cmd.Context(), f, purge)
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	cmd.Flags().BoolVar(&purge, "purge", false, "remove its state, too: messages, files of its users, everything")
	return cmd
}

// agreed asks the operator.
func (b *bots) agreed(f botFiles, purge bool) bool {
	what := f.dir()
	if purge {
		what += " and " + f.state()
	}
	fmt.Fprintf(b.std.err, "Stop %s and remove %s? [y/N] ", f.name, what)
	line, _ := bufio.NewReader(b.std.in).ReadString('\n') // nothing said is no
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return true
	}
	return false
}

// remove stops first: what runs would write its state anew.
func (b *bots) remove(ctx context.Context, f botFiles, purge bool) error {
	if s := (systemd{b.root}); s.runs() {
		if _, err := s.call(ctx, "disable", "--now", f.unit()); err != nil {
			return fmt.Errorf("%w; nothing was removed", err)
		}
		_, _ = s.call(ctx, "reset-failed", f.unit()) // it refuses where nothing has failed
	}
	folders, stays := []string{f.dir()}, []string{}
	if purge {
		folders = append(folders, f.kept()...)
	} else {
		stays = slices.DeleteFunc(f.kept(), func(dir string) bool { _, err := os.Lstat(dir); return errors.Is(err, os.ErrNotExist) })
	}
	for _, dir := range folders {
		if err := os.RemoveAll(dir); err != nil {
			return rights(err)
		}
	}
	if b.json {
		return printJSON(b.std.out, map[string]any{"name": f.name, "removed": folders, "kept": stays})
	}
	fmt.Fprintf(b.std.out, "Removed %s.\n", strings.Join(folders, ", "))
	if len(stays) > 0 {
		fmt.Fprintf(b.std.out, "Its people and messages stay in %s.\n", strings.Join(stays, ", "))
	}
	return nil
}
