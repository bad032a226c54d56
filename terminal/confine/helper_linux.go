package confine

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

// self is this program, even if its file has been replaced.
const self = "/proc/self/exe"

// Main is the helper: it takes away from itself what the arguments say and becomes the program that
// they name. It only returns if it could not.
func Main(args []string) error {
	runtime.LockOSThread()
	parent := os.Getppid()
	debug.SetGCPercent(-1) // a limit on memory is for the program, not for us
	flags := flag.NewFlagSet(Command, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	report := flags.Bool("report", false, "tell the parent by a pipe which system error there was")
	var l Limits
	flags.Int64Var(&l.Memory, "memory", 0, "bytes")
	flags.IntVar(&l.CPU, "cpu", 0, "seconds")
	flags.IntVar(&l.Processes, "processes", 0, "")
	flags.IntVar(&l.Files, "files", 0, "")
	var p plan
	flags.Func("plan", "", func(s string) error { return json.Unmarshal([]byte(s), &p) })
	program := flags.String("program", "", "its file, if that is not its name")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *report {
		unix.CloseOnExec(process.ReportFD)
	}
	err := become(&p, l, parent, *program, flags.Args())
	if *report {
		process.Report(os.NewFile(process.ReportFD, "report"), err)
	}
	return err
}

// become carries the plan out and becomes the program. It only returns if it could not.
func become(p *plan, l Limits, parent int, path string, argv []string) error {
	if len(argv) == 0 {
		return errors.New("no program named")
	}
	if err := p.carryOut(); err != nil {
		return err
	}
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
	if err := l.set(); err != nil {
		return err
	}
	if err := dieWith(parent); err != nil {
		return err
	}
	return fmt.Errorf("run %s: %w", path, syscall.Exec(path, argv, os.Environ()))
}

// errProbed ends the helper that only was to try.
var errProbed = errors.New("this was only tried")

// carryOut does what has to be done before the program is looked up: it may not be there for the
// user.
func (p *plan) carryOut() error {
	if p.Mounts != nil {
		gone, err := p.Mounts.enter()
		if err != nil {
			return fmt.Errorf("mounts: %w", err)
		}
		if p.Files != nil { // so that the agent cannot make them
			p.Files.Hide = append(p.Files.Hide, gone...)
		}
		if p.Mounts.Map != nil {
			if err := dropAll(); err != nil {
				return fmt.Errorf("give up powers: %w", err)
			}
		}
	}
	if p.Probe {
		fmt.Print(probed)
		return errProbed
	}
	if p.Domain {
		if err := enterDomain(); err != nil {
			return fmt.Errorf("keep agents apart: %w", err)
		}
	}
	if p.User != nil {
		return p.User.become()
	}
	return nil
}

// become changes to another user, who owns the terminal on stdin from then on, if there is one: it
// could not open /dev/stdout otherwise.
func (i *ids) become() error {
	if _, ok := ownTerminal(); ok {
		if err := unix.Fchown(0, i.UID, -1); err != nil {
			return fmt.Errorf("hand over the terminal: %w", err)
		}
	}
	if err := syscall.Setgroups(i.Groups); err != nil {
		return fmt.Errorf("setgroups: %w", err)
	}
	if err := syscall.Setresgid(i.GID, i.GID, i.GID); err != nil {
		return fmt.Errorf("setgid: %w", err)
	}
	if err := syscall.Setresuid(i.UID, i.UID, i.UID); err != nil {
		return fmt.Errorf("setuid: %w", err)
	}
	return nil
}

// dropAll gives up all powers over our user namespace.
func dropAll() error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	return unix.Capset(&head, &none[0])
}

// dieWith has the kernel kill this thread, which becomes the program, when the gateway dies. That
// is lost with a change of the user, and no other thread has it from the first.
func dieWith(parent int) error {
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("die with the gateway: %w", err)
	}
	if os.Getppid() != parent {
		return errors.New("the gateway has died")
	}
	return nil
}

// set sets the limits on ourselves, and so on what we become and what that starts. RLIMIT_DATA
// counts private writable memory; what is only reserved, of which Node and Java have many GiB,
// would count in RLIMIT_AS.
func (l Limits) set() error {
	for _, r := range []struct {
		name     string
		resource int
		n, more  uint64
	}{
		{"files", unix.RLIMIT_NOFILE, uint64(l.Files), 0},
		{"processes", unix.RLIMIT_NPROC, uint64(l.Processes), 0},
		{"cpu", unix.RLIMIT_CPU, uint64(l.CPU), 1}, // SIGXCPU says what is wrong, SIGKILL a second later ends who does not listen
		{"memory", unix.RLIMIT_DATA, uint64(l.Memory), 0},
	} {
		if r.n == 0 {
			continue
		}
		if err := lower(r.resource, r.n, r.n+r.more); err != nil {
			return fmt.Errorf("limit %s: %w", r.name, err)
		}
	}
	return nil
}

// lower sets a limit, which nobody may raise.
func lower(resource int, soft, hard uint64) error {
	var now syscall.Rlimit
	if err := syscall.Getrlimit(resource, &now); err != nil {
		return err
	}
	hard = min(hard, now.Max)
	// By way of package syscall, which would else put back the number of open files.
	return syscall.Setrlimit(resource, &syscall.Rlimit{Cur: min(soft, hard), Max: hard})
}
