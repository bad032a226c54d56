package sandbox

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"syscall"

	"golang.org/x/sys/unix"

	"nanobot/terminal/process"
)

// ownExecutable is this program, even if its file was replaced since the start.
const ownExecutable = "/proc/self/exe"

// Main is the helper: it applies the restrictions in the arguments to itself and executes the
// program that they name. It only returns with an error.
func Main(args []string) error {
	runtime.LockOSThread()
	parent := os.Getppid()
	debug.SetGCPercent(-1) // the memory limit is meant for the program
	flags := flag.NewFlagSet(Command, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	report := flags.Bool("report", false, "report a failed system call to the parent through a pipe")
	var p helperPlan
	flags.Func("plan", "", func(s string) error { return json.Unmarshal([]byte(s), &p) })
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *report {
		unix.CloseOnExec(process.ReportFD)
	}
	err := execProgram(&p, parent, flags.Args())
	if *report {
		process.ReportExecError(os.NewFile(process.ReportFD, "report"), err)
	}
	return err
}

// execProgram carries the plan out and executes the program. It only returns with an error.
func execProgram(p *helperPlan, parent int, argv []string) error {
	if len(argv) == 0 {
		return errors.New("no program named")
	}
	if err := p.prepare(); err != nil {
		return err
	}
	path := p.Program
	if path == "" {
		found, err := exec.LookPath(argv[0])
		if err != nil {
			return err
		}
		path = found
	}
	if p.Files != nil {
		if err := p.Files.restrict(); err != nil {
			return fmt.Errorf("sandbox: %w", err)
		}
	}
	if err := setParentDeathSignal(parent); err != nil {
		return err
	}
	env := os.Environ()
	if err := p.Limits.setRlimits(); err != nil { // last, because this program may need more memory than it leaves
		return err
	}
	return fmt.Errorf("run %s: %w", path, syscall.Exec(path, argv, env))
}

// errProbed ends a helper that was only started for a probe.
var errProbed = errors.New("the helper was started as a probe only")

// prepare does the steps that come before the program is looked up, because the lookup depends on
// the mounts and the user.
func (p *helperPlan) prepare() error {
	if p.Mounts != nil {
		gone, err := p.Mounts.apply()
		if err != nil {
			return fmt.Errorf("mounts: %w", err)
		}
		if p.Files != nil { // so that the agent cannot create them
			p.Files.Hide = append(p.Files.Hide, gone...)
		}
		if p.Mounts.Map != nil {
			if err := dropCapabilities(); err != nil {
				return fmt.Errorf("drop capabilities: %w", err)
			}
		}
	}
	if p.Probe {
		fmt.Print(probeOutput)
		return errProbed
	}
	if p.Domain {
		if err := forbidTracing(); err != nil {
			return fmt.Errorf("forbid tracing: %w", err)
		}
	}
	if p.User != nil {
		return switchUser(p.User)
	}
	return nil
}

// switchUser switches to another user. If stdin is a terminal, the user becomes its owner, because
// otherwise it could not open /dev/stdout.
func switchUser(to *syscall.Credential) error {
	uid, gid := int(to.Uid), int(to.Gid)
	var groups []int
	for _, group := range to.Groups {
		groups = append(groups, int(group))
	}
	if _, ok := stdinTerminal(); ok {
		if err := unix.Fchown(0, uid, -1); err != nil {
			return fmt.Errorf("change the terminal's owner: %w", err)
		}
	}
	if err := syscall.Setgroups(groups); err != nil {
		return fmt.Errorf("setgroups: %w", err)
	}
	if err := syscall.Setresgid(gid, gid, gid); err != nil {
		return fmt.Errorf("setgid: %w", err)
	}
	if err := syscall.Setresuid(uid, uid, uid); err != nil {
		return fmt.Errorf("setuid: %w", err)
	}
	return nil
}

// dropCapabilities drops all capabilities in our user namespace.
func dropCapabilities() error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	return unix.Capset(&head, &none[0])
}

// setParentDeathSignal makes the kernel kill this thread, which executes the program, when the
// gateway dies. The setting is cleared by a change of the user and is not inherited by other
// threads, so it is set last.
func setParentDeathSignal(parent int) error {
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("set the parent death signal: %w", err)
	}
	if os.Getppid() != parent {
		return errors.New("the gateway has died")
	}
	return nil
}

// setRlimits sets the limits on this process; the program and its children inherit them.
// RLIMIT_DATA counts private writable memory. RLIMIT_AS would also count reserved address space, of
// which Node and Java have many GiB.
func (l Limits) setRlimits() error {
	for _, r := range []struct {
		name     string
		resource int
		n, more  uint64
	}{
		{"files", unix.RLIMIT_NOFILE, uint64(l.Files), 0},
		{"processes", unix.RLIMIT_NPROC, uint64(l.Processes), 0},
		{"cpu", unix.RLIMIT_CPU, uint64(l.CPU), 1}, // SIGXCPU at the limit, SIGKILL one second later
		{"memory", unix.RLIMIT_DATA, uint64(l.Memory), 0},
	} {
		if r.n == 0 {
			continue
		}
		if err := lowerRlimit(r.resource, r.n, r.n+r.more); err != nil {
			return fmt.Errorf("limit %s: %w", r.name, err)
		}
	}
	return nil
}

// lowerRlimit lowers a limit and never raises the hard limit.
func lowerRlimit(resource int, soft, hard uint64) error {
	var now syscall.Rlimit
	if err := syscall.Getrlimit(resource, &now); err != nil {
		return err
	}
	hard = min(hard, now.Max)
	// Package syscall restores the original RLIMIT_NOFILE on exec unless it was set through
	// syscall.
	return syscall.Setrlimit(resource, &syscall.Rlimit{Cur: min(soft, hard), Max: hard})
}
