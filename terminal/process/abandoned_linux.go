package process

import (
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"nanobot/internal/procfs"
)

// lockGroup locks a group until we die; nil: somebody else has it, or it is gone.
func lockGroup(dir string) *os.File {
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

// killAbandoned kills and removes the groups whose owner is dead, which is who has locked them.
func killAbandoned(top string) {
	left, _ := filepath.Glob(filepath.Join(top, groupPrefix+"*"))
	for _, dir := range left {
		lock := lockGroup(dir)
		if lock == nil && !usurped(dir) {
			continue
		}
		_ = os.WriteFile(filepath.Join(dir, "cgroup.kill"), []byte("1"), 0)
		_ = awaitEmpty(dir)
		removeGroups(dir)
		lock.Close()
	}
}

// usurped reports whether a group is locked by somebody in it, who was quick when the owner died,
// or by the owner though it is dead, for a child whose start hangs has its files. Of a lock that we
// are not shown, the owner may be in another container.
func usurped(dir string) bool {
	pid, ok := procfs.FlockHolder(dir)
	if !ok || pid <= 0 {
		return false
	}
	if unix.Kill(pid, 0) == unix.ESRCH {
		return true
	}
	group, _ := procfs.Cgroup(pid)
	return strings.Contains(group, "/"+filepath.Base(dir)+"/")
}
