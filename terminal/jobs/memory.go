package jobs

import (
	"strconv"
	"syscall"
)

// withMemoryLimit wraps a program in a shell that sets a memory limit first: setting it on a
// running program would come too late for the memory and processes that it has by then. ulimit -d
// counts private writable memory; -v would also count reserved address space, of which Node and
// Java have many GiB.
func withMemoryLimit(path string, args []string, bytes int64) (string, []string) {
	var now syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_DATA, &now); err == nil && uint64(bytes) > now.Max {
		bytes = int64(now.Max) // the hard limit cannot be raised
	}
	const shell = "/bin/sh"
	line := []string{
		shell, "-c", `ulimit -d "$1" && shift && exec "$@"`, shell, strconv.FormatInt(max(bytes>>10, 1), 10),
		path,
	}
	return shell, append(line, args[1:]...)
}
