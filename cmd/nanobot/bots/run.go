package bots

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"nanobot/cmd/nanobot/systemd"
	"nanobot/config"
)

// Start has systemd start the bots that are named, or all, now and after each reboot.
func (s *Server) Start(ctx context.Context, names []string, all bool) error {
	chosen, err := s.chosen(names, all)
	if err != nil {
		return err
	}
	return s.start(ctx, chosen)
}

// Stop has systemd stop the bots that are named, or all, until they are started again.
func (s *Server) Stop(ctx context.Context, names []string, all bool) error {
	chosen, err := s.chosen(names, all)
	if err != nil {
		return err
	}
	return s.each(ctx, chosen, "disable")
}

// start starts the bots whose config is good. A bad one does not keep the others from it.
func (s *Server) start(ctx context.Context, chosen []systemd.Bot) error {
	var good []systemd.Bot
	var mistakes config.Mistakes
	for _, f := range chosen {
		var wrong config.Mistakes
		if _, err := s.loadConfig(f); errors.As(err, &wrong) {
			mistakes = append(mistakes, wrong...)
			continue
		}
		good = append(good, f)
	}
	if len(mistakes) > 0 && len(good) == 0 {
		return mistakes
	}
	err := s.each(ctx, good, "enable")
	switch {
	case len(mistakes) == 0:
		return err
	case err == nil:
		return mistakes
	}
	return fmt.Errorf("%w\n%s", err, mistakes.Error()) // not wrapped, since not all of it is about configs
}

// atOnce is how many units are started or stopped at the same time: a stop may wait for the drain,
// and bots do not wait for each other's.
const atOnce = 64

// each enables or disables bots, now. One that cannot does not keep the others from it.
func (s *Server) each(ctx context.Context, chosen []systemd.Bot, verb string) error {
	m := systemd.Manager{Root: s.Root}
	if !m.Runs() {
		return systemd.ErrNotRunning
	}
	failed := make([]error, len(chosen))
	var work errgroup.Group
	work.SetLimit(atOnce)
	for i, f := range chosen {
		work.Go(func() error {
			if _, err := m.Call(ctx, verb, "--now", f.Unit()); err != nil {
				failed[i] = fmt.Errorf("%s: %w; nanobot doctor --config %s finds out more", f.Name, err, f.Config())
			}
			return nil
		})
	}
	_ = work.Wait() // what went wrong is in failed, in the bots' order
	return errors.Join(s.show(chosen), errors.Join(failed...))
}
