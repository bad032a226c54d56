package blocks

import (
	"slices"

	"nanobot/terminal"
)

// parser parses a response for `nanobot parse`.
func parser() terminal.Parser {
	return terminal.Parser{
		Object: `{"commands":[{"type":"CREATE_FILE","path":…,"content":…},{"type":"RUN_COMMAND","command":…},…]}`,
		Parse: func(output, _ string) (object any, ok bool) {
			commands := Parse(output)
			unreadable := slices.ContainsFunc(commands, func(c Command) bool { return c.Type == ParseError })
			return map[string][]Command{"commands": commands}, !unreadable
		},
	}
}

// MarshalJSON encodes the fields that a command of this type has.
func (c Command) MarshalJSON() ([]byte, error) {
	fields := struct {
		Type      CommandType `json:"type"`
		Path      *string     `json:"path,omitempty"`
		StartLine *int        `json:"start_line,omitempty"`
		EndLine   *int        `json:"end_line,omitempty"`
		Content   *string     `json:"content,omitempty"`
		Command   *string     `json:"command,omitempty"`
		Text      *string     `json:"text,omitempty"`
		Message   *string     `json:"message,omitempty"`
	}{Type: c.Type}
	if c.hasPath() {
		fields.Path = &c.Path
	}
	switch c.Type {
	case CreateFile:
		fields.Content = &c.Text
	case EditFile:
		fields.StartLine, fields.EndLine, fields.Content = &c.StartLine, &c.EndLine, &c.Text
	case RunCommand:
		fields.Command = &c.Text
	case Message, Done:
		fields.Text = &c.Text
	case ParseError:
		fields.Message = &c.Text
	case DeleteFile, ReadFile:
	}
	return terminal.EncodeLine(fields) // without escaping <, > and &
}
