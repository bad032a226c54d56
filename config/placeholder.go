package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Placeholder in terminal.command stands for the user's text, quoted as one word of a POSIX shell.
const Placeholder = "{message}"

// otherWay is what every refusal of the placeholder ends with.
const otherWay = `let the program read the text from its standard input or from "$NANOBOT_TEXT" instead`

// shells are those whose single quotes hold everything but a single quote, and how their commands
// are parsed.
var shells = map[string]syntax.LangVariant{
	"sh": syntax.LangPOSIX, "dash": syntax.LangPOSIX, "ash": syntax.LangPOSIX, "busybox": syntax.LangPOSIX,
	"bash": syntax.LangBash, "ksh": syntax.LangMirBSDKorn, "mksh": syntax.LangMirBSDKorn, "zsh": syntax.LangZsh,
}

// Command is a shell command in which the text of a message can take the place of each placeholder.
type Command struct {
	parts []string // around the placeholders
	uses  []textUse
}

// textUse is how one placeholder stands in the command.
type textUse struct {
	program string // that gets the text as an argument
	warned  bool   // the program may take the text for an option
	guarded bool   // the text begins the argument, so a dash in front of it is covered by a blank
}

// ParseCommand finds the placeholders of a command. It refuses one in which the quoted text would
// not stay one word, and one that hands the text to something that evaluates it.
func ParseCommand(shell, command string) (Command, error) {
	c := Command{parts: strings.Split(command, Placeholder)}
	if len(c.parts) == 1 {
		return c, nil
	}
	variant, known := shells[filepath.Base(shell)]
	if !known {
		return c, fmt.Errorf("%s cannot be used with the shell %s; with sh, bash, ksh and zsh it can; or %s", Placeholder, shell, otherWay)
	}
	marked, marks := mark(c.parts)
	file, err := syntax.NewParser(syntax.Variant(variant)).Parse(strings.NewReader(marked), "")
	if err != nil {
		return c, errors.New("is not a command that the shell understands, so " + Placeholder + " cannot be used safely")
	}
	r := commandReader{marks: marks, uses: make([]*textUse, len(c.parts)-1), functions: map[string]bool{}}
	if err := r.read(file); err != nil {
		return c, fmt.Errorf("%w; %s", err, otherWay)
	}
	for _, p := range r.uses {
		if p == nil {
			return c, errors.New(Placeholder + " must stand by itself, outside of quotes, backquotes, arithmetic, tests, eval, assignments, redirections, comments and here-documents; it is quoted already; or " + otherWay)
		}
		c.uses = append(c.uses, *p)
	}
	return c, nil
}

// mark puts a plain word in place of each placeholder, because { may mean something to the parser.
// The words have one length and a number, so that none is found in another.
func mark(parts []string) (marked string, prefix string) {
	prefix = "nanobotmessage"
	for strings.Contains(strings.Join(parts, ""), prefix) {
		prefix += "x"
	}
	var b strings.Builder
	for i, part := range parts {
		if i > 0 {
			fmt.Fprintf(&b, "%s%06d", prefix, i-1)
		}
		b.WriteString(part)
	}
	return b.String(), prefix
}

// CheckCommand refuses a command in which the text of a message could be evaluated.
func CheckCommand(shell, command string) error {
	_, err := ParseCommand(shell, command)
	return err
}

// Warnings says where a program could take the text for an option.
func (c Command) Warnings() []string {
	var all []string
	seen := map[string]bool{}
	for _, p := range c.uses {
		if !p.warned || seen[p.program] {
			continue
		}
		seen[p.program] = true
		all = append(all, fmt.Sprintf(`%s is an argument that %s may take for an option, so a text that begins with "-" is handed over with a blank in front: write -- %[1]s, `+
			`--name=%[1]s or, for grep, -e %[1]s, or %[3]s`, Placeholder, p.program, otherWay))
	}
	return all
}

// HasPlaceholder reports whether the text of a message is part of the command.
func (c Command) HasPlaceholder() bool { return len(c.uses) > 0 }

// Expand puts the quoted text in place of each placeholder. A placeholder within the text stays as
// typed.
func (c Command) Expand(text string, quote func(string) string) string {
	text = strings.ReplaceAll(text, "\x00", "") // no word can hold one, and it must not hide a dash behind it
	var b strings.Builder
	for i, part := range c.parts {
		if i > 0 {
			word := text
			if c.uses[i-1].guarded && strings.HasPrefix(text, "-") {
				word = " " + text
			}
			b.WriteString(quote(word))
		}
		b.WriteString(part)
	}
	return b.String()
}
