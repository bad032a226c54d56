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

// isCommandName reports whether Discord accepts a command name. A regular expression with a
// repetition of 32 would need a megabyte of memory.
func isCommandName(name string) bool {
	strange := func(r rune) bool { return r != '-' && r != '_' && !unicode.IsLetter(r) && !unicode.IsNumber(r) }
	n := utf8.RuneCountInString(name)
	return n >= 1 && n <= 32 && !strings.ContainsFunc(name, strange)
}

// wantedCommands returns the slash commands of the bot: the gateway's commands, and one for the
// agent.
func (c *Channel) wantedCommands() []*discordgo.ApplicationCommand {
	all := []*discordgo.ApplicationCommand{{Name: askCommand, Description: "ask the agent", Options: []*discordgo.ApplicationCommandOption{
		{Type: discordgo.ApplicationCommandOptionString, Name: textOption, Description: "what to ask", Required: true},
		{Type: discordgo.ApplicationCommandOptionAttachment, Name: fileOption, Description: "a file to go with it"},
	}}}
	for _, m := range c.menu {
		name := strings.ToLower(m.Name)
		if isCommandName(name) && name != askCommand {
			command := &discordgo.ApplicationCommand{Name: name, Description: shortDescription(m.Help, name)}
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

// shortDescription shortens a description to Discord's limit.
func shortDescription(help, name string) string {
	text := []rune(strings.TrimSpace(help))
	switch {
	case len(text) == 0:
		return name
	case len(text) > maxDescription:
		return string(text[:maxDescription-1]) + "…"
	}
	return string(text)
}

// registerCommands registers the commands if they differ from the registered ones. The bot also
// works without them.
func (c *Channel) registerCommands(ctx context.Context, app snowflake) {
	pause := c.newRetrier("commands not registered, will retry")
	for {
		err := c.updateCommands(ctx, app)
		var apiErr *apiError
		if err == nil || ctx.Err() != nil {
			return
		}
		if errors.As(err, &apiErr) && apiErr.isPermanent() {
			c.log.Warn("commands not registered", zap.Error(err))
			return
		}
		if !httpclient.Sleep(ctx, pause.Next(err)) {
			return
		}
	}
}

func (c *Channel) updateCommands(ctx context.Context, app snowflake) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	id := app.String()
	var raw json.RawMessage
	err := c.api.call(ctx, route{getCommands, id}, &raw, func(l library) (any, error) { return l.ApplicationCommands(id, "", l.options...) })
	if err != nil {
		return err
	}
	var there []*discordgo.ApplicationCommand
	_ = json.Unmarshal(raw, &there) // undecodable commands are replaced
	wanted := c.wantedCommands()
	if slices.Equal(summaries(there), summaries(wanted)) {
		return nil
	}
	return c.api.call(ctx, route{putCommands, id}, nil, func(l library) (any, error) {
		return l.ApplicationCommandBulkOverwrite(id, "", wanted, l.options...)
	})
}

// summaries returns the fields of commands that this package sets, sorted.
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
