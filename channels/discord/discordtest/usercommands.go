package discordtest

import (
	"fmt"
	"slices"
	"unicode/utf8"
)

// UserRunsCommand makes a user run a slash command in a channel. The options are strings, numbers,
// booleans and Files by name. It is an error if the bot has not registered the command with these
// options.
func (s *Server) UserRunsCommand(channel, user, command string, options map[string]any) (made Interaction, err error) {
	s.Update(func() {
		ch := s.channels[channel]
		c, ok := s.findCommand(ch, command)
		if !ok {
			err = fmt.Errorf("slash: the bot has no command %q in channel %s", command, channel)
			return
		}
		var given []map[string]any
		if given, err = c.orderOptions(options); err != nil {
			return
		}
		data := map[string]any{"id": c.ID, "name": c.Name, "type": c.Type}
		files := map[string]Attachment{}
		for _, o := range given {
			if f, ok := o["value"].(File); ok {
				a := s.signURL(ch.ID, s.storeFile(ch.ID, f, ""))
				o["value"], files[a.ID] = a.ID, a
			}
		}
		if len(given) > 0 {
			data["options"], data["resolved"] = given, map[string]any{"attachments": files}
		}
		made = s.createInteraction(ch, user, data, &interaction{kind: slashCommand, Interaction: Interaction{Command: command}})
	})
	return made, err
}

// findCommand returns a command that is available in a channel.
func (s *Server) findCommand(ch *channel, name string) (Command, bool) {
	for _, c := range slices.Concat(s.commands[ch.GuildID], s.commands[""]) {
		inDM := (c.DM == nil || *c.DM) && (c.Contexts == nil || slices.Contains(c.Contexts, 1))
		if c.Name == name && (ch.GuildID != "" || inDM) {
			return c, true
		}
	}
	return Command{}, false
}

// orderOptions returns the options in the order of the command's definition.
func (c Command) orderOptions(options map[string]any) (out []map[string]any, err error) {
	for _, o := range c.Options {
		value, ok := options[o.Name]
		text, _ := value.(string)
		switch {
		case !ok && o.Required:
			return nil, fmt.Errorf("slash %s: the option %q is required", c.Name, o.Name)
		case o.MaxLength != nil && utf8.RuneCountInString(text) > *o.MaxLength:
			return nil, fmt.Errorf("slash %s: the option %q is longer than %d", c.Name, o.Name, *o.MaxLength)
		case ok:
			out = append(out, map[string]any{"name": o.Name, "type": o.Type, "value": value})
		}
	}
	if len(out) < len(options) {
		return nil, fmt.Errorf("slash %s: an option of %v is not one of the command's", c.Name, options)
	}
	return out, nil
}
