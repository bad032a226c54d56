package discord

import (
	"context"
	"errors"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bwmarrin/discordgo"
	"go.uber.org/zap"

	"nanobot/channels/remote"
)

// The command that carries free text to the agent, and what it takes.
const (
	askCommand = "ask"
	textOption = "text"
	fileOption = "file"
)

// maxDescription is how long the description of a command may be.
const maxDescription = 100

// isCommandName reports whether Discord takes a name for a command. A pattern that counts to 32
// would be a megabyte of memory.
func isCommandName(name string) bool {
	strange := func(r rune) bool { return r != '-' && r != '_' && !unicode.IsLetter(r) && !unicode.IsNumber(r) }
	n := utf8.RuneCountInString(name)
	return n >= 1 && n <= 32 && !strings.ContainsFunc(name, strange)
}

// registered is a command as Discord knows it, as far as we say anything about it.
type registered struct {
	Name        string                             `json:"name"`
	Description string                             `json:"description"`
	Type        discordgo.ApplicationCommandType   `json:"type"`
	Contexts    []discordgo.InteractionContextType `json:"contexts"`
	Options     []registeredOption                 `json:"options,omitempty"`
}

type registeredOption struct {
	Type        discordgo.ApplicationCommandOptionType `json:"type"`
	Name        string                                 `json:"name"`
	Description string                                 `json:"description"`
	Required    bool                                   `json:"required,omitempty"`
}

// commands is what we want to be offered when somebody types a slash: the gateway's commands, and
// one for the agent.
func (c *Channel) commands() []registered {
	all := []registered{{Name: askCommand, Description: "ask the agent", Options: []registeredOption{
		{Type: discordgo.ApplicationCommandOptionString, Name: textOption, Description: "what to ask", Required: true},
		{Type: discordgo.ApplicationCommandOptionAttachment, Name: fileOption, Description: "a file to go with it"},
	}}}
	for _, m := range c.menu {
		name := strings.ToLower(m.Name)
		if isCommandName(name) && name != askCommand {
			command := registered{Name: name, Description: short(m.Help, name)}
			if m.Args {
				command.Options = []registeredOption{{Type: discordgo.ApplicationCommandOptionString, Name: textOption, Description: "what follows the command"}}
			}
			all = append(all, command)
		}
	}
	for i := range all {
		all[i].Type = discordgo.ChatApplicationCommand
		all[i].Contexts = []discordgo.InteractionContextType{discordgo.InteractionContextGuild, discordgo.InteractionContextBotDM}
		if c.o.Groups == "off" {
			all[i].Contexts = all[i].Contexts[1:]
		}
	}
	return all
}

// short is a description of the length that Discord takes.
func short(help, name string) string {
	text := []rune(strings.TrimSpace(help))
	switch {
	case len(text) == 0:
		return name
	case len(text) > maxDescription:
		return string(text[:maxDescription-1]) + "…"
	}
	return string(text)
}

// register tells Discord our commands if they are not what it knows. Without them the bot works as
// well.
func (c *Channel) register(ctx context.Context, app flake) {
	pause := c.newTrouble("commands not registered, will retry")
	for {
		err := c.registerOnce(ctx, app)
		var no *refusal
		if err == nil || ctx.Err() != nil {
			return
		}
		if errors.As(err, &no) && no.final() {
			c.log.Warn("commands not registered", zap.Error(err))
			return
		}
		if !remote.Sleep(ctx, pause.Next(err)) {
			return
		}
	}
}

func (c *Channel) registerOnce(ctx context.Context, app flake) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	const route = "/applications/{application_id}/commands"
	args := []string{app.String()}
	var there []registered
	if err := c.api.call(ctx, request{method: "GET", route: route, args: args}, &there); err != nil {
		return err
	}
	wanted := c.commands()
	if slices.EqualFunc(sorted(there), sorted(wanted), registered.equal) {
		return nil
	}
	return c.api.call(ctx, request{method: "PUT", route: route, args: args, body: wanted}, nil)
}

func sorted(all []registered) []registered {
	return slices.SortedFunc(slices.Values(all), func(a, b registered) int { return strings.Compare(a.Name, b.Name) })
}

func (r registered) equal(other registered) bool {
	where, there := slices.Sorted(slices.Values(r.Contexts)), slices.Sorted(slices.Values(other.Contexts))
	return r.Name == other.Name && r.Description == other.Description && r.Type == other.Type &&
		slices.Equal(r.Options, other.Options) && slices.Equal(where, there)
}
