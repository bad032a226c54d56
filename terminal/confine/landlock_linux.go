package confine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"nanobot/internal/straight"
)

// What programs need to run at all. Names are looked up in /run where /etc/resolv.conf leads there.
var (
	systemDirs = []string{
		"/usr", "/lib", "/lib32", "/lib64", "/libx32", "/bin", "/sbin", "/etc", "/opt", "/nix", "/snap", "/proc", "/sys",
		"/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager", "/run/current-system",
	}
	devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx"}
	// Other devices are not in the list, because what is on a disk could be read there by root.
	// Terminals are the agent's own where it has a mount namespace.
	terminals = "/dev/pts"
)

// The versions of Landlock that brought something which is missed in an older one.
const moves, truncation, scopes = 2, 3, 6

func version() int {
	v, err := ll.LandlockGetABIVersion()
	if err != nil {
		return 0
	}
	return v
}

// landlockLacks says what the kernel cannot do.
func landlockLacks() (missing, notes []string) {
	v := version()
	if v < 1 {
		return []string{"terminal.sandbox: this kernel has no Landlock (it needs Linux 5.13, with landlock in /sys/kernel/security/lsm)"}, nil
	}
	for _, lack := range []struct {
		before int
		what   string
	}{
		{moves, "files cannot be moved from one folder to another"},
		{truncation, "files outside the agent's folders can be emptied, though not read"},
		{scopes, "the agent can signal other processes of its user, and reach abstract sockets"},
	} {
		if v < lack.before {
			notes = append(notes, fmt.Sprintf("terminal.sandbox: this kernel has version %d of Landlock: %s", v, lack.what))
		}
	}
	return nil, notes
}

// wayOut are the powers of root by which a sandbox is left: by other processes, by devices, by the
// kernel itself.
var wayOut = []uintptr{
	unix.CAP_SYS_PTRACE, unix.CAP_PERFMON, unix.CAP_CHECKPOINT_RESTORE, unix.CAP_DAC_READ_SEARCH, unix.CAP_MKNOD, unix.CAP_SYS_RAWIO,
	unix.CAP_SYS_ADMIN, unix.CAP_SYS_MODULE, unix.CAP_SYS_BOOT, unix.CAP_BPF, unix.CAP_MAC_ADMIN, unix.CAP_MAC_OVERRIDE, unix.CAP_SYSLOG,
}

// closeWays gives those powers up for the program that we become, which would have them as root, or
// by inheritance. Who is not root may have none to give up.
func closeWays() error {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	if err := unix.Capget(&head, &sets[0]); err != nil {
		return err
	}
	before := sets
	for _, power := range wayOut {
		_ = unix.Prctl(unix.PR_CAPBSET_DROP, power, 0, 0, 0)
		sets[power/32].Inheritable &^= 1 << (power % 32) // and so no ambient one either
	}
	if sets == before {
		return nil // nor may a filter of system calls let us
	}
	return unix.Capset(&head, &sets[0])
}

// reachable follows the links of paths, which keep their ":ro". It leaves out those whose way goes
// through a folder that can be written anyway: the agent could have put a link there.
func reachable(paths []string) []string {
	type place struct {
		end     string
		through []string
	}
	var found []place
	var open []string
	for _, path := range paths {
		path, readOnly := strings.CutSuffix(path, ":ro")
		end, through, err := straight.Way(path)
		if err != nil {
			continue // the agent comes no further
		}
		if readOnly {
			end += ":ro"
		} else {
			open = append(open, end)
		}
		found = append(found, place{end, through})
	}
	var out []string
	for _, p := range found {
		if !slices.ContainsFunc(p.through, func(at string) bool { return withinAny(open, at) }) {
			out = append(out, p.end)
		}
	}
	return out
}

// restrict takes away from us all files but the system's, which can be read, and those below the
// paths.
func (f *files) restrict() error {
	if err := closeWays(); err != nil {
		return fmt.Errorf("give up powers: %w", err)
	}
	r := newRules(f)
	for _, path := range reachable(readOnly(systemDirs)) {
		r.grant(path)
	}
	for _, path := range reachable(f.Paths) {
		r.grant(path)
	}
	for _, path := range f.Own {
		if end, _, err := straight.Way(path); err != nil || end != path {
			return fmt.Errorf("%s is behind a link, which an agent may have put there; move it away", path)
		}
		r.add(path, false)
	}
	rules := []landlock.Rule{
		landlock.RWFiles(devices...).WithIoctlDev().IgnoreIfMissing(),
		r.writable(landlock.RWDirs(terminals).WithIoctlDev()),
		landlock.RODirs(r.readDirs...).IgnoreIfMissing(),
		landlock.ROFiles(r.readFiles...).IgnoreIfMissing(),
		r.writable(landlock.RWDirs(r.writeDirs...)),
		landlock.RWFiles(r.writeFiles...).IgnoreIfMissing(),
	}
	if _, ok := ownTerminal(); ok {
		// Our mounts may have hidden it, and Landlock looks for the grants of the hidden path.
		// Programs look for the terminal's name in the list of devices.
		rules = append(rules, landlock.RWFiles(stdin).WithIoctlDev(), landlock.PathAccess(ll.AccessFSReadDir, "/dev"))
	}
	// Sockets of the file system are left alone, for not every kernel could close them.
	handled, err := landlock.NewConfig(landlock.V8.HandledAccessFS, landlock.ScopedSet(ll.ScopeSignal|ll.ScopeAbstractUnixSocket))
	if err != nil {
		return err
	}
	return handled.BestEffort().Restrict(rules...)
}

func readOnly(paths []string) (out []string) {
	for _, path := range paths {
		out = append(out, path+":ro")
	}
	return out
}

// enterDomain enters a Landlock domain that handles next to nothing: processes within cannot trace
// those outside, and so not use their files by way of /proc. Unlike a sandbox it lets programs gain
// rights, such as sudo. It holds for this thread, which becomes the program.
func enterDomain() error {
	if version() < 1 {
		return nil
	}
	set, err := ll.LandlockCreateRuleset(&ll.RulesetAttr{HandledAccessFS: ll.AccessFSMakeBlock}, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(set) }()
	return ll.LandlockRestrictSelf(set, 0)
}
