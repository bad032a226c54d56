package process

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// residue is how much memory of earlier children, such as files that they have read, a later one may begin with in its count.
const residue = 1 << 20

// count has the memory of all children counted, where that is ours to decide and costs next to nothing: systemd has given us our group
// to divide, and a peak can be begun anew for the next child (Linux 6.12). Where limits are wanted, enable does it anyway.
func (g *groups) count() {
	given := make([]byte, 1)
	if n, err := unix.Getxattr(g.top, "user.delegate", given); err != nil || n != 1 || given[0] != '1' || !g.pass(g.top, "memory") {
		return
	}
	f, err := os.OpenFile(filepath.Join(g.base, "memory.peak"), os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer f.Close()
	if _, err := f.WriteString("0"); err == nil {
		g.enable("memory")
	}
}

// openPeak opens what counts the memory of a group; -1: nothing does.
func openPeak(group string) int {
	file := filepath.Join(group, "memory.peak")
	fd, err := unix.Open(file, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		fd, err = unix.Open(file, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		return -1
	}
	return fd
}

// forget begins the count of memory anew, and reports whether that went well: the next child is not to be charged for the last one.
func (c *cell) forget() bool {
	if c.peak < 0 {
		return true
	}
	_, err := unix.Pwrite(c.peak, []byte("0"), 0)
	return err == nil && number(c.peak) <= residue
}

// number reads a file that is one; 0: it cannot be read.
func number(fd int) int64 {
	var buf [32]byte
	n, err := unix.Pread(fd, buf[:], 0)
	if err != nil {
		return 0
	}
	i, _ := strconv.ParseInt(string(bytes.TrimSpace(buf[:n])), 10, 64)
	return i
}
