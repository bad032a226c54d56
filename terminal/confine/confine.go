// Package confine bounds what an agent may use and reach: memory, processor time, processes and
// files, the folders it sees, and the user it runs as. Part of that can only be done by the process
// itself before it becomes the agent, so it puts a helper in front: this program again, by a
// command that ends in Main. It knows nothing of chats or protocols.
package confine

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"nanobot/terminal/process"
)

// Command is the word by which this program is told to be the helper.
const Command = "confine"

// Landlock is the sandbox that the kernel offers to everybody.
const Landlock = "landlock"

// Options says what an agent may use and reach.
type Options struct {
	Limits
	// Sandbox is "", "none", Landlock, or the beginning of a command line that the agent's is
	// appended to.
	Sandbox string
	// Paths are what the agent may read and write beside its own folders; with ":ro" behind it,
	// only read.
	Paths []string
	// Required makes it an error if something of this cannot be had here.
	Required   bool
	User       string // "": as we are
	Shell      string
	Supervisor *process.Supervisor
	// Workspace holds the folders of the chats, in which we write ourselves. "": there are none.
	Workspace string
	// Dirs are where every agent works.
	Dirs []string
	// Private are the gateway's files and folders that the agent must neither read nor change,
	// State the folder of its state, and Fixed its files that the agent must not change.
	Private, Fixed []string
	State          string
	Program        string // the gateway's own, which the agent must not change either
	// RunProgram lets the agent start Program, unless that is where the agent has temporary files
	// of its own.
	RunProgram bool
}

// Limits are for one agent with all that it starts, or for each of its processes where that cannot
// be counted; 0: any number.
type Limits struct {
	Memory    int64 // bytes
	CPU       int   // seconds, of each process
	Processes int
	Files     int // open at once, of each process
}

// Confinement is what agents are put under. A nil one lets them do anything.
type Confinement struct {
	o       Options
	who     *who // nil: as we are
	help    Limits
	group   Limits
	missing []string // what was asked for and cannot be had
	notes   []string // what is not quite as one may think
	shield  shield
}

// New finds out what can be had here. It fails if that is too little.
func New(o Options) (*Confinement, error) {
	c := &Confinement{o: o}
	var err error
	if c.who, err = findUser(o.User); err != nil {
		return nil, fmt.Errorf("terminal.user: %w", err)
	}
	if err := c.who.canEnter(o.Dirs); err != nil {
		return nil, fmt.Errorf("terminal.user: %w", err)
	}
	if err := c.who.cannotMove(o.Workspace); err != nil {
		return nil, fmt.Errorf("terminal.user: %w", err)
	}
	c.help = o.Limits
	if o.Memory > 0 || o.Processes > 0 {
		c.divide(o.Supervisor.CanLimit())
	}
	c.checkSandbox()
	c.raise()
	if o.Required && len(c.missing) > 0 {
		return nil, errors.New("terminal.sandboxRequired is true, and this machine lacks what it takes: " + strings.Join(c.missing, "; "))
	}
	return c, nil
}

// Lacks says in words what was asked for and is not there, or not in full. It is for the log at the
// start.
func (c *Confinement) Lacks() []string {
	if c == nil {
		return nil
	}
	return slices.Concat(c.missing, c.notes)
}

// spare is how many times the memory of its whole group one process may set aside that could leave
// the group: it is not to spoil what a group lets work, since most programs set aside more than
// they use.
const spare = 4

// divide decides which limits the control group has to keep, if it counts memory or processes, and
// which the process itself.
func (c *Confinement) divide(memory, processes bool) {
	held := c.held()
	if !held && (memory && c.o.Memory > 0 || processes && c.o.Processes > 0) {
		c.notes = append(c.notes, "terminal.limits: the agent runs as the gateway's own user, so it may leave the control group that keeps memory and processes, unless "+
			`the sandbox keeps it from /sys/fs/cgroup; terminal.sandbox "landlock" does, and so does terminal.user`)
	}
	switch {
	case c.o.Memory == 0:
	case memory && held:
		c.help.Memory, c.group.Memory = 0, c.o.Memory
	case memory:
		c.help.Memory, c.group.Memory = spare*c.o.Memory, c.o.Memory
	default:
		c.notes = append(c.notes, "terminal.limits.memory: there is no control group that counts memory here (with systemd, Delegate=yes makes one), "+
			"so it bounds each process of the agent, and counts what a program has only set aside too; Node and Go set aside much")
	}
	switch {
	case c.o.Processes == 0:
	case processes:
		c.help.Processes, c.group.Processes = 0, c.o.Processes
	case c.who != nil && c.who.uid != 0:
		c.notes = append(c.notes, "terminal.limits.processes: there is no control group that counts processes here (with systemd, Delegate=yes makes one), "+
			"so it bounds all processes and threads of terminal.user together")
	default:
		c.help.Processes = 0
		c.missing = append(c.missing, "terminal.limits.processes: needs a control group that counts processes (with systemd, Delegate=yes makes one), or terminal.user")
	}
}

