package blocks_test

import (
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"nanobot/internal/fuzztest"
	"nanobot/internal/musttest"
	"nanobot/terminal/blocks"
)

var (
	fileTag       = regexp.MustCompile(`^\[(CREATE_FILE|EDIT_FILE|DELETE_FILE|READ_FILE)[\s\v\x{85}\pZ](?s:.*)\]$`)
	bareTag       = regexp.MustCompile(`^\[(RUN_COMMAND|MESSAGE|DONE)\]$`)
	attributePair = regexp.MustCompile(`([\pL\p{Nd}_.:-]+)[\s\v\x{85}\pZ]*=[\s\v\x{85}\pZ]*"([^"]*)"`)
)

// simpleParse is a reference implementation of Parse with regular expressions, in quadratic time.
func simpleParse(response string) []blocks.Command {
	lines := strings.Split(strings.TrimPrefix(response, "\ufeff"), "\n")
	for i := range lines[:len(lines)-1] {
		lines[i] = strings.TrimSuffix(lines[i], "\r")
	}
	commands := []blocks.Command{}
	for i := 0; i < len(lines); i++ {
		tag := strings.TrimSpace(lines[i])
		found := fileTag.FindStringSubmatch(tag)
		if found == nil {
			if found = bareTag.FindStringSubmatch(tag); found == nil {
				continue
			}
		}
		name, values := found[1], map[string]string{}
		for _, p := range attributePair.FindAllStringSubmatch(tag, -1) {
			values[strings.ToLower(p[1])] = p[2]
		}
		end := i + 1
		for end < len(lines) && strings.TrimSpace(lines[end]) != "[/"+name+"]" {
			end++
		}
		c := simpleCommand(name, values, lines[i+1:end], end < len(lines))
		commands = append(commands, c)
		if c.Type != blocks.ParseError && c.Type != blocks.DeleteFile && c.Type != blocks.ReadFile {
			i = end
		}
	}
	return commands
}

func simpleCommand(name string, values map[string]string, body []string, closed bool) blocks.Command {
	path, havePath := values["path"]
	start, haveStart := values["start_line"]
	end, haveEnd := values["end_line"]
	first, err1 := strconv.ParseInt(strings.TrimSpace(start), 10, 32)
	last, err2 := strconv.ParseInt(strings.TrimSpace(end), 10, 32)
	text := strings.Join(body, "\n")
	switch name {
	case string(blocks.EditFile):
		switch {
		case !havePath || !haveStart || !haveEnd:
			return parseError("EDIT_FILE missing required attributes (path, start_line, end_line)")
		case err1 != nil || err2 != nil:
			return parseError("EDIT_FILE start_line/end_line must be integers")
		case !closed:
			return parseError("EDIT_FILE for '" + path + "' missing closing tag")
		}
		return editCommand(path, int(first), int(last), text)
	case string(blocks.CreateFile), string(blocks.DeleteFile), string(blocks.ReadFile):
		switch {
		case !havePath:
			return parseError(name + " missing path attribute")
		case name != "CREATE_FILE":
			return blocks.Command{Type: blocks.CommandType(name), Path: path}
		case !closed:
			return parseError("CREATE_FILE for '" + path + "' missing closing tag")
		}
		return createCommand(path, text)
	}
	if !closed {
		return parseError(name + " missing closing tag")
	}
	return blocks.Command{Type: blocks.CommandType(name), Text: strings.TrimSpace(text)}
}

func FuzzParse(f *testing.F) {
	seeds := []string{
		"x\n[CREATE_FILE path=\"a\" mode=\"b\"]\none\n\n two\r\n[/CREATE_FILE]\n", "[EDIT_FILE path = \"a\" START_LINE=\" 1\" end_line=\"-2\" /]\nx\n[/EDIT_FILE]",
		"[DELETE_FILE path=\"a\"]\n[READ_FILE path=\"b\"]\n", "  [RUN_COMMAND]\nls\n[/RUN_COMMAND]\n[MESSAGE]\nhi\n[/MESSAGE]\n[DONE]\nyes\n[/DONE]\n", "\ufeff[MESSAGE]\n[CREATE_FILE path=\"",
		"[MESSAGE]\n\u3000a\u00a0\n[/MESSAGE]", blocks.ProtocolText,
	}
	for _, s := range append(seeds, fuzztest.Mutate(seeds, 3000)...) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, response string) {
		got, want := blocks.Parse(response), simpleParse(response)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%q\ngot  %+v\nwant %+v", response, got, want)
		}
		for _, c := range got {
			musttest.Get(c.MarshalJSON())(t)
		}
	})
}
