package jobs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"nanobot/internal/nofollow"
	"nanobot/terminal/process"
)

// shellSpecial are the characters that have a meaning for the shell.
const shellSpecial = " \t\r\n|&;<>()$`\\\"'*?[]#~=!{}"

// prepare returns the process options of a command and starts nothing.
func (o Options) prepare(c Command) (process.Options, error) {
	if strings.TrimSpace(c.Line) == "" {
		return process.Options{}, errors.New("no command named")
	}
	if c.MaxOutput != nil && *c.MaxOutput < 0 {
		return process.Options{}, fmt.Errorf("run %q: cannot keep %d bytes of output; 0 is the least", c.Line, *c.MaxOutput)
	}
	dir, err := o.resolveDir(c.Dir)
	if err != nil {
		return process.Options{}, fmt.Errorf("run %q: %w", c.Line, err)
	}
	path, args, err := o.resolveProgram(c, dir)
	if err != nil {
		return process.Options{}, fmt.Errorf("run %q: %w", c.Line, err)
	}
	if o.Limits.Memory > 0 {
		path, args = withMemoryLimit(path, args, o.Limits.Memory)
	}
	named := c.Dir
	if named == "" {
		named = o.Dir
	}
	return process.Options{
		Path: path, Args: args, Dir: dir,
		// Shells show the folder by the name in PWD, if that is correct.
		Env:     append(slices.Clip(c.Env), "PWD="+filepath.Clean(named)),
		NoInput: true, MergeStderr: true, WholeSession: true,
		Grace: outputGrace, MaxLinger: maxLinger,
	}, nil
}

func (o Options) outputLimit(c Command) int {
	if c.MaxOutput == nil {
		return o.Limits.Output
	}
	return min(*c.MaxOutput, o.Limits.Output)
}

// resolveProgram returns the file to execute and its arguments, including argv[0].
func (o Options) resolveProgram(c Command, dir string) (path string, args []string, err error) {
	path, err = process.FindProgram(c.Line, dir, c.Env)
	if err == nil || len(c.Args) > 0 || !strings.ContainsAny(c.Line, shellSpecial) {
		return path, append([]string{c.Line}, c.Args...), err
	}
	path, err = process.FindProgram(o.Shell, dir, c.Env)
	if err != nil {
		return "", nil, fmt.Errorf("shell: %w", err)
	}
	line := c.Line
	if line[0] == '-' || line[0] == '+' {
		line = " " + line // otherwise the shell would parse it as an option
	}
	return path, []string{o.Shell, "-c", line}, nil
}

// resolveDir returns the working folder without symbolic links, which must be inside the roots.
func (o Options) resolveDir(dir string) (string, error) {
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
		return "", fmt.Errorf("folder %q: is not a folder", dir)
	}
	roots := append([]string{o.Dir}, o.Roots...)
	if !slices.ContainsFunc(roots, func(root string) bool { return isInside(root, real) }) {
		return "", fmt.Errorf("folder %q: must be inside %s", dir, strings.Join(roots, " or "))
	}
	return real, nil
}

// isInside reports whether a path without symbolic links is a root or below it.
func isInside(root, path string) bool {
	real, err := filepath.EvalSymlinks(root)
	return err == nil && nofollow.Within(real, path)
}
