package blocks

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"nanobot/terminal"
)

// closedTypes are the commands with a closing tag.
var closedTypes = []CommandType{CreateFile, EditFile, RunCommand, Message, Done}

// Parse returns the commands of a response in order and ignores all other text. A command that
// cannot be parsed becomes a ParseError, and parsing continues on the line after its opening tag.
func Parse(response string) []Command {
	commands, _ := parseWithHints(response)
	return commands
}

// parseWithHints is Parse and also returns hints for the model about what was not read as it was
// probably meant.
func parseWithHints(response string) (commands []Command, hints []string) {
	text := strings.ReplaceAll(strings.TrimPrefix(response, "\ufeff"), "\r\n", "\n")
	r := responseReader{text: text, closings: findClosings(text)}
	commands = []Command{}
	for r.at < len(r.text) {
		start := r.at
		line := strings.TrimSpace(r.nextLine())
		name, attributes, ok := openingTag(line)
		if !ok {
			if name, near := nearMiss(line); near {
				r.addHint(start, formHint(name))
			}
			continue
		}
		command, err := r.readCommand(name, attributes)
		if err != nil {
			r.addHint(start, formHint(name))
			command = Command{Type: ParseError, Text: err.Error()}
		}
		r.addHint(start, bodyHint(command))
		commands = append(commands, command)
	}
	return commands, r.hints
}

// responseReader reads the lines of a response.
type responseReader struct {
	text string
	at   int // where the next line begins
	// closings are the closing tags after at.
	closings map[CommandType][]span

	hints          []string
	counted, lines int // the newlines before counted
}

// span is a line, from its first byte to the beginning of the next line.
type span struct{ start, end int }

func (r *responseReader) nextLine() string {
	line, _, _ := strings.Cut(r.text[r.at:], "\n")
	r.at = min(r.at+len(line)+1, len(r.text))
	return line
}

// readCommand parses the command whose opening tag is the previous line.
func (r *responseReader) readCommand(name CommandType, attributes map[string]string) (Command, error) {
	command := Command{Type: name}
	switch name {
	case CreateFile, DeleteFile, ReadFile:
		path, ok := attributes["path"]
		if !ok {
			return Command{}, fmt.Errorf("%s missing path attribute", name)
		}
		command.Path = path
	case EditFile:
		if err := command.setRange(attributes); err != nil {
			return Command{}, err
		}
	case RunCommand, Message, Done, ParseError:
	}
	if name == DeleteFile || name == ReadFile {
		return command, nil
	}
	body, ok := r.body(name)
	switch {
	case !ok && command.hasPath():
		return Command{}, fmt.Errorf("%s for '%s' missing closing tag", name, command.Path)
	case !ok:
		return Command{}, fmt.Errorf("%s missing closing tag", name)
	case command.hasPath():
		command.Text = body
	default:
		command.Text = strings.TrimSpace(body)
	}
	return command, nil
}

func (c Command) hasPath() bool {
	return c.Type == CreateFile || c.Type == EditFile || c.Type == DeleteFile || c.Type == ReadFile
}

func (c *Command) setRange(attributes map[string]string) error {
	path, havePath := attributes["path"]
	start, haveStart := attributes["start_line"]
	end, haveEnd := attributes["end_line"]
	if !havePath || !haveStart || !haveEnd {
		return fmt.Errorf("%s missing required attributes (path, start_line, end_line)", c.Type)
	}
	first, err1 := strconv.ParseInt(strings.TrimSpace(start), 10, 32)
	last, err2 := strconv.ParseInt(strings.TrimSpace(end), 10, 32)
	if err1 != nil || err2 != nil {
		return fmt.Errorf("%s start_line/end_line must be integers", c.Type)
	}
	c.Path, c.StartLine, c.EndLine = path, int(first), int(last)
	return nil
}

// body returns the lines up to the next closing tag without their last newline, and skips the tag.
// Without a closing tag it skips nothing.
func (r *responseReader) body(name CommandType) (string, bool) {
	closings := r.closings[name]
	for len(closings) > 0 && closings[0].start < r.at {
		closings = closings[1:]
	}
	r.closings[name] = closings
	if len(closings) == 0 {
		return "", false
	}
	body := r.text[r.at:closings[0].start]
	r.at = closings[0].end
	return strings.TrimSuffix(body, "\n"), true
}

// findClosings returns the lines that are closing tags. One pass over the whole response keeps
// parsing linear, even with many commands that lack a closing tag.
func findClosings(text string) map[CommandType][]span {
	closings := make(map[CommandType][]span, len(closedTypes))
	for r := (responseReader{text: text}); r.at < len(text); {
		start := r.at
		line := strings.TrimSpace(r.nextLine())
		if !strings.HasPrefix(line, "[/") {
			continue
		}
		for _, name := range closedTypes {
			if line == "[/"+string(name)+"]" {
				closings[name] = append(closings[name], span{start, r.at})
			}
		}
	}
	return closings
}

// openingTag parses a trimmed line as an opening tag.
func openingTag(line string) (name CommandType, attributes map[string]string, ok bool) {
	if !strings.HasPrefix(line, "[") || !strings.HasSuffix(line, "]") {
		return "", nil, false
	}
	for _, name := range []CommandType{RunCommand, Message, Done} {
		if line == "["+string(name)+"]" {
			return name, nil, true
		}
	}
	word := strings.IndexFunc(line, unicode.IsSpace)
	if word < 0 {
		return "", nil, false
	}
	switch name := CommandType(line[1:word]); name {
	case CreateFile, EditFile, DeleteFile, ReadFile:
		return name, readAttributes(line[word : len(line)-1]), true
	case RunCommand, Message, Done, ParseError:
	}
	return "", nil, false
}

// readAttributes parses key="value" pairs, with keys in lower case. The last value of a repeated
// key counts.
func readAttributes(text string) map[string]string {
	attributes := make(map[string]string)
	for {
		before, after, found := strings.Cut(text, "=")
		if !found {
			return attributes
		}
		text = after
		before = strings.TrimRightFunc(before, unicode.IsSpace)
		key := before[len(strings.TrimRightFunc(before, isKeyCharacter)):]
		value, quoted := strings.CutPrefix(strings.TrimLeftFunc(after, unicode.IsSpace), `"`)
		if key == "" || !quoted {
			continue
		}
		value, rest, closed := strings.Cut(value, `"`)
		if !closed {
			return attributes
		}
		attributes[strings.ToLower(key)] = value
		text = rest
	}
}

// isKeyCharacter reports whether a character can be part of a key.
func isKeyCharacter(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-.:", r)
}

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
