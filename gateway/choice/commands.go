package choice

import (
	"slices"
	"strings"

	"nanobot/channels"
	"nanobot/config"
	"nanobot/internal/role"
	"nanobot/internal/words"
)

// The commands that are available only with several agents or with runbooks. Otherwise they are
// passed to the agent, like all unknown commands.
const (
	CommandAgent    = "agent"
	CommandRun      = "run"
	CommandRunbooks = "runbooks"
	// CommandUnschedule is a command of a button.
	CommandUnschedule = "unschedule"
)

// gatewayCommand is an entry of the menu; see channels.Command.
type gatewayCommand struct {
	name          string
	help          words.Key
	args, private bool
	available     func(*Choice) bool // nil: always
}

// gatewayCommands lists the gateway's commands in the order of the menu.
var gatewayCommands = []gatewayCommand{
	{name: "stop", help: words.HelpStop, args: true},
	{name: "status", help: words.HelpStatus, private: true},
	{name: "new", help: words.HelpNew},
	{name: "retry", help: words.HelpRetry},
	{name: "remind", help: words.HelpRemind, args: true},
	{name: "schedules", help: words.HelpSchedules},
	{name: "verbose", help: words.HelpVerbose, args: true},
	{name: "search", help: words.HelpSearch, args: true, private: true},
	{name: "usage", help: words.HelpUsage, private: true},
	{name: "whoami", help: words.HelpWhoami, private: true},
	{name: CommandAgent, help: words.HelpAgent, available: (*Choice).canSwitch},
	{name: CommandRunbooks, help: words.HelpRunbooks, available: (*Choice).HasRunbooks},
	{name: CommandRun, help: words.HelpRun, args: true, available: (*Choice).HasRunbooks},
	{name: "help", help: words.HelpHelp, private: true},
}

// canSwitch reports whether people can choose an agent somewhere.
func (c *Choice) canSwitch() bool {
	return c.Several() && (!c.HasRoutes() ||
		slices.ContainsFunc(c.o.Routes(), func(r config.Route) bool { return !r.Switch.IsEmpty() }))
}

// GatewayCommands lists the gateway's commands that are available, with those of the rules.
func (c *Choice) GatewayCommands() []channels.Command {
	all := make([]channels.Command, 0, len(gatewayCommands))
	for _, own := range gatewayCommands {
		if own.available == nil || own.available(c) {
			all = append(all, c.localized(channels.Command{Name: own.name, Args: own.args, Private: own.private}, own.help))
		}
	}
	if c.HasRoutes() {
		for _, rule := range c.o.Routes() {
			for _, name := range rule.Match.Command {
				command := channels.Command{Name: strings.ToLower(name), Args: true}
				if !slices.ContainsFunc(all, func(other channels.Command) bool { return other.Name == command.Name }) {
					all = slices.Insert(all, len(all)-1, c.localized(command, words.HelpRoute, rule.Agent)) // /help is the last
				}
			}
		}
	}
	return all
}

// Allowed returns the commands that a role includes.
func Allowed(r role.Role, all []channels.Command) []channels.Command {
	return slices.DeleteFunc(slices.Clone(all), func(c channels.Command) bool {
		return !role.May(r, role.OfCommand(c.Name), role.NoList)
	})
}

// Has reports whether one of the gateway's commands is available.
func (c *Choice) Has(name string) bool {
	at := slices.IndexFunc(gatewayCommands, func(own gatewayCommand) bool { return own.name == name })
	return at >= 0 && (gatewayCommands[at].available == nil || gatewayCommands[at].available(c))
}

// localized returns a command of a menu with its description in every language.
func (c *Choice) localized(command channels.Command, help words.Key, values ...any) channels.Command {
	command.Help, command.HelpIn = c.o.Words.For("").Text(help, values...), map[string]string{}
	for _, l := range words.Languages() {
		command.HelpIn[string(l)] = c.o.Words.For(string(l)).Text(help, values...)
	}
	return command
}
