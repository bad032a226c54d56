package jobs

import (
	"strconv"
	"syscall"
)

// limited makes of a program one that has so much memory, by way of a shell: a limit that is set
// once a program runs comes too late for what it has and has started by then. ulimit -d counts
// private writable memory. What is only reserved, of which Node and Java have many GiB, would count
// with -v.
func limited(path string, args []string, bytes int64) (string, []string) {
	var now syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_DATA, &now); err == nil && uint64(bytes) > now.Max {
		bytes = int64(now.Max) // nobody may raise it
	}
	const shell = "/bin/sh"
	line := []string{shell, "-c", `ulimit -d "$1" && shift && exec "$@"`, shell, strconv.FormatInt(max(bytes>>10, 1), 10), path}
	return shell, append(line, args[1:]...)
}
