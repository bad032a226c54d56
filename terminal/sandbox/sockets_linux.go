package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// listSockets returns the paths of sockets, without symbolic links: those that programs in our
// network namespace have bound, those that are mounted, and those in some folders whose program may
// be in another network namespace.
func listSockets(dirs []string) []string {
	all := boundSockets()
	mounted, _ := readMounts()
	fuse := map[string]bool{} // whose programs could block us
	for _, m := range mounted {
		all = append(all, m.at)
		fuse[m.at] = strings.HasPrefix(m.kind, "fuse")
	}
	for _, dir := range dirs {
		for _, socket := range walkSockets(dir, fuse) {
			if !slices.Contains(all, socket) && hasListener(socket) {
				all = append(all, socket)
			}
		}
	}
	slices.Sort(all) // each connection of a server has a row with the server's path
	var found []string
	for _, path := range slices.Compact(all) {
		if fuse[path] {
			continue
		}
		dir, err := filepath.EvalSymlinks(filepath.Dir(path))
		if err != nil {
			continue // the agent cannot reach it either
		}
		path = filepath.Join(dir, filepath.Base(path))
		if info, err := os.Lstat(path); err == nil && info.Mode().Type() == fs.ModeSocket {
			found = append(found, path)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// boundSockets returns the absolute paths in /proc/net/unix.
func boundSockets() (all []string) {
	b, _ := os.ReadFile("/proc/self/net/unix")
	for line := range strings.Lines(string(b)) {
		// The path follows seven columns without a slash, and may contain spaces.
		if at := strings.Index(line, " /"); at >= 0 {
			all = append(all, filepath.Clean(strings.TrimSuffix(line[at+1:], "\n")))
		}
	}
	return all
}

// The limits of a search for sockets. Most are directly in the folder of their program.
const maxSocketDepth, maxSocketEntries = 4, 10_000

func walkSockets(root string, skip map[string]bool) (found []string) {
	depth, entries := strings.Count(root, "/")+maxSocketDepth, 0
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		entries++
		switch {
		case entries > maxSocketEntries:
			return fs.SkipAll
		case err != nil && d != nil && d.IsDir(), err == nil && d.IsDir() &&
			(skip[path] || strings.Count(path, "/") >= depth):
			return fs.SkipDir
		case err == nil && d.Type() == fs.ModeSocket:
			found = append(found, path)
		}
		return nil
	})
	return found
}

// hasListener reports whether a program listens on a socket, as opposed to one that has ended
// without removing it.
func hasListener(path string) bool {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return true
	}
	defer func() { _ = unix.Close(fd) }()
	return !errors.Is(unix.Connect(fd, &unix.SockaddrUnix{Name: path}), unix.ECONNREFUSED)
}
