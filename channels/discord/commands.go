package discord

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bwmarrin/discordgo"
	"go.uber.org/zap"

	"nanobot/internal/words"
)

// The command that carries free text to the agent, and what it takes.
const (
	askCommand = "ask"
	textOption = "text"
	fileOption = "file"
)

// maxDescription is how long the description of a command may be, and maxCommands how many commands
// a bot may have.
const maxDescription, maxCommands = 100, 100

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
	text := discordgo.ApplicationCommandOption{
		Type: discordgo.ApplicationCommandOptionString, Name: textOption,
		Required: true,
	}
	c.describeOption(&text, words.HelpAskText)
	file := discordgo.ApplicationCommandOption{Type: discordgo.ApplicationCommandOptionAttachment, Name: fileOption}
	c.describeOption(&file, words.HelpAskFile)
	ask := &discordgo.ApplicationCommand{
		Name: askCommand, Description: c.words.For("").Text(words.HelpAsk),
		Options: []*discordgo.ApplicationCommandOption{&text, &file},
	}
	ask.DescriptionLocalizations = c.localizations(ask.Description,
		func(l string) string { return c.words.For(l).Text(words.HelpAsk) })
	all := []*discordgo.ApplicationCommand{ask}
	for _, m := range c.menu.Commands() {
		name := strings.ToLower(m.Name)
		if isCommandName(name) && name != askCommand && len(all) < maxCommands {
			command := &discordgo.ApplicationCommand{Name: name, Description: shortDescription(m.Help, name)}
			command.DescriptionLocalizations = c.localizations(command.Description,
				func(l string) string { return shortDescription(m.HelpFor(l), name) })
			if m.Args {
				option := &discordgo.ApplicationCommandOption{Type: discordgo.ApplicationCommandOptionString, Name: textOption}
				c.describeOption(option, words.HelpArgument)
				command.Options = []*discordgo.ApplicationCommandOption{option}
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

// describeOption sets the description of an option.
func (c *Channel) describeOption(o *discordgo.ApplicationCommandOption, help words.Key) {
	o.Description = c.words.For("").Text(help)
	if all := c.localizations(o.Description, func(l string) string { return c.words.For(l).Text(help) }); all != nil {
		o.DescriptionLocalizations = *all
	}
}

// localizations returns a description in the languages in which it differs from the one for
// everybody; nil: in none. The languages of the catalogue are also locales of Discord.
func (c *Channel) localizations(description string,
	translate func(language string) string,
) *map[discordgo.Locale]string {
	all := map[discordgo.Locale]string{}
	for _, l := range words.Languages() {
		if text := translate(string(l)); text != description {
			all[discordgo.Locale(l)] = text
		}
	}
	if len(all) == 0 {
		return nil
	}
	return &all
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

// keepCommandsRegistered registers the commands now and after each change, until ctx ends. The bot
// also works without them.
func (c *Channel) keepCommandsRegistered(ctx context.Context, app snowflake) {
	c.menu.Follow(ctx, func() {
		err := c.newRetrier("commands not registered, will retry").Do(ctx, func() error { return c.updateCommands(ctx, app) })
		if err != nil && ctx.Err() == nil {
			c.log.Warn("commands not registered", zap.Error(err))
		}
	})
}

// updateCommands registers the commands if they differ from the registered ones.
func (c *Channel) updateCommands(ctx context.Context, app snowflake) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	id := app.String()
	var raw json.RawMessage
	err := c.api.call(ctx, route{getCommands, id}, &raw,
		func(l library) (any, error) { return l.ApplicationCommands(id, "", l.options...) })
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
		fields := []string{fmt.Sprintf("%q %q %d", c.Name, c.Description, c.Type)}
		if c.DescriptionLocalizations != nil {
			fields = append(fields, fmt.Sprint(*c.DescriptionLocalizations))
		}
		if c.Contexts != nil {
			fields = append(fields, fmt.Sprint(slices.Sorted(slices.Values(*c.Contexts))))
		}
		for _, o := range c.Options {
			if o != nil {
				fields = append(fields, fmt.Sprintf("%q %q %d %t %v", o.Name, o.Description, o.Type, o.Required,
					o.DescriptionLocalizations))
			}
		}
		out = append(out, strings.Join(fields, " "))
	}
	slices.Sort(out)
	return out
}
