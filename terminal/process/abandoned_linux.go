package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
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

// usurped reports whether a group is locked by somebody in it, who was quick when the owner died, or by the owner though it is dead, for
// a child whose start hangs has its files. Of a lock that we are not shown, the owner may be in another container.
func usurped(dir string) bool {
	var st unix.Stat_t
	if unix.Stat(dir, &st) != nil {
		return false
	}
	file := fmt.Sprintf("%02x:%02x:%d", unix.Major(st.Dev), unix.Minor(st.Dev), st.Ino)
	locks, _ := os.ReadFile("/proc/locks")
	for line := range strings.Lines(string(locks)) {
		// 1: FLOCK  ADVISORY  WRITE 30628 00:26:308880 0 EOF
		f := strings.Fields(line)
		if len(f) < 6 || f[1] != "FLOCK" || f[5] != file {
			continue
		}
		pid, _ := strconv.Atoi(f[4])
		if pid <= 0 || unix.Kill(pid, 0) == unix.ESRCH {
			return pid > 0
		}
		group, _ := os.ReadFile("/proc/" + f[4] + "/cgroup")
		return strings.Contains(string(group), "/"+filepath.Base(dir)+"/")
	}
	return false
}
