package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"nanobot/cmd/nanobot/systemd"
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
func (b *bots) start(ctx context.Context, chosen []systemd.Bot) error {
	var good []systemd.Bot
	var mistakes config.Mistakes
	for _, f := range chosen {
		var wrong config.Mistakes
		if _, err := loadBot(f); errors.As(err, &wrong) {
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
func (b *bots) each(ctx context.Context, chosen []systemd.Bot, verb string) error {
	s := systemd.Manager{Root: b.root}
	if !s.Runs() {
		return systemd.ErrNotRunning
	}
	failed := make([]error, len(chosen))
	var work errgroup.Group
	work.SetLimit(atOnce)
	for i, f := range chosen {
		work.Go(func() error {
			if _, err := s.Call(ctx, verb, "--now", f.Unit()); err != nil {
				failed[i] = fmt.Errorf("%s: %w; nanobot doctor --config %s finds out more", f.Name, err, f.Config())
			}
			return nil
		})
	}
	_ = work.Wait() // what went wrong is in failed, in the bots' order
	return errors.Join(b.show(chosen), errors.Join(failed...))
}
