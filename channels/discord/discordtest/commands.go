package discordtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Command is a registered command of the bot.
type Command struct {
	ID               string            `json:"id,omitempty"`
	ApplicationID    string            `json:"application_id,omitempty"`
	GuildID          string            `json:"guild_id,omitempty"`
	Version          string            `json:"version,omitempty"`
	Type             int               `json:"type,omitempty"`
	Name             string            `json:"name"`
	Names            map[string]string `json:"name_localizations,omitempty"`
	Description      string            `json:"description"`
	Descriptions     map[string]string `json:"description_localizations,omitempty"`
	Options          []CommandOption   `json:"options,omitempty"`
	Permissions      json.RawMessage   `json:"default_member_permissions,omitempty"`
	DM               *bool             `json:"dm_permission,omitempty"`
	Contexts         []int             `json:"contexts,omitempty"`
	IntegrationTypes []int             `json:"integration_types,omitempty"`
	Handler          *int              `json:"handler,omitempty"`
}

// CommandOption is an argument of a command.
type CommandOption struct {
	Type         int               `json:"type"`
	Name         string            `json:"name"`
	Names        map[string]string `json:"name_localizations,omitempty"`
	Description  string            `json:"description"`
	Descriptions map[string]string `json:"description_localizations,omitempty"`
	Required     bool              `json:"required,omitempty"`
	Autocomplete bool              `json:"autocomplete,omitempty"`
	Choices      []CommandChoice   `json:"choices,omitempty"`
	Options      []CommandOption   `json:"options,omitempty"`
	ChannelTypes []int             `json:"channel_types,omitempty"`
	MinValue     *float64          `json:"min_value,omitempty"`
	MaxValue     *float64          `json:"max_value,omitempty"`
	MinLength    *int              `json:"min_length,omitempty"`
	MaxLength    *int              `json:"max_length,omitempty"`
}

// CommandChoice is a value that an option may have.
type CommandChoice struct {
	Name  string            `json:"name"`
	Names map[string]string `json:"name_localizations,omitempty"`
	Value any               `json:"value"`
}

// Commands returns the commands that are registered for a guild, or globally for "".
func (s *Server) Commands(guild string) []Command {
	s.Lock()
	defer s.Unlock()
	return slices.Clone(s.commands[guild])
}

// checkApplication checks that a call is for the bot's own application, and for a guild that the
// bot is in.
func (s *Server) checkApplication(c *Call) error {
	if c.Args["application_id"] != s.ApplicationID {
		return expectedError(http.StatusForbidden, 20012, "You are not authorized to perform this action on this application")
	}
	if _, scoped := c.Args["guild_id"]; scoped {
		_, err := s.guildOf(c)
		return err
	}
	return nil
}

func (s *Server) getCommands(c *Call) (any, error) {
	if err := s.checkApplication(c); err != nil {
		return nil, err
	}
	return append([]Command{}, s.commands[c.Args["guild_id"]]...), nil
}

const commandFields = "name name_localizations description description_localizations options " +
	"default_member_permissions dm_permission contexts integration_types handler type id"

// putCommands replaces all commands. A command that keeps its name also keeps its ID.
func (s *Server) putCommands(c *Call) (any, error) {
	if err := s.checkApplication(c); err != nil {
		return nil, err
	}
	next, err := decodeBody[[]Command](s, c.Route, c.Body)
	if err != nil {
		return nil, err
	}
	var names []map[string]json.RawMessage
	_ = json.Unmarshal(c.Body, &names)
	for i := range names {
		s.checkFields(fmt.Sprintf("%s, command %d", c.Route, i), names[i], commandFields)
	}
	if len(next) > 100 {
		return nil, violationError(http.StatusBadRequest, 30032, "Maximum number of application commands reached (100)")
	}
	seen := map[string]bool{}
	for i := range next {
		at := fmt.Sprint(i)
		if err := next[i].check(at); err != nil {
			return nil, err
		}
		if seen[next[i].Name] {
			return nil, fieldError(at+".name", "APPLICATION_COMMANDS_DUPLICATE_NAME", "Application command names must be unique")
		}
		seen[next[i].Name] = true
		s.assignCommandID(c.Args["guild_id"], &next[i])
	}
	s.commands[c.Args["guild_id"]] = next
	return append([]Command{}, next...), nil
}

func (s *Server) assignCommandID(guild string, c *Command) {
	c.ID, c.ApplicationID, c.GuildID, c.Version = s.newID(), s.ApplicationID, guild, s.newID()
	c.Type = max(c.Type, 1)
	for _, old := range s.commands[guild] {
		if old.Name == c.Name {
			c.ID = old.ID
		}
	}
}

// maxCommandName is the longest name of a slash command or an option, in characters.
const maxCommandName = 32

// commandName matches the characters of names. Their length and upper case are checked apart.
var commandName = regexp.MustCompile(`^[-_'\p{L}\p{N}\p{Devanagari}\p{Thai}]+$`)

func (c Command) check(at string) error {
	if c.Type > 1 {
		return fieldError(at+".type", "UNSUPPORTED", "discordtest knows only slash commands")
	}
	return checkCommand(at, c.Name, c.Description, c.Options)
}

func checkCommand(at, name, description string, options []CommandOption) error {
	if !commandName.MatchString(name) || utf8.RuneCountInString(name) > maxCommandName || strings.ToLower(name) != name {
		return fieldError(at+".name", "APPLICATION_COMMAND_INVALID_NAME", "Command name is invalid")
	}
	if err := checkLengths(at, []lengthLimit{{"description", description, 1, 100}}); err != nil {
		return err
	}
	if len(options) > 25 {
		return fieldError(at+".options", "BASE_TYPE_MAX_LENGTH", "Must be 25 or fewer in length.")
	}
	optional, seen := false, map[string]bool{}
	for i, o := range options {
		at := fmt.Sprintf("%s.options.%d", at, i)
		switch {
		case o.Type < 1 || o.Type > 11:
			return fieldError(at+".type", "BASE_TYPE_CHOICES", "no type of option")
		case seen[o.Name]:
			return fieldError(at+".name", "APPLICATION_COMMAND_OPTIONS_NAME_ALREADY_EXISTS", "Option name already exists")
		case o.Required && optional:
			return fieldError(at, "APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID", "Required options must be placed before non-required options")
		case len(o.Choices) > 25:
			return fieldError(at+".choices", "BASE_TYPE_MAX_LENGTH", "Must be 25 or fewer in length.")
		case o.MaxLength != nil && (*o.MaxLength < 1 || *o.MaxLength > 6000):
			return fieldError(at+".max_length", "NUMBER_TYPE_MAX", "int value should be between 1 and 6000.")
		}
		optional, seen[o.Name] = optional || !o.Required, true
		for j, choice := range o.Choices {
			if err := checkLengths(fmt.Sprintf("%s.choices.%d", at, j), []lengthLimit{{"name", choice.Name, 1, 100}}); err != nil {
				return err
			}
		}
		if err := checkCommand(at, o.Name, o.Description, o.Options); err != nil {
			return err
		}
	}
	return nil
}
