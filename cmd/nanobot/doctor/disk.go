package doctor

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"nanobot/channels"
	"nanobot/cmd/nanobot/format"
)

// Below the first limit the disk is nearly full: a busy day's messages and files still fit. Below
// the second, the next write may fail.
const (
	lowSpace = 512 << 20
	noSpace  = 32 << 20
	// fewFiles is the same for files, where a file system counts them.
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
			d.report("disk", channels.Doubtful, fmt.Sprintf("%s: %v", path, err), "look at it with df -h "+format.ShellWord(path))
			continue
		}
		if seen[s.Fsid] && s.Fsid != (unix.Fsid{}) {
			continue // the same file system
		}
		seen[s.Fsid] = true
		d.found = append(d.found, assessSpace(path, s.Bavail*uint64(s.Bsize), s.Files, s.Ffree))
	}
}

// assessSpace assesses the free bytes of a folder's file system and, if it counts them, free files.
func assessSpace(path string, bytes, files, free uint64) channels.Finding {
	f := channels.Finding{Check: "disk", Status: channels.Good, Detail: fmt.Sprintf("%s: %s free", path, format.Size(bytes))}
	switch {
	case bytes < noSpace || files > 0 && free < noFiles:
		f.Status = channels.Bad
	case bytes < lowSpace || files > 0 && free < fewFiles:
		f.Status = channels.Doubtful
	default:
		return f
	}
	if files > 0 && free < fewFiles {
		f.Detail += fmt.Sprintf(", %d files", free)
	}
	f.Fix = "make room: du -xh --max-depth=2 " + format.ShellWord(path) + " | sort -h shows what is big"
	return f
}
