package main

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

	"github.com/spf13/cobra"
)

func newBotsRemove(b *bots) *cobra.Command {
	var yes, purge bool
	cmd := &cobra.Command{
		Use:   "remove [flags] NAME",
		Short: "Stop a bot and remove it",
		Long: `Remove stops a bot and removes its config, its tokens, and what systemctl edit has changed for it alone. What it has received and kept stays unless
--purge is said, now or later.`,
		Args: oneBot,
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := b.files(args[0])
			if err != nil {
				return err
			}
			gone, stays, err := remains(f, purge)
			if err != nil {
				return err
			}
			if !yes && !b.agreed(f, gone) {
				return errors.New("nothing was removed; --yes does it without asking")
			}
			return b.remove(cmd.Context(), f, gone, stays)
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	cmd.Flags().BoolVar(&purge, "purge", false, "remove its state, too: messages, files of its users, everything")
	return cmd
}

// remains returns what is there of a bot, whole or not: what is to go, and what stays.
func remains(b systemd.Bot, purge bool) (gone, stays []string, err error) {
	if gone, err = present(append(b.UnitOverrides(), b.Dir())); err != nil {
		return nil, nil, err
	}
	if stays, err = present(b.StateDirs()); err != nil {
		return nil, nil, err
	}
	if purge {
		gone, stays = append(gone, stays...), []string{}
	}
	switch {
	case len(gone) > 0 && !hasConfig(b) && hasConfig(systemd.Bot{Root: b.Root}):
		return nil, nil, fmt.Errorf("there is no bot %s, and %s may be of the one without a name, nanobot.service; remove it by hand", b.Name, strings.Join(gone, ", "))
	case len(gone) > 0:
		return gone, stays, nil
	case len(stays) > 0:
		return nil, nil, fmt.Errorf("there is no bot %s any more, only what it has kept in %s; --purge removes that", b.Name, strings.Join(stays, ", "))
	}
	return nil, nil, fmt.Errorf("there is no bot %s", b.Name)
}

// hasConfig tells whether a bot has a config.
func hasConfig(b systemd.Bot) bool {
	_, err := os.Lstat(b.Config())
	return err == nil
}

// present returns those of the paths at which there is something.
func present(paths []string) ([]string, error) {
	there := []string{}
	for _, path := range paths {
		switch _, err := os.Lstat(path); {
		case err == nil:
			there = append(there, path)
		case !errors.Is(err, fs.ErrNotExist):
			return nil, rights(err)
		}
	}
	return there, nil
}

// agreed asks the operator.
func (b *bots) agreed(f systemd.Bot, gone []string) bool {
	fmt.Fprintf(b.std.err, "Stop %s and remove %s? [y/N] ", f.Name, strings.Join(gone, ", "))
	line, _ := bufio.NewReader(b.std.in).ReadString('\n') // nothing said is no
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return true
	}
	return false
}

// remove stops first: what runs would write its state anew.
func (b *bots) remove(ctx context.Context, f systemd.Bot, gone, stays []string) error {
	s := systemd.Manager{Root: b.root}
	if s.Runs() {
		if _, err := s.Call(ctx, "disable", "--now", f.Unit()); err != nil {
			return fmt.Errorf("%w; nothing was removed", err)
		}
		_, _ = s.Call(ctx, "reset-failed", f.Unit()) // it refuses where nothing has failed
	}
	for _, path := range gone {
		if err := os.RemoveAll(path); err != nil {
			return rights(err)
		}
	}
	if s.Runs() {
		if _, err := s.Call(ctx, "daemon-reload"); err != nil { // or what is gone of the unit would hold on
			return err
		}
	}
	if b.json {
		return format.WriteJSON(b.std.out, map[string]any{"name": f.Name, "removed": gone, "kept": stays})
	}
	fmt.Fprintf(b.std.out, "Removed %s.\n", strings.Join(gone, ", "))
	if len(stays) > 0 {
		fmt.Fprintf(b.std.out, "Its people and messages stay in %s.\n", strings.Join(stays, ", "))
	}
	return nil
}
