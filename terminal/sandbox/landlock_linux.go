package sandbox

import (
	"errors"
	"fmt"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"nanobot/internal/nofollow"
)

// Files that most programs need. The resolver's files in /run are included because /etc/resolv.conf
// often is a symbolic link to them.
var (
	systemDirs = []string{
		"/usr", "/lib", "/lib32", "/lib64", "/libx32", "/bin", "/sbin", "/etc", "/opt", "/nix", "/snap", "/proc", "/sys",
		"/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager", "/run/current-system",
	}
	devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx"}
	// Block devices are not in the list, because root could read whole disks through them.
	// In a mount namespace, ptyDir is an own instance of devpts.
	ptyDir = "/dev/pts"
)

// The Landlock ABI versions that introduced rights whose absence is reported.
const abiRefer, abiTruncate, abiScoped, abiSockets = 2, 3, 6, 9

func landlockABI() int {
	v, err := ll.LandlockGetABIVersion()
	if err != nil {
		return 0
	}
	return v
}

// landlockRestrictsSockets reports whether Landlock restricts connections to Unix sockets in the
// file system, as it does since Linux 7.1.
func landlockRestrictsSockets() bool { return landlockABI() >= abiSockets }

func canCloseAbstractSockets() bool { return landlockABI() >= abiScoped }

// missingLandlockFeatures describes what the kernel's version of Landlock cannot restrict.
func missingLandlockFeatures() (missing, notes []string) {
	v := landlockABI()
	if v < 1 {
		return []string{"terminal.sandbox: this kernel has no Landlock (it needs Linux 5.13, with landlock in " +
			"/sys/kernel/security/lsm)"}, nil
	}
	for _, lack := range []struct {
		before int
		what   string
	}{
		{abiRefer, "files cannot be moved from one folder to another"},
		{abiTruncate, "files outside the agent's folders can be emptied, though not read"},
		{abiScoped, "the agent can signal other processes of its user, and reach abstract sockets"},
	} {
		if v < lack.before {
			notes = append(notes, fmt.Sprintf("terminal.sandbox: this kernel has version %d of Landlock: %s", v, lack.what))
		}
	}
	return nil, notes
}

// escapeCapabilities are the capabilities of root that allow leaving a sandbox through other
// processes, devices or the kernel.
var escapeCapabilities = []uintptr{
	unix.CAP_SYS_PTRACE, unix.CAP_PERFMON, unix.CAP_CHECKPOINT_RESTORE, unix.CAP_DAC_READ_SEARCH, unix.CAP_MKNOD,
	unix.CAP_SYS_RAWIO,
	unix.CAP_SYS_ADMIN, unix.CAP_SYS_MODULE, unix.CAP_SYS_BOOT, unix.CAP_BPF, unix.CAP_MAC_ADMIN, unix.CAP_MAC_OVERRIDE,
	unix.CAP_SYSLOG,
}

// dropEscapeCapabilities drops the escapeCapabilities from the bounding and inheritable sets, so
// that the program does not get them back on exec as root. A process without privileges may have
// none to drop.
func dropEscapeCapabilities() error {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	if err := unix.Capget(&head, &sets[0]); err != nil {
		return err
	}
	before := sets
	for _, power := range escapeCapabilities {
		_ = unix.Prctl(unix.PR_CAPBSET_DROP, power, 0, 0, 0)
		sets[power/32].Inheritable &^= 1 << (power % 32) // which removes the ambient one, too
	}
	if sets == before {
		return nil // a seccomp filter may forbid capset
	}
	return unix.Capset(&head, &sets[0])
}

// restrict enters a Landlock domain in which only system files, read-only, and the granted paths
// are accessible.
func (f *landlockFiles) restrict() error {
	if err := dropEscapeCapabilities(); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	r := newRuleBuilder(f)
	for _, path := range resolveGrants(markReadOnly(systemDirs)) {
		r.grantPath(path)
	}
	for _, path := range resolveGrants(f.Paths) {
		r.grantPath(path)
	}
	for _, path := range f.Own {
		if end, _, err := nofollow.Resolve(path); err != nil || end != path {
			return fmt.Errorf("%s is behind a link, which an agent may have put there; move it away", path)
		}
		r.addPath(path, false)
	}
	rules := []landlock.Rule{
		landlock.RWFiles(devices...).WithIoctlDev().IgnoreIfMissing(),
		r.writableRule(landlock.RWDirs(ptyDir).WithIoctlDev()),
		landlock.RODirs(r.readDirs...).IgnoreIfMissing(),
		landlock.ROFiles(r.readFiles...).IgnoreIfMissing(),
		landlock.RODirs(nameServices...).WithResolveUnix().IgnoreIfMissing(),
		r.writableRule(landlock.RWDirs(r.writeDirs...)).WithResolveUnix(),
		landlock.RWFiles(r.writeFiles...).WithResolveUnix().IgnoreIfMissing(),
	}
	if f.Socket != "" {
		rules = append(rules, landlock.RWFiles(f.Socket).WithResolveUnix().IgnoreIfMissing())
	}
	if _, ok := stdinTerminal(); ok {
		// Our mounts may hide the terminal, and Landlock checks the grants of its hidden path.
		// ttyname(3) searches /dev for the terminal.
		rules = append(rules, landlock.RWFiles(stdin).WithIoctlDev(), landlock.PathAccess(ll.AccessFSReadDir, "/dev"))
	}
	handled, err := landlock.NewConfig(landlock.V9.HandledAccessFS,
		landlock.ScopedSet(ll.ScopeSignal|ll.ScopeAbstractUnixSocket))
	if err != nil {
		return err
	}
	return handled.BestEffort().Restrict(rules...)
}

func markReadOnly(paths []string) (out []string) {
	for _, path := range paths {
		out = append(out, path+":ro")
	}
	return out
}

// forbidTracing enters a Landlock domain that restricts almost nothing. Processes in it cannot
// trace processes outside, and so cannot open their files through /proc, nor connect to their
// abstract sockets. Unlike restrict, it keeps set-user-ID programs such as sudo usable, unless root
// has no CAP_SYS_ADMIN. It applies to this thread, which executes the program.
func forbidTracing() error {
	if landlockABI() < 1 {
		return nil
	}
	rights := ll.RulesetAttr{HandledAccessFS: ll.AccessFSMakeBlock}
	if canCloseAbstractSockets() {
		rights.Scoped = ll.ScopeAbstractUnixSocket
	}
	set, err := ll.LandlockCreateRuleset(&rights, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(set) }()
	err = ll.LandlockRestrictSelf(set, 0)
	if errors.Is(err, unix.EPERM) {
		if err = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err == nil {
			err = ll.LandlockRestrictSelf(set, 0)
		}
	}
	return err
}
