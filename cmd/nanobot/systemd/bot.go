// Package systemd knows the paths of a bot's files in systemd's units, and calls systemctl. It
// neither creates nor removes bots, and it does not notify systemd of the daemon's state.
package systemd

import (
	"os"
	"path/filepath"

	"nanobot/internal/lazyregexp"
)

// Bot is one bot of a server, whose files are where the units in deploy/systemd expect them. A Bot
// without a name is the server's only one.
type Bot struct {
	Root string // of the server's file system, usually /
	Name string
}

// botName matches a name that is valid as a folder's, as a unit's and, after nanobot-, as a user's,
// which has at most 31 characters. It cannot be mistaken for a flag.
var botName = lazyregexp.New(`^[a-z0-9][a-z0-9-]{0,22}$`)

// ValidName reports whether a bot can have this name.
func ValidName(name string) bool { return botName().MatchString(name) }

// FindBot returns the bot that a config file belongs to, if the file is where the units look for
// it.
func FindBot(path string) (Bot, bool) {
	path, err := filepath.Abs(path)
	if err != nil || filepath.Base(path) != "config.json" {
		return Bot{}, false
	}
	b := Bot{Name: filepath.Base(filepath.Dir(path))}
	etc := filepath.Dir(filepath.Dir(path))
	if b.Name == "nanobot" && filepath.Base(etc) == "etc" {
		etc, b.Name = filepath.Dir(path), ""
	}
	b.Root = filepath.Dir(filepath.Dir(etc))
	return b, b.Config() == path && (b.Name == "" || ValidName(b.Name))
}

// Dir returns the folder of the bot's config and credentials.
func (b Bot) Dir() string { return filepath.Join(b.Root, "etc/nanobot", b.Name) }

// Config returns the path of the bot's config.
func (b Bot) Config() string { return filepath.Join(b.Dir(), "config.json") }

// Credentials returns the folder of the secrets that systemd passes to the bot.
func (b Bot) Credentials() string { return filepath.Join(b.Dir(), "credentials") }

// State returns the bot's state folder.
func (b Bot) State() string { return filepath.Join(b.Root, "var/lib/nanobot", b.Name) }

// Workspace returns the agent's folder. It is a separate folder in the state, so that a sandbox can
// restrict the agent to it.
func (b Bot) Workspace() string { return filepath.Join(b.State(), "workspace") }

// StateDirs returns the folders that may hold the bot's state: with DynamicUser= the first is a
// symbolic link to the second.
func (b Bot) StateDirs() []string {
	return []string{b.State(), filepath.Join(b.Root, "var/lib/private/nanobot", b.Name)}
}

// UnitOverrides returns the paths of drop-ins and masks of this bot's unit alone: those of
// systemctl edit and mask, of set-property, and of both until the next reboot.
func (b Bot) UnitOverrides() (paths []string) {
	for _, dir := range []string{
		"etc/systemd/system", "etc/systemd/system.control", "run/systemd/system",
		"run/systemd/system.control",
	} {
		unit := filepath.Join(b.Root, dir, b.Unit())
		paths = append(paths, unit+".d", unit)
	}
	return paths
}

// Unit returns the name of the bot's unit.
func (b Bot) Unit() string {
	if b.Name == "" {
		return "nanobot.service"
	}
	return "nanobot@" + b.Name + ".service"
}

// SetEnviron sets the environment variables that systemd sets for the daemon, so that the bot's
// state and secrets are found. Variables that are set already stay.
func (b Bot) SetEnviron() {
	for name, dir := range map[string]string{"STATE_DIRECTORY": b.State(), "CREDENTIALS_DIRECTORY": b.Credentials()} {
		_, err := os.Stat(dir)
		if exists := err == nil || dir == b.State() && b.IsService(); exists && os.Getenv(name) == "" {
			_ = os.Setenv(name, dir)
		}
	}
}

// IsService guesses whether systemd runs the bot: a daemon that was started by hand has its state
// in .nanobot beside the config.
func (b Bot) IsService() bool {
	_, err := os.Stat(filepath.Join(b.Dir(), ".nanobot"))
	return err != nil && Manager{b.Root}.Runs()
}
