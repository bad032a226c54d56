package doctor

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// checkHear looks for the first program of each command of hear and speak.
func (d *doctor) checkHear(ctx context.Context) (found findings) {
	t := d.cfg.Terminal
	if _, err := os.Stat(d.cfg.Workspace); err != nil { // in which the commands run; reported elsewhere
		return nil
	}
	commands := map[string]string{}
	for kind, command := range t.Hear {
		commands[d.agentKey("hear."+kind)] = command
	}
	if t.Speak.Command != "" {
		commands[d.agentKey("speak.command")] = t.Speak.Command
	}
	for _, key := range slices.Sorted(maps.Keys(commands)) {
		program, _, _ := strings.Cut(strings.TrimSpace(commands[key]), " ")
		if strings.ContainsAny(program, "=$\"'`(){};&|<>\\") { // no program's name
			continue
		}
		look := exec.CommandContext(ctx, t.Shell, "-c", `command -v "$0"`, program)
		look.Dir, look.Env = d.cfg.Workspace, os.Environ()
		for name, value := range t.Env {
			look.Env = append(look.Env, name+"="+value)
		}
		if look.Run() == nil {
			found = append(found, good("%s: %s is there", key, program)...)
			continue
		}
		detail := fmt.Sprintf("%s: %s is not installed", key, program)
		found = append(found, doubtful(detail, "install it, or correct "+key)...)
	}
	return found
}
