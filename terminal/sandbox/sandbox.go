// Package sandbox limits the resources, files and user of an agent's processes. It uses rlimits and
// cgroups, Landlock or a sandbox command, mount namespaces, and another Unix user.
//
// Some limits can only be set by the process itself before it executes the agent, so the agent is
// started through a helper: this program again, run with Command, which calls Main. The package
// knows nothing of networks or protocols.
package sandbox

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"nanobot/config"
	"nanobot/terminal/process"
)

// Command is the argument that makes this program the helper.
const Command = "confine"

// Landlock is the value of Options.Sandbox for Landlock, a Linux security module that needs no
// privileges.
const Landlock = "landlock"

// Options configures a Sandbox.
type Options struct {
	Limits
	// Sandbox is "", "none", Landlock, or the beginning of a command line to which the agent's
	// command is appended.
	Sandbox string
	// Paths are files and folders that the agent may read and write besides its own folders. The
	// suffix ":ro" makes one read-only.
	Paths []string
	// Required makes New fail if a configured restriction is not available on this machine.
	Required   bool
	User       string // "": the user of this process
	Shell      string
	Supervisor *process.Supervisor
	// Workspace contains the folder of each chat, to which this process also writes. "": no
	// workspace.
	Workspace string
	// Dirs are the working folders of all agents.
	Dirs []string
	// Private are files and folders of the gateway that the agent must neither read nor change,
	// State is its state folder, and ReadOnly are its files that the agent must not change.
	Private, ReadOnly []string
	State             string
	Program           string // the gateway's executable, which the agent must not change either
	// RunProgram lets the agent execute Program, unless Program is in a folder over which the
	// agent's own temporary folder is mounted.
	RunProgram bool
	// Socket is the gateway's socket for the tools of agents, which stays reachable; "": none.
	Socket string
}

// Limits are the resource limits of one agent with its descendants, or of each process where the
// kernel cannot count the sum; 0 means unlimited.
type Limits struct {
	Memory    int64 // bytes
	CPU       int   // seconds, of each process
	Processes int
	Files     int // open file descriptors of each process
}

// Sandbox restricts the agents of one configuration. A nil *Sandbox restricts nothing.
type Sandbox struct {
	o            Options
	user         *agentUser // nil: the user of this process
	helperLimits Limits
	cgroupLimits Limits
	missing      []string // configured and not available here
	caveats      []string // available with limitations
	isolation    isolation
}

// New determines which restrictions this machine supports. It returns an error if the user cannot
// run agents safely, or if a required restriction is missing. It is a config.Problem of the agent's
// section.
func New(o Options) (*Sandbox, error) {
	s := &Sandbox{o: o}
	var err error
	if s.user, err = lookupUser(o.User); err != nil {
		return nil, userProblem(err)
	}
	if err := s.user.checkCanEnter(o.Dirs); err != nil {
		return nil, userProblem(err)
	}
	if err := s.user.checkCannotReplaceWorkspace(o.Workspace); err != nil {
		return nil, userProblem(err)
	}
	s.helperLimits = o.Limits
	if o.Memory > 0 || o.Processes > 0 {
		s.assignLimits(o.Supervisor.CanLimit())
	}
	s.checkSandbox()
	s.planIsolation()
	if o.Required && len(s.missing) > 0 {
		return nil, config.Problem{
			Path: []string{"sandboxRequired"}, AboutKey: true,
			Text: "is true, and this machine does not support: " + strings.Join(s.missing, "; "),
		}
	}
	return s, nil
}

func userProblem(err error) error {
	return config.Problem{Path: []string{"user"}, Text: err.Error(), AboutKey: true}
}

// MissingFeatures describes restrictions that are configured and not, or not fully, available. The
// daemon logs them at its start.
func (s *Sandbox) MissingFeatures() []string {
	if s == nil {
		return nil
	}
	return slices.Concat(s.missing, s.caveats)
}

// memorySlack is the factor between the cgroup's memory limit and RLIMIT_DATA, which each process
// also gets if the agent could leave its cgroup. Most programs reserve more memory than they use,
// so a factor of 1 would break programs that the cgroup allows.
const memorySlack = 4

// assignLimits assigns each limit to the cgroup, if it has the memory or pids controller, or else
// to rlimits, which the helper sets.
func (s *Sandbox) assignLimits(memory, processes bool) {
	confined := s.staysInCgroup()
	if !confined && (memory && s.o.Memory > 0 || processes && s.o.Processes > 0) {
		s.caveats = append(s.caveats,
			"terminal.limits: the agent runs as the gateway's own user, so it may leave the control group that limits its "+
				"memory and processes, unless "+
				`its sandbox has no access to /sys/fs/cgroup; to prevent that, set terminal.sandbox to "landlock", or set terminal.user`)
	}
	switch {
	case s.o.Memory == 0:
	case memory && confined:
		s.helperLimits.Memory, s.cgroupLimits.Memory = 0, s.o.Memory
	case memory:
		s.helperLimits.Memory, s.cgroupLimits.Memory = memorySlack*s.o.Memory, s.o.Memory
	default:
		s.caveats = append(s.caveats,
			"terminal.limits.memory: there is no control group that counts memory (systemd creates one with Delegate=yes), "+
				"so the limit applies to each process of the agent, and includes memory that is reserved and not used; Node and "+
				"Go reserve a lot")
	}
	switch {
	case s.o.Processes == 0:
	case processes:
		s.helperLimits.Processes, s.cgroupLimits.Processes = 0, s.o.Processes
	case s.user != nil && s.user.Uid != 0:
		s.caveats = append(s.caveats,
			"terminal.limits.processes: there is no control group that counts processes (systemd creates one with "+
				"Delegate=yes), "+
				"so the limit applies to all processes and threads of terminal.user together")
	default:
		s.helperLimits.Processes = 0
		s.missing = append(s.missing,
			"terminal.limits.processes: needs a control group that counts processes (systemd creates one with Delegate=yes), "+
				"or terminal.user")
	}
}

