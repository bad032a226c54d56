package config

import (
	"errors"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Placeholder in terminal.command stands for the user's text, quoted as one word of a POSIX shell.
const Placeholder = "{message}"

// CheckCommand refuses a command in which the quoted text would not stay one word: within quotes, backquotes, a here-document
// or a comment the shell reads the quotes differently, and a user could run commands.
func CheckCommand(command string) error {
	count := strings.Count(command, Placeholder)
	if count == 0 {
		return nil
	}
	// A plain word takes the placeholder's place, because { may mean something to the parser.
	word := "nanobotmessage"
	for strings.Contains(command, word) {
		word += "x"
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(strings.ReplaceAll(command, Placeholder, word)), "")
	if err != nil {
		return errors.New("is not a command that a shell understands, so " + Placeholder + " cannot be used safely")
	}
	syntax.Walk(file, func(node syntax.Node) bool {
		switch n := node.(type) {
		case *syntax.DblQuoted, *syntax.SglQuoted, *syntax.Comment, *syntax.ParamExp, *syntax.ArithmExp:
			return false
		case *syntax.CmdSubst:
			return !n.Backquotes
		case *syntax.Redirect:
			return n.Hdoc == nil
		case *syntax.Lit:
			// A backslash before the quote would take its meaning away.
			count -= strings.Count(n.Value, word) - strings.Count(n.Value, `\`+word)
		}
		return true
	})
	if count != 0 {
		return errors.New(Placeholder + " must stand outside of quotes, backquotes, comments and here-documents; it is quoted already")
	}
	return nil
}
