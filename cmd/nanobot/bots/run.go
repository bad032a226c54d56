package bots

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"

	"golang.org/x/sync/errgroup"

	"nanobot/cmd/nanobot/systemd"
	"nanobot/config"
)

// Start starts the named bots, or all, now and after each reboot. It skips bots whose config has
// mistakes, and returns the mistakes.
func (s *Server) Start(ctx context.Context, names []string, all bool) error {
	return s.run(ctx, names, all, "enable", "--now")
}

// Restart stops the named bots, or all, and starts them again. It skips bots whose config has
// mistakes, and returns the mistakes: they keep running with the config that they have read.
func (s *Server) Restart(ctx context.Context, names []string, all bool) error {
	return s.run(ctx, names, all, "restart")
}

// run calls systemctl for the bots whose config has no mistakes.
func (s *Server) run(ctx context.Context, names []string, all bool, args ...string) error {
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
	err = s.callSystemctl(ctx, good, args...)
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
	return s.callSystemctl(ctx, chosen, "disable", "--now")
}

// LogOptions choose what Logs prints.
type LogOptions struct {
	Lines  uint // how many of the last lines
	Follow bool // print new lines until it is interrupted
	All    bool // of every bot
}

// Logs prints the log of the named bots, or of all, from the journal.
func (s *Server) Logs(ctx context.Context, names []string, o LogOptions) error {
	chosen, err := s.selectBots(names, o.All)
	if err != nil {
		return err
	}
	if !(systemd.Manager{Root: s.Root}).Runs() {
		return systemd.ErrNotRunning
	}
	args := []string{"--no-pager", "--lines", strconv.FormatUint(uint64(o.Lines), 10)}
	if o.Follow {
		args = append(args, "--follow")
	}
	if s.JSON {
		args = append(args, "--output=json")
	}
	for _, b := range chosen {
		args = append(args, "--unit", b.Unit())
	}
	cmd := exec.CommandContext(ctx, "journalctl", args...)
	cmd.Stdout, cmd.Stderr = s.Out, s.Err
	if err := cmd.Run(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("journalctl: %w", err)
	}
	return nil
}

// Names returns the names of all bots.
func (s *Server) Names() []string {
	all, err := s.allBots()
	if err != nil {
		return nil
	}
	names := make([]string, len(all))
	for i, b := range all {
		names[i] = b.Name
	}
	return names
}

// maxParallel is how many units are started or stopped at the same time. A stop may take the whole
// drainTimeout of a bot, which must not delay the others.
const maxParallel = 64

// callSystemctl runs systemctl with these arguments for each bot. A failure does not stop the
// others.
func (s *Server) callSystemctl(ctx context.Context, chosen []systemd.Bot, args ...string) error {
	m := systemd.Manager{Root: s.Root}
	if !m.Runs() {
		return systemd.ErrNotRunning
	}
	failed := make([]error, len(chosen))
	var work errgroup.Group
	work.SetLimit(maxParallel)
	for i, f := range chosen {
		work.Go(func() error {
			if _, err := m.Call(ctx, append(slices.Clip(args), f.Unit())...); err != nil {
				failed[i] = fmt.Errorf("%s: %w; to find the reason, run nanobot doctor --config %s", f.Name, err, f.Config())
			}
			return nil
		})
	}
	_ = work.Wait() // what went wrong is in failed, in the bots' order
	return errors.Join(s.printBots(chosen), errors.Join(failed...))
}
