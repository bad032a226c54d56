package choice

import (
	"slices"

	"nanobot/channels"
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
	{name: "whoami", help: words.HelpWhoami, private: true},
	{name: CommandAgent, help: words.HelpAgent, available: (*Choice).Several},
	{name: CommandRunbooks, help: words.HelpRunbooks, available: (*Choice).HasRunbooks},
	{name: CommandRun, help: words.HelpRun, args: true, available: (*Choice).HasRunbooks},
	{name: "help", help: words.HelpHelp, private: true},
}

// GatewayCommands lists the gateway's commands that are available.
func (c *Choice) GatewayCommands() []channels.Command {
	all := make([]channels.Command, 0, len(gatewayCommands))
	for _, own := range gatewayCommands {
		if own.available == nil || own.available(c) {
			all = append(all, c.localized(channels.Command{Name: own.name, Args: own.args, Private: own.private}, own.help))
		}
	}
	return all
}

// Has reports whether one of the gateway's commands is available.
func (c *Choice) Has(name string) bool {
	at := slices.IndexFunc(gatewayCommands, func(own gatewayCommand) bool { return own.name == name })
	return at >= 0 && (gatewayCommands[at].available == nil || gatewayCommands[at].available(c))
}

// localized returns a command of a menu with its description in every language.
func (c *Choice) localized(command channels.Command, help words.Key) channels.Command {
	command.Help, command.HelpIn = c.o.Words.For("").Text(help), map[string]string{}
	for _, l := range words.Languages() {
		command.HelpIn[string(l)] = c.o.Words.For(string(l)).Text(help)
	}
	return command
}
