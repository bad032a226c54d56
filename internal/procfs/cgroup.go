package procfs

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// Cgroup returns the path of a process's cgroup (version 2) in the cgroup hierarchy.
func Cgroup(pid int) (string, error) { return readCgroupFile(procFile(pid, "cgroup")) }

// OwnCgroup returns the path of our own cgroup in the hierarchy, and its folder in the file system.
func OwnCgroup() (path, dir string, err error) {
	return ownCgroup("/proc/self/mountinfo", "/proc/self/cgroup")
}

func ownCgroup(mounts, own string) (path, dir string, err error) {
	if path, err = readCgroupFile(own); err != nil {
		return "", "", err
	}
	b, err := os.ReadFile(mounts)
	if err != nil {
		return "", "", err
	}
	if strings.HasPrefix(path, "/..") {
		return "", "", errors.New("our cgroup is outside the view of this container")
	}
	for line := range strings.Lines(string(b)) {
		// 41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw
		about, kind, _ := strings.Cut(line, " - ")
		fields := strings.Fields(about)
		if len(fields) < 5 || !strings.HasPrefix(kind, "cgroup2 ") {
			continue
		}
		if rel, err := filepath.Rel(fields[3], path); err == nil && filepath.IsLocal(rel) {
			return path, filepath.Join(fields[4], rel), nil
		}
	}
	return "", "", errors.New("cgroup v2 is not mounted")
}

// readCgroupFile returns the version 2 cgroup in a file like /proc/self/cgroup.
func readCgroupFile(file string) (string, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(b)) {
		if path, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::"); ok {
			return path, nil
		}
	}
	return "", errors.New("cgroup v2 is not in use")
}
