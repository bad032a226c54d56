package main

import (
	"bufio"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// slim gives back the memory that only starting needed: the heap's, and those pages of our own program that are not used any more. The
// kernel reads them again from the file if they are. A daemon that starts once and idles for months has no use for them.
func slim() {
	debug.FreeOSMemory()
	exe, err := os.Executable()
	if err != nil {
		return
	}
	f, err := os.Open("/proc/self/maps")
	if err != nil {
		return
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text()) // from-to perms offset device inode path
		if len(fields) != 6 || fields[5] != exe || !strings.HasPrefix(fields[1], "r-") {
			continue
		}
		from, to, _ := strings.Cut(fields[0], "-")
		begin, err1 := strconv.ParseUint(from, 16, 64)
		end, err2 := strconv.ParseUint(to, 16, 64)
		if err1 == nil && err2 == nil && end > begin {
			_, _, _ = unix.Syscall(unix.SYS_MADVISE, uintptr(begin), uintptr(end-begin), unix.MADV_DONTNEED) // it is only advice
		}
	}
}
