package terminal

import (
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"nanobot/terminal/process"
)

// plainShells are the shells that only execute the program of a plain command. Others read files
// before, which may change what the command means.
var plainShells = map[string]syntax.LangVariant{
	"sh": syntax.LangPOSIX, "dash": syntax.LangPOSIX, "ash": syntax.LangPOSIX, "bash": syntax.LangBash,
}

// builtins are the commands that the plain shells execute themselves, with and without a program of
// the same name.
var builtins = []string{
	".", ":", "[", "alias", "bg", "bind", "break", "builtin", "caller", "cd", "chdir", "command", "compgen",
	"complete", "compopt", "continue", "declare", "dirs", "disown", "echo", "enable", "eval", "exec", "exit",
	"export", "false", "fc", "fg", "getopts", "hash", "help", "history", "jobs", "kill", "let", "local", "logout",
	"mapfile", "popd", "printf", "pushd", "pwd", "read", "readarray", "readonly", "return", "set", "shift",
	"shopt", "source", "suspend", "test", "times", "trap", "true", "type", "typeset", "ulimit", "umask",
	"unalias", "unset", "wait",
}

// plainWords returns the words of a command line for which the shell would do nothing but execute a
// program with these arguments, after an optional exec; nil: the command needs the shell.
func (r *Runner) plainWords(command string) []string {
	variant, ok := plainShells[filepath.Base(r.o.Config.Shell)]
	// the parser drops carriage returns, which a shell keeps
	if !ok || readsBashVariables(r.env) || strings.Contains(command, "\r") {
		return nil
	}
	file, err := syntax.NewParser(syntax.Variant(variant)).Parse(strings.NewReader(command), "")
	if err != nil || len(file.Stmts) != 1 {
		return nil
	}
	s := file.Stmts[0]
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || s.Negated || s.Background || s.Coprocess || s.Disown || len(s.Redirs) > 0 || len(call.Assigns) > 0 {
		return nil
	}
	var words []string
	for _, w := range call.Args {
		word, ok := literal(w.Parts, `$\*?[]{}~`)
		if !ok {
			return nil
		}
		words = append(words, word)
	}
	if len(words) > 1 && words[0] == "exec" && !strings.HasPrefix(words[1], "-") {
		words = words[1:]
	}
	if len(words) == 0 || words[0] == "" || slices.Contains(builtins, words[0]) {
		return nil
	}
	return words
}

// literal returns the text of a word in which a shell replaces nothing but quotes. A part without
// quotes contains no special character.
func literal(parts []syntax.WordPart, special string) (text string, ok bool) {
	for _, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			if strings.ContainsAny(p.Value, special) {
				return "", false
			}
			text += p.Value
		case *syntax.SglQuoted:
			if p.Dollar {
				return "", false
			}
			text += p.Value
		case *syntax.DblQuoted:
			quoted, ok := literal(p.Parts, `\\`)
			if !ok || p.Dollar {
				return "", false
			}
			text += quoted
		default:
			return "", false
		}
	}
	return text, true
}

// readsBashVariables reports whether an environment has a variable by which bash changes the
// meaning of commands.
func readsBashVariables(env []string) bool {
	return slices.ContainsFunc(env, func(variable string) bool {
		return strings.HasPrefix(variable, "BASH_ENV=") || strings.HasPrefix(variable, "BASH_FUNC_")
	})
}

// commandOptions returns the options of a process that executes a command line in a folder: the
// program itself where a shell would do no more than execute it, and otherwise the shell. The shell
// also tells what is wrong with a program that cannot be executed.
func (r *Runner) commandOptions(command, dir string, env []string) process.Options {
	o := process.Options{Args: []string{r.o.Config.Shell, "-c", command}, Dir: dir, Env: env}
	if r.plain == nil {
		return o
	}
	path, err := process.FindProgram(r.plain[0], o.Dir, env)
	if err != nil {
		return o
	}
	if strings.Contains(r.plain[0], "/") {
		path = r.plain[0] // so that $0 of a script is what the shell would make it
	}
	o.Path, o.Args, o.Fallback = path, r.plain, o.Args
	return o
}
