package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Placeholder in terminal.command stands for the user's text, quoted as one word of a POSIX shell.
const Placeholder = "{message}"

// shells are those whose single quotes hold everything but a single quote, and how their commands are parsed.
var shells = map[string]syntax.LangVariant{
	"sh": syntax.LangPOSIX, "dash": syntax.LangPOSIX, "ash": syntax.LangPOSIX, "busybox": syntax.LangPOSIX,
	"bash": syntax.LangBash, "ksh": syntax.LangMirBSDKorn, "mksh": syntax.LangMirBSDKorn, "zsh": syntax.LangZsh,
}

// CheckCommand refuses a command in which the quoted text would not stay one word: within quotes, backquotes, arithmetic, a
// here-document or a comment the shell reads the quotes differently, and a user could run commands.
func CheckCommand(shell, command string) error {
	count := strings.Count(command, Placeholder)
	if count == 0 {
		return nil
	}
	variant, known := shells[filepath.Base(shell)]
	if !known {
		return fmt.Errorf("%s cannot be used with the shell %s; with sh, bash, ksh and zsh it can", Placeholder, shell)
	}
	// A plain word takes the placeholder's place, because { may mean something to the parser.
	word := "nanobotmessage"
	for strings.Contains(command, word) {
		word += "x"
	}
	file, err := syntax.NewParser(syntax.Variant(variant)).Parse(strings.NewReader(strings.ReplaceAll(command, Placeholder, word)), "")
	if err != nil {
		return errors.New("is not a command that the shell understands, so " + Placeholder + " cannot be used safely")
	}
	syntax.Walk(file, func(node syntax.Node) bool {
		if lit, ok := node.(*syntax.Lit); ok {
			// A backslash before the quote would take its meaning away.
			count -= strings.Count(lit.Value, word) - strings.Count(lit.Value, `\`+word)
		}
		return !rereads(node)
	})
	if count != 0 {
		return errors.New(Placeholder + " must stand by itself, outside of quotes, backquotes, arithmetic, tests, eval, comments and here-documents; it is quoted already")
	}
	return nil
}

// rereads reports whether the shell reads what is in a part of a command by other rules than a plain word, or twice.
func rereads(node syntax.Node) bool {
	switch n := node.(type) {
	case *syntax.DblQuoted, *syntax.SglQuoted, *syntax.Comment, *syntax.ParamExp, *syntax.ArithmExp, *syntax.ArithmCmd,
		*syntax.TestClause, *syntax.LetClause:
		return true
	case *syntax.CmdSubst:
		return n.Backquotes
	case *syntax.Redirect:
		return n.Hdoc != nil
	case *syntax.Assign:
		return n.Index != nil || n.Array != nil
	case *syntax.CallExpr:
		return len(n.Args) > 0 && slices.Contains([]string{"eval", "let", "test", "["}, n.Args[0].Lit())
	}
	return false
}