// staysInCgroup reports whether the agent cannot leave its cgroup.
func (s *Sandbox) staysInCgroup() bool {
	if s.o.Sandbox == Landlock {
		missing, _ := missingLandlockFeatures()
		return len(missing) == 0 || s.user != nil
	}
	return s.user != nil
}

func (s *Sandbox) checkSandbox() {
	switch s.o.Sandbox {
	case "", "none":
		s.o.Sandbox = ""
	case Landlock:
		missing, notes := missingLandlockFeatures()
		s.missing, s.caveats = append(s.missing, missing...), append(s.caveats, notes...)
	default:
		program, _, _ := strings.Cut(s.o.Sandbox, " ")
		if _, err := exec.LookPath(program); err != nil {
			s.missing = append(s.missing, fmt.Sprintf("terminal.sandbox: %v", err))
		}
	}
}

// abbreviateList joins a list for a message and abbreviates it after three elements.
func abbreviateList(list []string) string {
	if more := len(list) - 3; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:3], ", "), more)
	}
	return strings.Join(list, ", ")
}

// Apply returns process options with which the program runs in the sandbox, for one chat.
func (s *Sandbox) Apply(o process.Options, chat ChatDirs) process.Options {
	if s == nil {
		return o
	}
	o.Memory, o.Processes, o.Supervisor = s.cgroupLimits.Memory, s.cgroupLimits.Processes, s.o.Supervisor
	o.User = s.user.credential()
	p := s.plan(chat)
	p.Limits = s.helperLimits
	if o.Fallback != nil && (s.usesCommand() || p != (helperPlan{})) { // a file may not be there inside of a sandbox
		o.Path, o.Args, o.Fallback = "", o.Fallback, nil
	}
	if s.usesCommand() {
		o.Path, o.Args = s.wrapCommand(o.Path, o.Args)
	}
	if p == (helperPlan{}) {
		return o
	}
	if p.Mounts != nil {
		o.Namespaces, o.Ambient = s.isolation.namespace.cloneFlags(), s.isolation.namespace.ambientCapabilities()
	}
	if p.User != nil {
		o.User = nil // the helper switches to the user after it has made the mounts
	}
	p.Program = o.Path
	o.Path, o.Args, o.Helper = ownExecutable,
		append([]string{"nanobot", Command, "-report", "-plan=" + p.String(), "--"}, o.Args...), true
	return o
}

// plan returns the instructions to the helper for an agent of a chat.
func (s *Sandbox) plan(chat ChatDirs) (p helperPlan) {
	if !s.separatesChats() {
		return p
	}
	if s.o.Sandbox == Landlock {
		f := s.isolation.files
		f.Paths = slices.Concat(s.o.Dirs, s.o.Paths)
		if s.o.RunProgram && s.o.Program != "" {
			f.Paths = append(f.Paths, s.o.Program+":ro")
		}
		if chat.Temp != "" { // without it, the temporary folders are shared with other users
			f.Paths = append(f.Paths, s.isolation.mounts.Temps...)
		}
		if chat.Dir != "" && s.isolation.namespace == noNamespace {
			f.Own = []string{chat.Dir}
		}
		f.Socket = s.o.Socket
		p.Files = &f
	}
	if s.user != nil && s.o.Sandbox == "" {
		p.Domain, p.User = true, s.user.credential()
	}
	if s.isolation.namespace == noNamespace {
		return p
	}
	m := s.isolation.mounts
	if s.o.Sandbox == Landlock {
		m.Hide = slices.Concat(m.Hide, s.socketsToHide())
	}
	if m.Memory = s.isolation.privateShm; m.Memory && p.Files != nil {
		p.Files.Paths = append(p.Files.Paths, sharedMemory)
	}
	if chat.Dir != "" {
		m.Users, m.Chat = filepath.Dir(chat.Dir), chat.Dir
	}
	if m.Temp = chat.Temp; m.Temp == "" {
		m.Temps = nil
	}
	m.Map = s.isolation.namespace.idMap()
	p.Mounts = &m
	if s.user != nil {
		p.User = s.user.credential()
	}
	return p
}

func (s *Sandbox) usesCommand() bool { return s.o.Sandbox != "" && s.o.Sandbox != Landlock }

// wrapCommand puts the sandbox command in front of the program. An argv[0] that differs from the
// program's path is lost.
func (s *Sandbox) wrapCommand(path string, args []string) (string, []string) {
	if path != "" {
		args = append([]string{path}, args[1:]...)
	}
	return "", slices.Concat([]string{s.o.Shell, "-c", "exec " + s.o.Sandbox + ` "$@"`, s.o.Shell}, args)
}
