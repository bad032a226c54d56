package process

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// sessionOf returns the processes of a session other than its leader that live, with their groups. The session is the leader's own as long as
// that is not reaped.
func sessionOf(leader int) map[int]int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	others := map[int]int{}
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == leader {
			continue
		}
		if session, err := unix.Getsid(pid); err != nil || session != leader {
			continue // asked first, because it costs far less than to read a file
		}
		if group, err := unix.Getpgid(pid); err == nil && !dead(name) {
			others[pid] = group
		}
	}
	return others
}

// dead reports whether a process is gone but for those who may ask how it ended.
func dead(pid string) bool {
	b, err := os.ReadFile("/proc/" + pid + "/stat")
	// The state is behind the name, which is in parentheses and may hold anything.
	_, state, _ := bytes.Cut(b[bytes.LastIndexByte(b, ')')+1:], []byte(" "))
	return err != nil || bytes.HasPrefix(state, []byte("Z")) || bytes.HasPrefix(state, []byte("X"))
}
