package process

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// leader is the child's own process, which leads its session and process group. It is started and
// reaped without os/exec, which copies the environment into a map and opens several files for
// features that are not needed here.
type leader struct {
	path       string
	args, env  []string
	dir        string
	files      []uintptr // its descriptors 0, 1, 2 …
	attributes *syscall.SysProcAttr

	pid    int
	reaped bool
	lost   bool               // its status is not known, because something else has reaped it
	status syscall.WaitStatus // set by reap
	rusage syscall.Rusage     // set by reap
}

func newLeader(o Options) (*leader, error) {
	l := &leader{path: o.Path, args: o.Args, env: o.Env, dir: o.Dir, attributes: childAttributes(o)}
	if l.path == "" {
		l.path = o.Args[0]
		if filepath.Base(l.path) == l.path {
			var err error
			if l.path, err = exec.LookPath(l.path); err != nil {
				return nil, err
			}
		}
	}
	if l.env == nil {
		l.env = os.Environ()
		if l.dir != "" {
			l.env = append(l.env, "PWD="+l.dir)
		}
	}
	return l, nil
}

// start starts the process with the default action for every signal and none blocked, whatever this
// program has inherited.
func (l *leader) start() error {
	catchIgnoredSignals()
	attributes := &syscall.ProcAttr{Dir: l.dir, Env: withoutDuplicates(l.env), Files: l.files, Sys: l.attributes}
	err := withEmptyMask(func() (err error) {
		l.pid, err = syscall.ForkExec(l.path, l.args, attributes)
		return err
	})
	if errors.Is(err, syscall.EBADF) && l.reachesFileLimit() { // clone may also reject a cgroup with EBADF
		err = syscall.EMFILE
	}
	if err != nil {
		return &os.PathError{Op: "fork/exec", Path: l.path, Err: err}
	}
	return nil
}

// reachesFileLimit reports whether the limit forbids numbers just above those of the process's
// descriptors. A new process moves descriptors to these numbers before it executes its program.
func (l *leader) reachesFileLimit() bool {
	var limit syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit)
	return err == nil && slices.ContainsFunc(l.files, func(fd uintptr) bool {
		return uint64(fd)+uint64(len(l.files)) >= limit.Cur
	})
}

// reap waits for the exit of the process and reaps it.
func (l *leader) reap() {
	for !l.reaped {
		_, err := syscall.Wait4(l.pid, &l.status, 0, &l.rusage)
		l.reaped = !errors.Is(err, syscall.EINTR)
		l.lost = l.reaped && err != nil
	}
}

// cpuTime returns the processor time of the reaped process and the processes that it has waited
// for.
func (l *leader) cpuTime() time.Duration {
	return time.Duration(l.rusage.Utime.Nano() + l.rusage.Stime.Nano())
}

// withoutDuplicates returns an environment in which each name is unique: the last one counts.
func withoutDuplicates(env []string) []string {
	if !hasDuplicates(env) {
		return env
	}
	last := make(map[string]int, len(env))
	for i, variable := range env {
		last[variableName(variable)] = i
	}
	unique := make([]string, 0, len(last))
	for i, variable := range env {
		if last[variableName(variable)] == i {
			unique = append(unique, variable)
		}
	}
	return unique
}

// hasDuplicates reports whether an environment may have a name twice. It is called for every child,
// so its hash table is on the stack: a map costs 2.5 KB and about 3 µs. For a large environment it
// returns true.
func hasDuplicates(env []string) bool {
	const slots = 512
	var table [slots]uint16 // index in env + 1; 0: empty
	if len(env) > slots/2 {
		return true
	}
	for i, variable := range env {
		name := variableName(variable)
		slot := uint32(2166136261) // FNV-1a
		for j := range len(name) {
			slot = (slot ^ uint32(name[j])) * 16777619
		}
		for slot %= slots; table[slot] != 0; slot = (slot + 1) % slots {
			if variableName(env[table[slot]-1]) == name {
				return true
			}
		}
		table[slot] = uint16(i + 1)
	}
	return false
}

// variableName returns the name of an entry of an environment.
func variableName(variable string) string {
	name, _, _ := strings.Cut(variable, "=")
	return name
}
