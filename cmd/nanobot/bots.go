package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"nanobot/cmd/nanobot/exit"
	"nanobot/cmd/nanobot/systemd"
	"nanobot/config"
)

func newBots(std stdio) *cobra.Command {
	b := &bots{std: std}
	cmd := &cobra.Command{
		Use:   "bots",
		Short: "Run many bots on one server",
		Long: `Bots makes, starts, stops and removes named bots on a server with systemd. A bot has its config and its tokens in /etc/nanobot/NAME, its state
in /var/lib/nanobot/NAME, a user of its own, and runs as nanobot@NAME.service. All but status and list need root.`,
		Example: `  nanobot bots create faq --command 'grep -i -e {message} /srv/faq.txt' --telegram-token-file token.txt --allow 123456789
  nanobot bots start faq
  nanobot bots list`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.PersistentFlags().StringVar(&b.root, "root", "/", "the root of the server's files, for preparing another machine's")
	cmd.PersistentFlags().BoolVar(&b.json, "json", false, "print JSON")
	_ = cmd.MarkPersistentFlagDirname("root")
	cmd.PersistentPreRunE = func(*cobra.Command, []string) (err error) {
		if b.root, err = filepath.Abs(b.root); err != nil {
			return err
		}
		if info, err := os.Stat(b.root); err != nil || !info.IsDir() {
			return exit.Usagef("--root: there is no folder %s", b.root)
		}
		return nil
	}
	cmd.AddCommand(newBotsCreate(b), newBotsList(b), newBotsStatus(b), newBotsStart(b), newBotsStop(b), newBotsRemove(b))
	return cmd
}

// bots are the named bots of a server.
type bots struct {
	std  stdio
	root string
	json bool
}

func (b *bots) files(name string) (systemd.Bot, error) {
	if !systemd.ValidName(name) {
		return systemd.Bot{}, exit.Usagef("a bot's name has 1 to 23 small letters, digits and -, and begins with a letter or digit (got %q)", name)
	}
	return systemd.Bot{Root: b.root, Name: name}, nil
}

// known is files for a bot that must be there.
func (b *bots) known(name string) (systemd.Bot, error) {
	f, err := b.files(name)
	if err != nil {
		return f, err
	}
	if _, err := os.Stat(f.Config()); err != nil {
		return f, fmt.Errorf("there is no bot %s: %w", name, rights(err))
	}
	return f, nil
}

// all returns the bots that are there, in order. One whose name cannot be a bot's is left out, and that is said.
func (b *bots) all() ([]systemd.Bot, error) {
	configs, err := filepath.Glob(filepath.Join(b.root, "etc/nanobot", "[^.]*", "config.json"))
	if err != nil {
		return nil, fmt.Errorf("--root: %w", err)
	}
	var all []systemd.Bot
	for _, path := range configs {
		name := filepath.Base(filepath.Dir(path))
		f, err := b.files(name)
		if err != nil {
			fmt.Fprintf(b.std.err, "%s is left out: %v\n", path, err)
			continue
		}
		all = append(all, f)
	}
	return all, nil
}

// named returns the bots that are named, or all.
func (b *bots) named(names []string, all bool) (chosen []systemd.Bot, err error) {
	switch {
	case all && len(names) > 0:
		return nil, exit.Usagef("give names or --all, not both")
	case all:
		return b.all()
	case len(names) == 0:
		return nil, exit.Usagef("name a bot, or say --all")
	}
	for _, name := range names {
		f, err := b.known(name)
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, f)
	}
	return chosen, nil
}

// rights says what to do about a lack of them.
func rights(err error) error {
	if errors.Is(err, os.ErrPermission) {
		return fmt.Errorf("%w; try again with sudo", err)
	}
	return err
}

// loadBot reads the config of a bot. One that may not be read is not a bad one: only of a bad one the error is config.Mistakes.
func loadBot(b systemd.Bot) (*config.Config, error) {
	file, err := os.Open(b.Config())
	if err != nil {
		return nil, rights(err)
	}
	defer file.Close()
	return config.Load(b.Config(), nil)
}

// networksOf names the chat networks that a config enables.
func networksOf(cfg *config.Config) []string {
	names := []string{}
	for _, name := range slices.Sorted(maps.Keys(networks)) {
		if cfg != nil && networks[name].enabled(cfg) {
			names = append(names, name)
		}
	}
	return names
}
