package view

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"nanobot/internal/words"
	"nanobot/terminal"
	"nanobot/terminal/acp/rpc"
	"nanobot/terminal/steps"
)

// maxQuestionDetail limits the characters of a command, and those of other details, in a question.
// A chat message has room for about 4,000.
const maxQuestionDetail = 1500

// document is a text that a question shows only in part.
type document struct{ name, text string }

// question returns the text that asks about the tool call, as exactly as the call is known, and
// documents with what the text shows only in part.
func (t *ToolCall) question(dir string) (text string, documents []document) {
	parts := []string{"🔐 " + steps.Kind(t.Kind).Icon() + " " + steps.EscapeTitle(terminal.Visible(t.Name()))}
	var cut []string
	showPart := func(text string, limit int) string {
		shown, whole := terminal.Excerpt(t.words, text, limit)
		if !whole {
			cut = append(cut, text)
		}
		return shown
	}
	input := t.Input
	if input.Command == "" && (t.Kind == "execute" || len([]rune(t.Title)) > steps.TitleLength) {
		input.Command = t.Title // all that is known of the call
	}
	if input.Command != "" && !t.nameShows(input.Command) {
		parts = append(parts, terminal.CodeBlock("", showPart(input.Command, maxQuestionDetail)))
	}
	if folder := input.FolderOutside(dir); folder != "" {
		parts = append(parts, t.words.Text(words.CommandFolder, showPart(CodeLine(folder), 500)))
	}
	switch {
	case len(t.Diffs) > 0:
		input.path = "" // the diffs show the path
	case input.path == "":
		input.path = t.Path
	}
	for _, s := range []string{t.pathInQuestion(dir, input.path), input.url} {
		if s = terminal.OneLine(visibleLine(s), 500); s != "" && !strings.Contains(t.Name(), s) {
			parts = append(parts, terminal.CodeSpan(s))
		}
	}
	parts = append(parts, t.fileLines(dir, input.path)...)
	parts = append(parts, t.Notes...)
	diffs, diffsCut := t.diffLines(dir)
	parts = append(parts, diffs...)
	text = t.explanation()
	if input.Unknown != "" && input.path == "" && len(t.Diffs) == 0 && text == "" && t.plan() == "" {
		parts = append(parts, terminal.CodeBlock("json", showPart(input.Unknown, maxQuestionDetail)))
	}
	if text != "" {
		parts = append(parts, showPart(text, max(100, maxQuestionDetail-len(strings.Join(diffs, "")))))
	}
	if len(cut) > 0 {
		name := "details.txt"
		if t.Kind == "execute" {
			name = "command.txt"
		}
		documents = append(documents, document{name, strings.Join(cut, "\n\n")})
	}
	if diffsCut != "" {
		documents = append(documents, document{"changes.diff", diffsCut})
	}
	return strings.Join(parts, "\n"), documents
}

// nameShows reports whether the line with the name shows exactly this command. In a name with other
// code spans, Markdown may hide characters.
func (t *ToolCall) nameShows(command string) bool {
	command, name := strings.TrimSpace(command), t.Name()
	return !strings.Contains(command, "`") && (name == command || name == terminal.CodeSpan(command))
}

// visibleLine returns a text as one line in which nothing is hidden.
func visibleLine(s string) string { return strings.ReplaceAll(terminal.Visible(s), "\n", "\u240a") }

// CodeLine returns a text as a code span of one line, in which nothing is hidden.
func CodeLine(s string) string { return terminal.CodeSpan(visibleLine(s)) }

// explanation returns the texts of the content, without those that repeat the input and the plan,
// which is a message of its own.
func (t *ToolCall) explanation() string {
	if t.Kind == "switch_mode" {
		return ""
	}
	return t.contentText(func(text string) bool { return t.Input.Command == "" || !t.repeatsInput(text) })
}

// plan returns the plan that a question about a change of the mode is about, or "".
func (t *ToolCall) plan() string {
	if t.Kind != "switch_mode" {
		return ""
	}
	return cmp.Or(t.contentText(func(string) bool { return true }), t.Input.plan)
}

// contentText returns the chosen texts of the content as one.
func (t *ToolCall) contentText(chosen func(string) bool) string {
	var texts []string
	for _, b := range t.Content {
		if b.Type == "text" && chosen(b.Text) {
			texts = append(texts, b.Text)
		}
	}
	return terminal.TrimText(strings.Join(texts, "\n"))
}

// pathInQuestion returns the path that a question shows. The agent's working folder is shown only
// if it is to be changed: some agents name it as the location of every command.
func (t *ToolCall) pathInQuestion(dir, path string) string {
	if path != "." && filepath.Clean(path) != filepath.Clean(dir) {
		return relativePath(dir, path)
	}
	switch t.Kind {
	case "edit", "delete", "move":
		return dir
	}
	return ""
}

