package doctor

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"nanobot/cmd/nanobot/format"
)

// The limits of free bytes and, if the file system counts them, free files. Below the first of each
// there is a warning: the messages and files of a busy day still fit. Below the second, the next
// write may fail.
const (
	lowSpace, noSpace = 512 << 20, 32 << 20
	fewFiles, noFiles = 5000, 100
)

func (d *doctor) checkDisk() {
	seen := map[unix.Fsid]bool{}
	for _, path := range []string{d.cfg.Gateway.StateDir, d.cfg.Workspace} {
		if _, err := os.Stat(path); err != nil {
			path, _ = nearestFolder(path)
		}
		var s unix.Statfs_t
		if err := unix.Statfs(path, &s); err != nil {
			d.add("disk", doubtful(fmt.Sprintf("%s: %v", path, err), "check it with: df -h "+format.ShellWord(path)))
			continue
		}
		if seen[s.Fsid] && s.Fsid != (unix.Fsid{}) {
			continue // the same file system
		}
		seen[s.Fsid] = true
		d.add("disk", assessSpace(path, s.Bavail*uint64(s.Bsize), s.Files, s.Ffree))
	}
}

// assessSpace assesses the free bytes and files of a folder's file system. files is 0 if the file
// system does not count them.
func assessSpace(path string, bytes, files, free uint64) findings {
	detail := fmt.Sprintf("%s: %s free", path, format.Size(bytes))
	if files > 0 && free < fewFiles {
		detail += fmt.Sprintf(", %d files", free)
	}
	fix := "free some space; to list the largest folders: du -xh --max-depth=2 " + format.ShellWord(path) + " | sort -h"
	switch {
	case bytes < noSpace || files > 0 && free < noFiles:
		return bad(detail, fix)
	case bytes < lowSpace || files > 0 && free < fewFiles:
		return doubtful(detail, fix)
	}
	return good("%s", detail)
}
