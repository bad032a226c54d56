package procfs

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// Cgroup returns the path of the version 2 cgroup of a process, as the kernel names it.
func Cgroup(pid int) (string, error) { return cgroupIn(file(pid, "cgroup")) }

// OwnCgroup returns the path of our own cgroup, as the kernel names it, and the folder where it is
// mounted.
func OwnCgroup() (path, dir string, err error) {
	return ownCgroup("/proc/self/mountinfo", "/proc/self/cgroup")
}

func ownCgroup(mounts, own string) (path, dir string, err error) {
	if path, err = cgroupIn(own); err != nil {
		return "", "", err
	}
	b, err := os.ReadFile(mounts)
	if err != nil {
		return "", "", err
	}
	if strings.HasPrefix(path, "/..") {
		return "", "", errors.New("ours is outside what this container sees of them")
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
	return "", "", errors.New("version 2 of them is not mounted here")
}

// cgroupIn returns the version 2 cgroup in a file like /proc/self/cgroup.
func cgroupIn(file string) (string, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(b)) {
		if path, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::"); ok {
			return path, nil
		}
	}
	return "", errors.New("no version 2 of control groups is in use here")
}
