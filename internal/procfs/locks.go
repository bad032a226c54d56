package procfs

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// FlockPid returns the PID of the process that holds the flock(2) lock of a file. The PID is 0
// or less if the process is in another PID namespace, and ok is false if no lock is listed.
func FlockPid(path string) (pid int, ok bool) {
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil {
		return 0, false
	}
	device := uint64(st.Dev) //nolint:unconvert // macOS has another type
	file := fmt.Sprintf("%02x:%02x:%d", unix.Major(device), unix.Minor(device), st.Ino)
	locks, _ := os.ReadFile("/proc/locks")
	for line := range strings.Lines(string(locks)) {
		// 1: FLOCK  ADVISORY  WRITE 30628 00:26:308880 0 EOF
		f := strings.Fields(line)
		if len(f) >= 6 && f[1] == "FLOCK" && f[5] == file {
			pid, _ = strconv.Atoi(f[4])
			return pid, true
		}
	}
	return 0, false
}
