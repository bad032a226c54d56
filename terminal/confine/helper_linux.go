package confine

import (
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
)

// self is this program, even if its file has been replaced.
const self = "/proc/self/exe"

// Main is the helper: it takes away from itself what the arguments say and becomes the program that they name. It only returns if
// it could not.
func Main(args []string) error {
	runtime.LockOSThread()
	debug.SetGCPercent(-1) // a limit on memory is for the program, not for us
	flags := flag.NewFlagSet(Command, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	var l Limits
	flags.Int64Var(&l.Memory, "memory", 0, "bytes")
	flags.IntVar(&l.CPU, "cpu", 0, "seconds")
	flags.IntVar(&l.Processes, "processes", 0, "")
	flags.IntVar(&l.Files, "files", 0, "")
	sandbox := flags.Bool("landlock", false, "")
	program := flags.String("program", "", "its file, if that is not its name")
	var paths []string
	flags.Func("path", "", func(p string) error { paths = append(paths, p); return nil })
	if err := flags.Parse(args); err != nil {
		return err
	}
	argv := flags.Args()
	if len(argv) == 0 {
		return errors.New("no program named")
	}
	path := *program
	if path == "" {
		found, err := exec.LookPath(argv[0])
		if err != nil {
			return err
		}
		path = found
	}
	if *sandbox {
		if err := restrict(paths); err != nil {
			return fmt.Errorf("sandbox: %w", err)
		}
	}
	if err := l.set(); err != nil {
		return err
	}
	return fmt.Errorf("run %s: %w", path, syscall.Exec(path, argv, os.Environ()))
}

// set sets the limits on ourselves, and so on what we become and what that starts. RLIMIT_DATA counts private writable memory; what
// is only reserved, of which Node and Java have many GiB, would count in RLIMIT_AS.
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