// fileLines lists the files that the permission covers, except those that the question already
// shows. A symbolic link is shown with its target.
func (t *ToolCall) fileLines(dir, shown string) (parts []string) {
	for _, f := range t.Files {
		changed := slices.ContainsFunc(t.Diffs, func(d FileDiff) bool { return d.Path == f.Path })
		switch {
		case f.Real != filepath.Clean(f.Path):
			parts = append(parts, codePath(dir, f.Path, 500)+" → "+codePath("", f.Real, 500))
		case f.Path != shown && !changed:
			parts = append(parts, codePath(dir, f.Path, 500))
		}
	}
	return parts
}

// diffLines shows the changes, up to maxQuestionDetail, and returns those that it shows only in
// part as one text.
func (t *ToolCall) diffLines(dir string) (parts []string, cut string) {
	left, more := maxQuestionDetail, 0
	var inPart strings.Builder
	for _, d := range t.Diffs {
		c := d.render(dir, t.words)
		body := c.body
		if d.keepsCRLF() {
			body = strings.ReplaceAll(body, "\r\n", "\n")
		}
		body = terminal.Visible(body)
		folded := terminal.FoldBlanks(t.words, body)
		shown, all := excerpt(folded, diffExcerpt)
		if short := terminal.Shorten(shown, max(left, 0)); short != shown {
			shown, all = short, false
		}
		// The summary shortens a path, and has no text that is too large to compare.
		all = all && folded == body && c.header != "" &&
			terminal.OneLine(visibleLine(d.Path), steps.TitleLength) == visibleLine(d.Path)
		if !all {
			inPart.WriteString(cmp.Or(c.header+c.body, d.Path+"\n"+d.NewText+"\n"))
		}
		if left <= 0 {
			more++
			continue
		}
		left -= len(shown)
		parts = append(parts, c.summary)
		if shown != "" {
			parts = append(parts, terminal.CodeBlock("diff", shown))
		}
		if !all {
			parts = append(parts, t.words.Text(words.QuestionMore))
		}
	}
	if more > 0 {
		parts = append(parts, "… "+t.words.Text(words.MoreFiles, more))
	}
	return parts, inPart.String()
}

// ToolInput is the relevant part of a tool's input. The input has no fixed schema; agents use these
// names.
type ToolInput struct {
	Command, Folder, path, url, plan string
	Unknown                          string // the JSON of an input that has none of these
}

// FolderOutside returns the folder of the command, or "" if it is the agent's working folder.
func (in ToolInput) FolderOutside(dir string) string {
	if in.Folder == "" || filepath.Clean(in.Folder) == filepath.Clean(dir) {
		return ""
	}
	return in.Folder
}

func newToolInput(raw json.RawMessage) ToolInput {
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(raw, &fields) // the input may be of any type
	first := func(keys ...string) string {
		for _, key := range keys {
			if s := shellWords(fields[key]); strings.TrimSpace(s) != "" {
				return s
			}
		}
		return ""
	}
	in := ToolInput{
		Command: first("command", "cmd"), Folder: first("cwd", "workdir"),
		path: first("file_path", "filePath", "path"), url: first("url"), plan: first("plan"),
	}
	var args []string
	if json.Unmarshal(fields["args"], &args) == nil {
		in.Command = ShellCommand(in.Command, args)
	}
	if in == (ToolInput{}) && !hasNothing(raw) {
		in.Unknown = string(raw)
	}
	return in
}

// shellWords returns a JSON string as it is, and a list of strings quoted for a shell.
func shellWords(raw json.RawMessage) string {
	var line rpc.Optional[string]
	var list rpc.Optional[[]string]
	_ = json.Unmarshal(raw, &line) // a missing value sets neither
	_ = json.Unmarshal(raw, &list)
	if line.OK {
		return line.V
	}
	if len(list.V) == 0 {
		return ""
	}
	return ShellCommand(list.V[0], list.V[1:])
}

// ShellCommand returns a program with its arguments as a line for a shell. Without arguments the
// program may be a line itself.
func ShellCommand(program string, args []string) string {
	if len(args) == 0 {
		return program
	}
	quoted := make([]string, 0, 1+len(args))
	for _, word := range append([]string{program}, args...) {
		q, err := syntax.Quote(word, syntax.LangBash)
		if err != nil {
			q = fmt.Sprintf("%q", word)
		}
		quoted = append(quoted, q)
	}
	return strings.Join(quoted, " ")
}
