package terminal

import (
	"slices"
	"strings"
)

// leastHidden is how long a value must be to be looked for in a command line. Shorter ones are in
// it by chance.
const leastHidden = 6

// LaunchRecord is how agents are started, for the record: the command line as it is configured,
// without the secrets that are known, the working folder, and the names of the variables.
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
	return []string{cfg.Shell, "-c", r.hide(cfg.Command)}, dir, slices.Compact(env)
}

// hide blackens secrets in a text.
func (r *Runner) hide(text string) string {
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
	// A secret may be part of another one.
	slices.SortFunc(values, func(a, b string) int { return len(b) - len(a) })
	for _, v := range values {
		if len(v) >= leastHidden {
			text = strings.ReplaceAll(text, v, "[secret]")
		}
	}
	return text
}
