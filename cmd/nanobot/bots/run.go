package bots

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"nanobot/cmd/nanobot/systemd"
	"nanobot/config"
)

// Start starts the named bots, or all, now and after each reboot. It skips bots whose config has
// mistakes, and returns the mistakes.
func (s *Server) Start(ctx context.Context, names []string, all bool) error {
	chosen, err := s.selectBots(names, all)
	if err != nil {
		return err
	}
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
	err = s.callSystemctl(ctx, good, "enable")
	switch {
	case len(mistakes) == 0:
		return err
	case err == nil:
		return mistakes
	}
	return fmt.Errorf("%w\n%s", err, mistakes.Error()) // not wrapped, since not all of it is about configs
}

// Stop stops the named bots, or all, until they are started again.
func (s *Server) Stop(ctx context.Context, names []string, all bool) error {
	chosen, err := s.selectBots(names, all)
	if err != nil {
		return err
	}
	return s.callSystemctl(ctx, chosen, "disable")
}

// maxParallel is how many units are started or stopped at the same time. A stop may take the whole
// drainTimeout of a bot, which must not delay the others.
const maxParallel = 64

// callSystemctl enables or disables bots and starts or stops them. A failure does not stop the
// others.
func (s *Server) callSystemctl(ctx context.Context, chosen []systemd.Bot, verb string) error {
	m := systemd.Manager{Root: s.Root}
	if !m.Runs() {
		return systemd.ErrNotRunning
	}
	failed := make([]error, len(chosen))
	var work errgroup.Group
	work.SetLimit(maxParallel)
	for i, f := range chosen {
		work.Go(func() error {
			if _, err := m.Call(ctx, verb, "--now", f.Unit()); err != nil {
				failed[i] = fmt.Errorf("%s: %w; to find the reason, run nanobot doctor --config %s", f.Name, err, f.Config())
			}
			return nil
		})
	}
	_ = work.Wait() // what went wrong is in failed, in the bots' order
	return errors.Join(s.printBots(chosen), errors.Join(failed...))
}
