package jobs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"nanobot/terminal/process"
)

// usualPath is where programs are if the environment does not say.
const usualPath = "/usr/local/bin:/usr/bin:/bin"

// special are the characters that make of a word more than a word for the shell.
const special = " \t\r\n|&;<>()$`\\\"'*?[]#~=!{}"

// prepare finds out what a command means, and starts nothing.
func (o Options) prepare(c Command) (process.Options, error) {
	if strings.TrimSpace(c.Line) == "" {
		return process.Options{}, errors.New("no command named")
	}
	if c.Keep != nil && *c.Keep < 0 {
		return process.Options{}, fmt.Errorf("run %q: cannot keep %d bytes of output; 0 is the least", c.Line, *c.Keep)
	}
	dir, err := o.folder(c.Dir)
	if err != nil {
		return process.Options{}, fmt.Errorf("run %q: %w", c.Line, err)
	}
	path, args, err := o.program(c, dir)
	if err != nil {
		return process.Options{}, fmt.Errorf("run %q: %w", c.Line, err)
	}
	if o.Limits.Memory > 0 {
		path, args = limited(path, args, o.Limits.Memory)
	}
	named := c.Dir
	if named == "" {
		named = o.Dir
	}
	return process.Options{
		Path: path, Args: args, Dir: dir,
		// Shells and others show the folder by the name that it was given, if that is right.
		Env:     append(slices.Clip(c.Env), "PWD="+filepath.Clean(named)),
		NoInput: true, MergeStderr: true, WholeSession: true,
		Grace: silence, MaxLinger: chatter,
	}, nil
}

func (o Options) keep(c Command) int {
	if c.Keep == nil {
		return o.Limits.Output
	}
	return min(*c.Keep, o.Limits.Output)
}

// program returns the file to run and its arguments, the first of which is its own name.
func (o Options) program(c Command, dir string) (path string, args []string, err error) {
	path, err = lookUp(c.Line, dir, c.Env)
	if err == nil || len(c.Args) > 0 || !strings.ContainsAny(c.Line, special) {
		return path, append([]string{c.Line}, c.Args...), err
	}
	path, err = lookUp(o.Shell, dir, c.Env)
	if err != nil {
		return "", nil, fmt.Errorf("shell: %w", err)
	}
	line := c.Line
	if line[0] == '-' || line[0] == '+' {
		line = " " + line // else the shell takes it for an option
	}
	return path, []string{o.Shell, "-c", line}, nil
}

// lookUp finds a program as a shell would that runs in dir with this environment.
func lookUp(name, dir string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		path := within(dir, name)
		return path, runnable(path)
	}
	path := usualPath
	for _, kv := range env {
		if value, ok := strings.CutPrefix(kv, "PATH="); ok {
			path = value
		}
	}
	for _, folder := range filepath.SplitList(path) {
		if file := filepath.Join(within(dir, folder), name); runnable(file) == nil {
			return file, nil
		}
	}
	return "", fmt.Errorf("unknown command: there is no program %q in PATH", name)
}

func within(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

func runnable(file string) error {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return fmt.Errorf("unknown command: %w", err)
	case info.IsDir():
		return fmt.Errorf("unknown command: %s is a folder", file)
	case info.Mode()&0o111 == 0:
		return fmt.Errorf("%s is no program: %w", file, fs.ErrPermission)
	}
	return nil
}

// folder returns where to run: a folder within the roots, whatever links lead there.
func (o Options) folder(dir string) (string, error) {
	if dir == "" {
		dir = o.Dir
	}
	if !filepath.IsAbs(dir) {
		return "", fmt.Errorf("folder %q: must be an absolute path", dir)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", fmt.Errorf("folder %q: %w", dir, err)
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return "", fmt.Errorf("folder %q: is no folder", dir)
	}
	roots := append([]string{o.Dir}, o.Roots...)
	if !slices.ContainsFunc(roots, func(root string) bool { return inside(root, real) }) {
		return "", fmt.Errorf("folder %q: must be inside %s", dir, strings.Join(roots, " or "))
	}
	return real, nil
}

// inside reports whether a path without links is a root or below it.
func inside(root, path string) bool {
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return false
	}
	rel, err := filepath.Rel(real, path)
	return err == nil && filepath.IsLocal(rel)
}
