package terminal

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"nanobot/internal/straight"
	"nanobot/terminal/confine"
	"nanobot/terminal/process"
)

// newConfinement is what the configuration says an agent may use and reach.
func newConfinement(o Options) (*confine.Confinement, error) {
	cfg := o.Config
	if err := knownSandbox(cfg.Sandbox); err != nil {
		return nil, err
	}
	// The state is kept from the agent by itself.
	secret := slices.DeleteFunc(slices.Clone(o.Private), func(path string) bool { return slices.Contains(o.Readable, path) || path == o.State })
	// To forbid what is not there would forbid to make anything in the folder around it.
	fixed := slices.DeleteFunc(slices.Clone(o.Readable), func(path string) bool {
		_, err := os.Lstat(path)
		return err != nil
	})
	return confine.New(confine.Options{
		Limits: confine.Limits{
			Memory: int64(cfg.Limits.Memory) << 20, CPU: cfg.Limits.CPU, Processes: cfg.Limits.Processes, Files: cfg.Limits.Files,
		},
		Sandbox: cfg.Sandbox, Paths: cfg.SandboxPaths, Required: cfg.SandboxRequired, User: cfg.User, Shell: cfg.Shell,
		Supervisor: o.Supervisor, Workspace: o.Workspace, Dirs: o.dirs(), Private: secret, Fixed: fixed,
		State: o.State, Program: o.Program, RunProgram: o.Socket != "",
	})
}

// knownSandbox refuses a sandbox that cannot be had anywhere: no agent would run.
func knownSandbox(sandbox string) error {
	if slices.Contains([]string{"", "none", confine.Landlock}, sandbox) {
		return nil
	}
	program, _, _ := strings.Cut(sandbox, " ")
	if _, err := exec.LookPath(program); err != nil {
		return fmt.Errorf(`terminal.sandbox: must be "none", "landlock" or a command: %w`, err)
	}
	return nil
}

// dirs are the folders where every agent works. One whose way goes through the workspace is not
// named, because an agent could put a link there.
func (o *Options) dirs() []string {
	if o.Config.Cwd == "" {
		return []string{o.Workspace}
	}
	cwd, through, err := straight.Way(o.Config.Cwd)
	workspace, _, werr := straight.Way(o.Workspace)
	if err != nil || werr != nil || slices.ContainsFunc(append(through, cwd), func(at string) bool { return insideAny([]string{workspace}, at) }) {
		return []string{o.Workspace}
	}
	return []string{o.Workspace, o.Config.Cwd}
}

// MissingFeatures says in words what the configuration asks for and this machine does not have. It
// is for the log at the start.
func (r *Runner) MissingFeatures() []string { return r.confine.Lacks() }

// confined puts what is started for the turn under the limits and into the sandbox.
func (t *turn) confined(o process.Options) process.Options {
	o.Owner = Owner{Agent: t.o.Agent, Channel: t.req.Channel, ChatID: t.req.ChatID}.String()
	return t.confine.Apply(o, t.chat)
}

// ownTemps returns where the files are that the agent names. What it has written to /tmp may be in
// the chat's own folder. A file that the protocol has written itself is where it is named.
func (t *turn) ownTemps(f Frame) []string {
	out := slices.Clone(f.Media)
	for i, path := range out {
		if f.ProtocolDir == "" || filepath.Dir(path) != f.ProtocolDir {
			out[i] = t.confine.TempPath(t.chat, path)
		}
	}
	return out
}

// usage gathers what the processes of a turn use.
type usage struct {
	mu   sync.Mutex
	sum  process.Usage
	kept []keptUse
}

// keptUse is an agent that was there before the turn, and what it had used by then.
type keptUse struct {
	agent  *Agent
	before process.Usage
}

// add counts a process that has ended.
func (u *usage) add(used process.Usage) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.sum.CPU += used.CPU
	u.sum.Memory = max(u.sum.Memory, used.Memory)
}

// watch counts what a kept agent uses from here on.
func (u *usage) watch(a *Agent) {
	before := a.Used()
	u.mu.Lock()
	defer u.mu.Unlock()
	if !slices.ContainsFunc(u.kept, func(k keptUse) bool { return k.agent == a }) {
		u.kept = append(u.kept, keptUse{a, before})
	}
}

func (u *usage) total() process.Usage {
	u.mu.Lock()
	defer u.mu.Unlock()
	sum := u.sum
	for _, k := range u.kept {
		now := k.agent.Used()
		sum.CPU += now.CPU - k.before.CPU
		sum.Memory = max(sum.Memory, now.Memory) // of its whole life: the kernel counts no other
	}
	return sum
}

// keptAgents are the agents that outlive their turns, by pid.
type keptAgents struct {
	mu   sync.Mutex
	live map[int]*Agent
}

func (k *keptAgents) add(a *Agent) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.live == nil {
		k.live = map[int]*Agent{}
	}
	k.live[a.Pid()] = a
	a.used = func(process.Usage) { k.drop(a) }
}

func (k *keptAgents) drop(a *Agent) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.live[a.Pid()] == a {
		delete(k.live, a.Pid())
	}
}

func (k *keptAgents) find(pid int) *Agent {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.live[pid]
}
