// Package fdtest counts file descriptors for tests.
package fdtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// OpenIn counts the file descriptors of this process that are files in a folder, but for those in
// folders of it that are left out by name.
func OpenIn(t testing.TB, dir string, leftOut ...string) (n int) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		path, err := os.Readlink("/proc/self/fd/" + fd.Name())
		rest, inside := strings.CutPrefix(path, dir+"/")
		if err != nil || !inside {
			continue
		}
		n++
		for _, folder := range leftOut {
			if strings.HasPrefix(rest, folder+"/") {
				n--
			}
		}
	}
	return n
}
