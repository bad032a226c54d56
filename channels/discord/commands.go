package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bwmarrin/discordgo"
	"go.uber.org/zap"

	"nanobot/channels/httpclient"
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

// commands is what we want to be offered when somebody types a slash: the gateway's commands, and
// one for the agent.
func (c *Channel) commands() []*discordgo.ApplicationCommand {
	all := []*discordgo.ApplicationCommand{{Name: askCommand, Description: "ask the agent", Options: []*discordgo.ApplicationCommandOption{
		{Type: discordgo.ApplicationCommandOptionString, Name: textOption, Description: "what to ask", Required: true},
		{Type: discordgo.ApplicationCommandOptionAttachment, Name: fileOption, Description: "a file to go with it"},
	}}}
	for _, m := range c.menu {
		name := strings.ToLower(m.Name)
		if isCommandName(name) && name != askCommand {
			command := &discordgo.ApplicationCommand{Name: name, Description: short(m.Help, name)}
			if m.Args {
				command.Options = []*discordgo.ApplicationCommandOption{
					{Type: discordgo.ApplicationCommandOptionString, Name: textOption, Description: "what follows the command"},
				}
			}
			all = append(all, command)
		}
	}
	contexts := []discordgo.InteractionContextType{discordgo.InteractionContextGuild, discordgo.InteractionContextBotDM}
	if c.o.Groups == "off" {
		contexts = contexts[1:]
	}
	for _, command := range all {
		command.Type, command.Contexts = discordgo.ChatApplicationCommand, &contexts
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
	pause := c.newRetrier("commands not registered, will retry")
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
		if !httpclient.Sleep(ctx, pause.Next(err)) {
			return
		}
	}
}

func (c *Channel) registerOnce(ctx context.Context, app flake) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	id := app.String()
	var raw json.RawMessage
	err := c.api.call(ctx, route{getCommands, id}, &raw, func(l library) (any, error) { return l.ApplicationCommands(id, "", l.options...) })
	if err != nil {
		return err
	}
	var there []*discordgo.ApplicationCommand
	_ = json.Unmarshal(raw, &there) // what cannot be decoded is not what we want
	wanted := c.commands()
	if slices.Equal(summaries(there), summaries(wanted)) {
		return nil
	}
	return c.api.call(ctx, route{putCommands, id}, nil, func(l library) (any, error) {
		return l.ApplicationCommandBulkOverwrite(id, "", wanted, l.options...)
	})
}

// summaries are what commands say, as far as we set it, in alphabetical order.
func summaries(all []*discordgo.ApplicationCommand) []string {
	var out []string
	for _, c := range all {
		if c == nil {
			continue
		}
		words := []string{fmt.Sprintf("%q %q %d", c.Name, c.Description, c.Type)}
		if c.Contexts != nil {
			words = append(words, fmt.Sprint(slices.Sorted(slices.Values(*c.Contexts))))
		}
		for _, o := range c.Options {
			if o != nil {
				words = append(words, fmt.Sprintf("%q %q %d %t", o.Name, o.Description, o.Type, o.Required))
			}
		}
		out = append(out, strings.Join(words, " "))
	}
	slices.Sort(out)
	return out
}
