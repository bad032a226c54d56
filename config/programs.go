package config

import (
	"cmp"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// ProgramUser is implemented by the settings of protocols that name programs of this machine.
type ProgramUser interface {
	// Programs returns the programs of an agent by their keys in the section, without arguments.
	Programs(Terminal) map[string]string
}

// unsandboxed are the values of terminal.sandbox that are no command.
var unsandboxed = []string{"none", "landlock"}

// CheckPrograms reports programs that the agent in Terminal is run with and that this machine does
// not have. Load does not, because a config may be checked on another machine. The paths of the
// problems are relative to the agent's section.
func (c *Config) CheckPrograms() []error {
	var all []error
	t := c.agentSections()[0]
	report := func(p Problem, program string) {
		if strings.Contains(program, "/") && !filepath.IsAbs(program) {
			program = filepath.Join(cmp.Or(t.Cwd, c.Workspace), program)
		}
		if _, err := exec.LookPath(program); err != nil {
			all = append(all, p)
		}
	}
	const shellText = "must be a program of this machine, by its path or by a name in PATH; install it or name another one"
	report(Problem{Path: []string{"shell"}, Text: shellText}, t.Shell)
	if t.Sandbox != "" && !slices.Contains(unsandboxed, t.Sandbox) {
		program, _, _ := strings.Cut(t.Sandbox, " ")
		report(Problem{
			Path: []string{"sandbox"}, Text: `must be "none", "landlock" or a command of this machine`,
			Hint: suggest(t.Sandbox, unsandboxed),
		}, program)
	}
	at, s := c.protocolScope(t.Terminal, nil)
	if user, ok := s.(ProgramUser); ok {
		for key, program := range user.Programs(*t.Terminal) {
			report(Problem{Path: joinPath(at.path, key), Text: shellText}, program)
		}
	}
	return all
}
