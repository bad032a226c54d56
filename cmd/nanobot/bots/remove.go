package bots

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"nanobot/cmd/nanobot/format"
	"nanobot/cmd/nanobot/systemd"
)

// RemoveOptions says what Remove does beyond removing a bot's config and credentials.
type RemoveOptions struct {
	Yes   bool // do not ask
	Purge bool // remove the state, too
}

// Remove stops a bot and removes it, if the operator agrees.
func (s *Server) Remove(ctx context.Context, name string, o RemoveOptions) error {
	bot, err := s.bot(name)
	if err != nil {
		return err
	}
	gone, stays, err := listPaths(bot, o.Purge)
	if err != nil {
		return err
	}
	if !o.Yes && !s.confirmRemoval(bot, gone) {
		return errors.New("nothing was removed; use --yes to remove it without a question")
	}
	return s.removeBot(ctx, bot, gone, stays)
}

// listPaths returns the existing paths of a bot: those to remove, and those that stay.
func listPaths(b systemd.Bot, purge bool) (gone, stays []string, err error) {
	if gone, err = existingPaths(append(b.UnitOverrides(), b.Dir())); err != nil {
		return nil, nil, err
	}
	if stays, err = existingPaths(b.StateDirs()); err != nil {
		return nil, nil, err
	}
	if purge {
		gone, stays = append(gone, stays...), []string{}
	}
	switch {
	case len(gone) > 0 && !hasConfig(b) && hasConfig(systemd.Bot{Root: b.Root}):
		return nil, nil,
			fmt.Errorf("there is no bot %s, and %s may belong to the bot without a name, nanobot.service; remove it yourself",
				b.Name, strings.Join(gone, ", "))
	case len(gone) > 0:
		return gone, stays, nil
	case len(stays) > 0:
		return nil, nil, fmt.Errorf("the bot %s was removed already, except for its state in %s; --purge removes that, too",
			b.Name, strings.Join(stays, ", "))
	}
	return nil, nil, fmt.Errorf("there is no bot %s", b.Name)
}

// hasConfig reports whether a bot has a config.
func hasConfig(b systemd.Bot) bool {
	_, err := os.Lstat(b.Config())
	return err == nil
}

// existingPaths returns those of the paths that exist.
func existingPaths(paths []string) ([]string, error) {
	there := []string{}
	for _, path := range paths {
		switch _, err := os.Lstat(path); {
		case err == nil:
			there = append(there, path)
		case !errors.Is(err, fs.ErrNotExist):
			return nil, suggestSudo(err)
		}
	}
	return there, nil
}

// confirmRemoval asks the operator.
func (s *Server) confirmRemoval(bot systemd.Bot, gone []string) bool {
	fmt.Fprintf(s.Err, "Stop %s and remove %s? [y/N] ", bot.Name, strings.Join(gone, ", "))
	line, _ := bufio.NewReader(s.In).ReadString('\n') // end of input means no
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return true
	}
	return false
}

// removeBot stops the bot first: a running bot would write its state again.
func (s *Server) removeBot(ctx context.Context, bot systemd.Bot, gone, stays []string) error {
	m := systemd.Manager{Root: s.Root}
	if m.Runs() {
		if _, err := m.Call(ctx, "disable", "--now", bot.Unit()); err != nil {
			return fmt.Errorf("%w; nothing was removed", err)
		}
		_, _ = m.Call(ctx, "reset-failed", bot.Unit()) // it fails if the unit has not failed
	}
	for _, path := range gone {
		if err := os.RemoveAll(path); err != nil {
			return suggestSudo(err)
		}
	}
	if m.Runs() {
		if _, err := m.Call(ctx, "daemon-reload"); err != nil { // otherwise removed drop-ins stay in effect
			return err
		}
	}
	if s.JSON {
		return format.WriteJSON(s.Out, map[string]any{"name": bot.Name, "removed": gone, "kept": stays})
	}
	fmt.Fprintf(s.Out, "Removed %s.\n", strings.Join(gone, ", "))
	if len(stays) > 0 {
		fmt.Fprintf(s.Out, "Its users and messages stay in %s.\n", strings.Join(stays, ", "))
	}
	return nil
}
