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
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer f.Close()
	var begin, end uint64 // of a part of our program that nothing writes to
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		switch {
		case len(fields) == 6 && strings.Contains(fields[0], "-"): // from-to perms offset device inode path
			begin, end = 0, 0
			if fields[5] == exe && strings.HasPrefix(fields[1], "r-") {
				from, to, _ := strings.Cut(fields[0], "-")
				begin, _ = strconv.ParseUint(from, 16, 64)
				end, _ = strconv.ParseUint(to, 16, 64)
			}
		// What the dynamic linker has filled in, before it was made read-only, is in no file.
		case len(fields) == 3 && fields[0] == "Anonymous:" && fields[1] == "0" && end > begin:
			_, _, _ = unix.Syscall(unix.SYS_MADVISE, uintptr(begin), uintptr(end-begin), unix.MADV_DONTNEED) // it is only advice
		}
	}
}
