package process

import (
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"nanobot/internal/procfs"
)

// lockCgroup locks a cgroup's folder until we exit. It returns nil if another process holds the
// lock or the cgroup is gone.
func lockCgroup(dir string) *os.File {
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil
	}
	if _, err := os.Stat(dir); err != nil { // removed before it was locked
		f.Close()
		return nil
	}
	return f
}

// killStaleCgroups kills the processes in cgroups whose owner is dead, and removes these cgroups. A
// living owner holds the lock of its cgroup.
func killStaleCgroups(parent string) {
	dirs, _ := filepath.Glob(filepath.Join(parent, cgroupPrefix+"*"))
	for _, dir := range dirs {
		lock := lockCgroup(dir)
		if lock == nil && !staleLock(dir) {
			continue
		}
		_ = os.WriteFile(filepath.Join(dir, "cgroup.kill"), []byte("1"), 0)
		_ = waitEmpty(dir)
		removeCgroupTree(dir)
		lock.Close()
	}
}

// staleLock reports whether a cgroup's lock does not show that its owner lives: a process in the
// cgroup took the lock when the owner died, or a child whose start hangs still has the dead owner's
// file. If the kernel does not name the process that holds the lock, the owner may be in another
// container.
func staleLock(dir string) bool {
	pid, ok := procfs.FlockPid(dir)
	if !ok || pid <= 0 {
		return false
	}
	if unix.Kill(pid, 0) == unix.ESRCH {
		return true
	}
	path, _ := procfs.Cgroup(pid)
	return strings.Contains(path, "/"+filepath.Base(dir)+"/")
}
