package acp

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"nanobot/terminal"
)

// maxAsked is how many characters of a command, and how many of other details a question shows: a
// chat's message holds about 4,000.
const maxAsked = 1500

// question says what the agent wants to do, as exactly as it is known.
func (t *tool) question(dir string) string {
	parts := []string{"🔐 " + icon(t.kind) + " " + asTyped(t.name())}
	input := t.input
	if input.command != "" && input.command != strings.Trim(t.name(), "`") {
		parts = append(parts, terminal.CodeBlock("", clip(input.command, maxAsked, input.more)))
	}
	switch {
	case len(t.diffs) > 0:
		input.path = "" // they say it
	case input.path == "":
		input.path = t.path
	}
	for _, s := range []string{relative(dir, input.path), input.url} {
		if s = terminal.OneLine(s, 500); s != "" && !strings.Contains(t.name(), s) {
			parts = append(parts, terminal.CodeSpan(s))
		}
	}
	parts = append(parts, t.files(dir, input.path)...)
	parts = append(parts, t.details(dir)...)
	return strings.Join(parts, "\n")
}

// files are those that the permission covers, but for the one that is shown already and those whose
// changes are. A link is shown with where it leads.
func (t *tool) files(dir, shown string) (parts []string) {
	for _, f := range t.named {
		changed := slices.ContainsFunc(t.diffs, func(d fileDiff) bool { return d.Path == f.path })
		switch {
		case f.real != filepath.Clean(f.path):
			parts = append(parts, terminal.CodeSpan(terminal.OneLine(relative(dir, f.path), 500))+" → "+terminal.CodeSpan(terminal.OneLine(f.real, 500)))
		case f.path != shown && !changed:
			parts = append(parts, terminal.CodeSpan(terminal.OneLine(relative(dir, f.path), 500)))
		}
	}
	return parts
}

// details are the changes and the words that the agent puts to its question, as far as there is
// room.
func (t *tool) details(dir string) (parts []string) {
	left := maxAsked
	for i, d := range t.diffs {
		if left <= 0 {
			return append(parts, fmt.Sprintf("… and %d more files", len(t.diffs)-i))
		}
		c := d.compare(dir)
		parts = append(parts, c.head)
		shown, all := excerpt(c.body, diffExcerpt)
		if short := terminal.Shorten(shown, left); short != shown {
			shown, all = short, false
		}
		left -= len(shown)
		if shown != "" {
			parts = append(parts, terminal.CodeBlock("diff", shown))
		}
		if !all {
			parts = append(parts, "(and more)")
		}
	}
	for _, b := range t.made {
		if text := clip(b.Text, max(left, 0), 0); b.Type == "text" && text != "" && left > 0 {
			left -= len(text)
			parts = append(parts, text)
		}
	}
	return parts
}

// clip cuts a text and says how much is missing with what was cut off before, so that nobody takes
// a part for the whole.
func clip(s string, n, more int) string {
	s = strings.TrimSpace(terminal.Visible(s))
	if short := terminal.Shorten(s, n); short != s {
		more += len(s) - len(short) + len("…")
		s = short
	}
	if more > 0 {
		return fmt.Sprintf("%s\n(%d more bytes)", s, more)
	}
	return s
}

// toolInput is what matters in a tool's input. It has no fixed form; agents use these names.
type toolInput struct {
	command, path, url string
	more               int // bytes that the command has beyond what is kept
}

func newToolInput(raw json.RawMessage) toolInput {
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(raw, &fields) // it may be of any type
	first := func(keys ...string) string {
		for _, key := range keys {
			if s := words(fields[key]); strings.TrimSpace(s) != "" {
				return s
			}
		}
		return ""
	}
	in := toolInput{command: first("command", "cmd"), path: first("file_path", "filePath", "path"), url: first("url")}
	if in == (toolInput{}) && len(raw) > maxInput {
		in.command = string(raw) // better than nothing, where so much is asked for
	}
	in.command, in.more = head(in.command)
	in.path, _ = head(in.path)
	in.url, _ = head(in.url)
	return in
}

// head returns the beginning of a text, as a copy of its own, and how many bytes follow it.
func head(s string) (string, int) {
	short := strings.ToValidUTF8(s[:min(len(s), maxInput)], "")
	return strings.Clone(short), len(s) - len(short)
}

// words returns a string, or a list of strings as they would be written for a shell.
func words(raw json.RawMessage) string {
	var line maybe[string]
	var list maybe[[]string]
	_ = json.Unmarshal(raw, &line) // nothing is no string either
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
