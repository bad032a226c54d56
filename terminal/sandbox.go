package terminal

import (
	"os"
	"path/filepath"
	"slices"

	"nanobot/internal/nofollow"
	"nanobot/terminal/process"
	"nanobot/terminal/sandbox"
)

// newSandbox returns the sandbox of the agent's processes as it is configured.
func newSandbox(o Options) (*sandbox.Sandbox, error) {
	cfg := o.Config
	// The sandbox protects the state folder by Options.State.
	secret := slices.DeleteFunc(slices.Clone(o.Private),
		func(path string) bool { return slices.Contains(o.Readable, path) || path == o.State })
	// A missing file cannot be protected without forbidding to create files in its folder.
	fixed := slices.DeleteFunc(slices.Clone(o.Readable), func(path string) bool {
		_, err := os.Lstat(path)
		return err != nil
	})
	return sandbox.New(sandbox.Options{
		Limits: sandbox.Limits{
			Memory: int64(cfg.Limits.Memory) << 20, CPU: cfg.Limits.CPU, Processes: cfg.Limits.Processes,
			Files: cfg.Limits.Files,
		},
		Sandbox: cfg.Sandbox, Paths: cfg.SandboxPaths, Required: cfg.SandboxRequired, User: cfg.User, Shell: cfg.Shell,
		Supervisor: o.Supervisor, Workspace: o.Workspace, Dirs: o.workDirs(), Private: secret, ReadOnly: fixed,
		State: o.State, Program: o.Program, RunProgram: o.Socket != "", Socket: o.Socket,
	})
}

// workDirs returns the folders in which every agent works. A working folder that is reached through
// the workspace is left out, because an agent could replace it by a symbolic link.
func (o *Options) workDirs() []string {
	if o.Config.Cwd == "" {
		return []string{o.Workspace}
	}
	cwd, through, err := nofollow.Resolve(o.Config.Cwd)
	workspace, _, werr := nofollow.Resolve(o.Workspace)
	if err != nil || werr != nil || slices.ContainsFunc(append(through, cwd),
		func(at string) bool { return nofollow.Within(workspace, at) }) {
		return []string{o.Workspace}
	}
	return []string{o.Workspace, o.Config.Cwd}
}

// MissingFeatures describes restrictions that are configured and not available on this machine. The
// daemon logs them at its start.
func (r *Runner) MissingFeatures() []string { return r.sandbox.MissingFeatures() }

// sandboxed returns process options with the limits and the sandbox of the chat's agent.
func (t *turn) sandboxed(o process.Options) process.Options {
	o.Owner = t.owner()
	return t.sandbox.Apply(o, t.dirs)
}

// owner names the chat to which the agent's processes belong.
func (t *turn) owner() string {
	return Owner{Agent: t.o.Agent, Channel: t.req.Channel, ChatID: t.req.ChatID}.String()
}

// resolvePaths returns the paths of an agent's files as this process sees them: relative ones start
// in the agent's working directory, and the agent's /tmp may be the temporary folder of its chat.
// Files in protocolDir, which the protocol has written, are not translated.
func (t *turn) resolvePaths(paths []string, protocolDir string) []string {
	out := slices.Clone(paths)
	for i, path := range out {
		if path != "" && !filepath.IsAbs(path) {
			path = filepath.Join(t.dir, path)
			out[i] = path
		}
		if protocolDir == "" || filepath.Dir(path) != protocolDir {
			out[i] = t.sandbox.TempPath(t.dirs, path)
		}
	}
	return out
}
