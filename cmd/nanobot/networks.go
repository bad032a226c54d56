package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"nanobot/channels"
	"nanobot/cmd/nanobot/trust"
	"nanobot/config"
	"nanobot/gateway/intake"
	"nanobot/internal/words"
	"nanobot/terminal"
)

// extensions returns the sections that channels and protocols add to the config.
func extensions() config.Extensions {
	all := config.Extensions{
		Words: config.Words{Check: words.CheckOverride}, CheckSchedule: checkSchedule, CheckZone: checkZone,
		Commands: intake.CommandNames(),
	}
	for _, key := range words.Keys() {
		all.Words.Keys = append(all.Words.Keys, string(key))
	}
	for _, n := range networks {
		all.Channels = append(all.Channels, n.Channel)
	}
	for _, p := range protocols {
		all.Protocols = append(all.Protocols, p.Protocol)
	}
	return all
}

// loadConfig reads a config with the environment of this process.
func loadConfig(path string) (*config.Config, error) {
	return config.Load(path, os.Environ(), extensions())
}

// loadForCommand reads the config for a command that works while the daemon may be running.
func loadForCommand(flag string) (*config.Config, error) {
	return trust.LoadConfig(cmp.Or(configPath(flag), "config.json"), extensions())
}

// enabledChannels returns the channels that a config enables, each with its name, sorted by name.
func enabledChannels(cfg *config.Config) []channels.Description {
	var enabled []channels.Description
	for name := range cfg.Channels {
		n, _ := findNetwork(name)
		if n.Name = name; n.Enabled(cfg) {
			enabled = append(enabled, n)
		}
	}
	slices.SortFunc(enabled, func(a, b channels.Description) int { return cmp.Compare(a.Name, b.Name) })
	return enabled
}

// warnGoneAccounts returns a warning for each account that has chats in a state and is not in the
// config.
func warnGoneAccounts(ctx context.Context, cfg *config.Config, s stateStore) ([]string, error) {
	names, err := s.Channels(ctx)
	var all []string
	for _, name := range names {
		if n, known := findNetwork(name); known && cfg.Channels[name] == nil {
			all = append(all, fmt.Sprintf("the state has chats of %s, which is no longer in channels.%s: nobody answers them "+
				"until an account has that name again", describeAccount(name), n.Name))
		}
	}
	return all, err
}

// describeAccount names an account for the operator.
func describeAccount(channel string) string {
	if _, name, named := strings.Cut(channel, "."); named {
		return fmt.Sprintf("the account %q", name)
	}
	return "the account without a name"
}

// findNetwork returns the chat network of a channel.
func findNetwork(channel string) (channels.Description, bool) {
	network, _, _ := strings.Cut(channel, ".")
	for _, n := range networks {
		if n.Name == network {
			return n, true
		}
	}
	return channels.Description{}, false
}

// findProtocol returns the protocol with a name.
func findProtocol(name string) (terminal.Description, bool) {
	for _, p := range protocols {
		if p.Name == name {
			return p, true
		}
	}
	return terminal.Description{}, false
}

// protocolNames returns the names of the protocols, sorted.
func protocolNames() []string {
	var names []string
	for _, p := range protocols {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	return names
}

// stateFolders returns the folders of channels in the state folder that a backup copies file by
// file.
func stateFolders() []string {
	var all []string
	for _, n := range networks {
		all = append(all, n.StateFolders...)
	}
	return all
}
