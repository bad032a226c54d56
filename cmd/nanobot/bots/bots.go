// Package bots makes, lists, starts, stops and removes the named bots of a server with systemd. It
// runs no bot itself: systemd does.
package bots

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"nanobot/channels"
	"nanobot/cmd/nanobot/exit"
	"nanobot/cmd/nanobot/systemd"
	"nanobot/config"
)

// Server is a server with systemd and the named bots on it.
type Server struct {
	Root     string // root folder of its file system; not / for the image of another machine
	JSON     bool   // print JSON
	In       io.Reader
	Out, Err io.Writer
	// Networks are the channels that this program knows, and Extensions the sections that channels
	// and protocols add to configs.
	Networks   []channels.Description
	Extensions config.Extensions
}

// ResolveRoot makes the root an absolute path, and refuses one that is no folder. It is called
// before anything else.
func (s *Server) ResolveRoot() (err error) {
	if s.Root, err = filepath.Abs(s.Root); err != nil {
		return err
	}
	if info, err := os.Stat(s.Root); err != nil || !info.IsDir() {
		return exit.Usagef("--root: there is no folder %s", s.Root)
	}
	return nil
}

// bot returns the bot with a name, which need not exist.
func (s *Server) bot(name string) (systemd.Bot, error) {
	if !systemd.ValidName(name) {
		return systemd.Bot{},
			exit.Usagef("the name of a bot has 1 to 23 lower-case letters, digits and -, and begins with a letter or digit "+
				"(got %q)", name)
	}
	return systemd.Bot{Root: s.Root, Name: name}, nil
}

// requireBot returns the bot with a name, or an error if there is none.
func (s *Server) requireBot(name string) (systemd.Bot, error) {
	bot, err := s.bot(name)
	if err != nil {
		return bot, err
	}
	_, err = os.Stat(bot.Config())
	if errors.Is(err, os.ErrNotExist) {
		return bot, fmt.Errorf("there is no bot %s; nanobot bots list shows them", name)
	}
	if err != nil {
		return bot, fmt.Errorf("find bot %s: %w", name, suggestSudo(err))
	}
	return bot, nil
}

// allBots returns the bots of the server, sorted by name. It skips folders without a valid name,
// with a warning.
func (s *Server) allBots() ([]systemd.Bot, error) {
	configs, err := filepath.Glob(filepath.Join(s.Root, "etc/nanobot", "[^.]*", "config.json"))
	if err != nil {
		return nil, fmt.Errorf("--root: %w", err)
	}
	var all []systemd.Bot
	for _, path := range configs {
		name := filepath.Base(filepath.Dir(path))
		bot, err := s.bot(name)
		if err != nil {
			fmt.Fprintf(s.Err, "%s is skipped: %v\n", path, err)
			continue
		}
		all = append(all, bot)
	}
	return all, nil
}

// selectBots returns the named bots, or all.
func (s *Server) selectBots(names []string, all bool) (some []systemd.Bot, err error) {
	switch {
	case all && len(names) > 0:
		return nil, exit.Usagef("use names or --all, not both")
	case all:
		return s.allBots()
	case len(names) == 0:
		return nil, exit.Usagef("add the name of a bot, or --all")
	}
	for _, name := range names {
		bot, err := s.requireBot(name)
		if err != nil {
			return nil, err
		}
		some = append(some, bot)
	}
	return some, nil
}

// suggestSudo adds to an error of missing permissions what to do about it.
func suggestSudo(err error) error {
	if errors.Is(err, os.ErrPermission) {
		return fmt.Errorf("%w; try again with sudo", err)
	}
	return err
}

// loadConfig reads the config of a bot. Its error is config.Mistakes only if the config was read
// and is wrong.
func (s *Server) loadConfig(b systemd.Bot) (*config.Config, error) {
	file, err := os.Open(b.Config())
	if err != nil {
		return nil, suggestSudo(err)
	}
	defer file.Close()
	return config.Load(b.Config(), nil, s.Extensions)
}
