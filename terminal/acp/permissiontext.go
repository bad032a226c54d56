package acp

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"nanobot/internal/words"
	"nanobot/terminal"
)

// maxQuestionDetail limits the characters of a command, and those of other details, in a question.
// A chat message has room for about 4,000.
const maxQuestionDetail = 1500

// question returns the text that asks about the tool call, as exactly as the call is known.
func (t *toolCall) question(dir string) string {
	parts := []string{"🔐 " + icon(t.kind) + " " + escapeTitle(t.name())}
	input := t.input
	if input.command != "" && input.command != strings.Trim(t.name(), "`") {
		parts = append(parts, terminal.CodeBlock("", truncate(t.words, input.command, maxQuestionDetail, input.more)))
	}
	switch {
	case len(t.diffs) > 0:
		input.path = "" // the diffs show the path
	case input.path == "":
		input.path = t.path
	}
	for _, s := range []string{t.pathInQuestion(dir, input.path), input.url} {
		if s = terminal.OneLine(s, 500); s != "" && !strings.Contains(t.name(), s) {
			parts = append(parts, terminal.CodeSpan(s))
		}
	}
	parts = append(parts, t.fileLines(dir, input.path)...)
	parts = append(parts, t.detailLines(dir)...)
	return strings.Join(parts, "\n")
}

// pathInQuestion returns the path that a question shows. The agent's working folder is shown only
// if it is to be changed: some agents name it as the location of every command.
func (t *toolCall) pathInQuestion(dir, path string) string {
	if path != "." && filepath.Clean(path) != filepath.Clean(dir) {
		return relativePath(dir, path)
	}
	switch t.kind {
	case "edit", "delete", "move":
		return dir
	}
	return ""
}

// fileLines lists the files that the permission covers, except those that the question already
// shows. A symbolic link is shown with its target.
func (t *toolCall) fileLines(dir, shown string) (parts []string) {
	for _, f := range t.permissionFiles {
		changed := slices.ContainsFunc(t.diffs, func(d fileDiff) bool { return d.Path == f.path })
		switch {
		case f.real != filepath.Clean(f.path):
			parts = append(parts, terminal.CodeSpan(terminal.OneLine(relativePath(dir, f.path), 500))+" → "+terminal.CodeSpan(terminal.OneLine(f.real, 500)))
		case f.path != shown && !changed:
			parts = append(parts, terminal.CodeSpan(terminal.OneLine(relativePath(dir, f.path), 500)))
		}
	}
	return parts
}

// detailLines shows the changes and the agent's explanations, up to maxQuestionDetail.
func (t *toolCall) detailLines(dir string) (parts []string) {
	left := maxQuestionDetail
	for i, d := range t.diffs {
		if left <= 0 {
			return append(parts, "… "+t.words.Text(words.MoreFiles, len(t.diffs)-i))
		}
		c := d.render(dir, t.words)
		parts = append(parts, c.summary)
		shown, all := excerpt(c.body, diffExcerpt)
		if short := terminal.Shorten(shown, left); short != shown {
			shown, all = short, false
		}
		left -= len(shown)
		if shown != "" {
			parts = append(parts, terminal.CodeBlock("diff", shown))
		}
		if !all {
			parts = append(parts, t.words.Text(words.QuestionMore))
		}
	}
	for _, b := range t.content {
		if text := truncate(t.words, b.Text, max(left, 0), 0); b.Type == "text" && text != "" && left > 0 {
			left -= len(text)
			parts = append(parts, text)
		}
	}
	return parts
}

// truncate shortens s to n bytes and states how many bytes are omitted, including the more that
// were cut off before.
func truncate(w words.Words, s string, n, more int) string {
	s = strings.TrimSpace(terminal.Visible(s))
	if short := terminal.Shorten(s, n); short != s {
		more += len(s) - len(short) + len("…")
		s = short
	}
	if more > 0 {
		return s + "\n" + w.Text(words.QuestionMoreBytes, more)
	}
	return s
}

// toolInput is the relevant part of a tool's input. The input has no fixed schema; agents use these
// names.
type toolInput struct {
	command, path, url string
	more               int // bytes of the command beyond maxInput
}

func newToolInput(raw json.RawMessage) toolInput {
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
	in := toolInput{command: first("command", "cmd"), path: first("file_path", "filePath", "path"), url: first("url")}
	if in == (toolInput{}) && len(raw) > maxInput {
		in.command = string(raw) // a large input of unknown form is shown as it is
	}
	in.command, in.more = cutInput(in.command)
	in.path, _ = cutInput(in.path)
	in.url, _ = cutInput(in.url)
	return in
}

// cutInput returns a copy of the first maxInput bytes, and the number of bytes that follow.
func cutInput(s string) (string, int) {
	short := strings.ToValidUTF8(s[:min(len(s), maxInput)], "")
	return strings.Clone(short), len(s) - len(short)
}

// shellWords returns a JSON string as it is, and a list of strings quoted for a shell.
func shellWords(raw json.RawMessage) string {
	var line optional[string]
	var list optional[[]string]
	_ = json.Unmarshal(raw, &line) // a missing value sets neither
	_ = json.Unmarshal(raw, &list)
	if line.ok {
		return line.v
	}
	quoted := make([]string, 0, len(list.v))
	for _, word := range list.v {
		q, err := syntax.Quote(word, syntax.LangBash)
		if err != nil {
			q = fmt.Sprintf("%q", word)
		}
		quoted = append(quoted, q)
	}
	return strings.Join(quoted, " ")
}