// held reports whether the agent surely stays in its control group.
func (c *Confinement) held() bool {
	if c.o.Sandbox == Landlock {
		missing, _ := landlockLacks()
		return len(missing) == 0 || c.who != nil
	}
	return c.who != nil
}

func (c *Confinement) checkSandbox() {
	switch c.o.Sandbox {
	case "", "none":
		c.o.Sandbox = ""
	case Landlock:
		missing, notes := landlockLacks()
		c.missing, c.notes = append(c.missing, missing...), append(c.notes, notes...)
	default:
		program, _, _ := strings.Cut(c.o.Sandbox, " ")
		if _, err := exec.LookPath(program); err != nil {
			c.missing = append(c.missing, fmt.Sprintf("terminal.sandbox: %v", err))
		}
	}
}

// some is a list for a message, of which only the beginning is said if it is long.
func some(list []string) string {
	if more := len(list) - 3; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:3], ", "), more)
	}
	return strings.Join(list, ", ")
}

// Apply puts what is to be started for a chat under the confinement.
func (c *Confinement) Apply(o process.Options, chat Chat) process.Options {
	if c == nil {
		return o
	}
	o.Memory, o.Processes, o.Supervisor = c.group.Memory, c.group.Processes, c.o.Supervisor
	o.User = c.who.credential()
	if c.wrapped() {
		o.Path, o.Args = c.wrap(o.Path, o.Args)
	}
	p := c.plan(chat)
	if c.help == (Limits{}) && p == (plan{}) {
		return o
	}
	args := []string{"nanobot", Command, "-report"}
	for flag, n := range map[string]int64{
		"memory": c.help.Memory, "cpu": int64(c.help.CPU), "processes": int64(c.help.Processes), "files": int64(c.help.Files),
	} {
		if n > 0 {
			args = append(args, "-"+flag+"="+strconv.FormatInt(n, 10))
		}
	}
	if p != (plan{}) {
		args = append(args, "-plan="+p.String())
	}
	if p.Mounts != nil {
		o.Namespaces, o.Ambient = c.shield.space.flags(), c.shield.space.ambient()
	}
	if p.User != nil {
		o.User = nil // the helper changes to it, when it has made the mounts
	}
	if o.Path != "" {
		args = append(args, "-program="+o.Path)
	}
	o.Path, o.Args, o.Helper = self, slices.Concat(args, []string{"--"}, o.Args), true
	return o
}

// plan is what the helper has to do for an agent of a chat.
func (c *Confinement) plan(chat Chat) (p plan) {
	if !c.apart() {
		return p
	}
	if c.o.Sandbox == Landlock {
		f := c.shield.files
		f.Paths = slices.Concat(c.o.Dirs, c.o.Paths)
		if c.o.RunProgram && c.o.Program != "" {
			f.Paths = append(f.Paths, c.o.Program+":ro")
		}
		if chat.Temp != "" { // else they are everybody's
			f.Paths = append(f.Paths, c.shield.mounts.Temps...)
		}
		if chat.Dir != "" && c.shield.space == noNamespace {
			f.Own = []string{chat.Dir}
		}
		p.Files = &f
	}
	if c.shield.space == noNamespace {
		return p
	}
	m := c.shield.mounts
	if m.Memory = c.shield.memory; m.Memory && p.Files != nil {
		p.Files.Paths = append(p.Files.Paths, sharedMemory)
	}
	if chat.Dir != "" {
		m.Users, m.Chat = filepath.Dir(chat.Dir), chat.Dir
	}
	if m.Temp = chat.Temp; m.Temp == "" {
		m.Temps = nil
	}
	m.Map = c.shield.space.mapped()
	p.Mounts = &m
	if c.who != nil {
		p.User = c.who.ids()
		p.Domain = c.o.Sandbox == ""
	}
	return p
}

func (c *Confinement) wrapped() bool { return c.o.Sandbox != "" && c.o.Sandbox != Landlock }

// wrap puts the sandbox's command line in front. A program that is not to be called by its own name
// has to be called by its path then.
func (c *Confinement) wrap(path string, args []string) (string, []string) {
	if path != "" {
		args = append([]string{path}, args[1:]...)
	}
	return "", slices.Concat([]string{c.o.Shell, "-c", "exec " + c.o.Sandbox + ` "$@"`, c.o.Shell}, args)
}
