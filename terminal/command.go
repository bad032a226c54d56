package terminal

import (
	"errors"
	"slices"
	"strings"
)

// minSecretLength is the shortest secret that is redacted in a command line. Shorter values occur
// by chance.
const minSecretLength = 6

// LaunchRecord describes for the audit log how agents are started: the configured command line
// without known secrets, the working folder, and the names of the environment variables.
func (r *Runner) LaunchRecord() (argv []string, dir string, env []string) {
	cfg := r.o.Config
	dir = cfg.Cwd
	if dir == "" {
		dir = r.o.Workspace
	}
	for _, kv := range r.env {
		name, _, _ := strings.Cut(kv, "=")
		env = append(env, name)
	}
	slices.Sort(env)
	argv = []string{cfg.Shell, "-c", r.Redact(cfg.Command)}
	if r.plain != nil {
		argv = make([]string, len(r.plain))
		for i, word := range r.plain {
			argv[i] = r.Redact(word)
		}
	}
	return argv, dir, slices.Compact(env)
}

// Redact replaces the secrets that the gateway knows in a text.
func (r *Runner) Redact(text string) string {
	var values []string
	for _, s := range r.o.Secrets {
		if v, err := s.Reveal(); err == nil {
			values = append(values, v)
		}
	}
	for _, p := range r.providers {
		values = append(values, p.APIKeys...)
	}
	for _, v := range r.o.Config.Env {
		values = append(values, v)
	}
	// The longest come first, because a secret may contain another one.
	slices.SortFunc(values, func(a, b string) int { return len(b) - len(a) })
	for _, v := range values {
		if len(v) >= minSecretLength {
			text = strings.ReplaceAll(text, v, "[secret]")
		}
	}
	return text
}

// maxCommand is the longest argument that Linux passes to a program (MAX_ARG_STRLEN without the
// final NUL).
const maxCommand = 128<<10 - 1

// errCommandTooLong says that the user's text does not fit into the command line.
var errCommandTooLong = errors.New("command line too long")

// ShellQuote quotes text as one word of a POSIX shell, without NULs. mvdan.cc/sh cannot be used: it
// refuses newlines for POSIX shells, and dash does not understand its form for bash.
func ShellQuote(text string) string {
	text = strings.ReplaceAll(text, "\x00", "")
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
