// Package fdtest counts file descriptors for tests. It does not know the programs under test.
package fdtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/internal/musttest"
)

// CountOpen counts the file descriptors of this process that refer to files below dir, except for
// files in the subfolders of dir with the given names.
func CountOpen(t testing.TB, dir string, exceptFolders ...string) (n int) {
	t.Helper()
	dir = musttest.Get(filepath.EvalSymlinks(dir))(t)
	fds := musttest.Get(os.ReadDir("/proc/self/fd"))(t)
	for _, fd := range fds {
		path, err := os.Readlink("/proc/self/fd/" + fd.Name())
		rest, inside := strings.CutPrefix(path, dir+"/")
		if err != nil || !inside {
			continue
		}
		n++
		for _, folder := range exceptFolders {
			if strings.HasPrefix(rest, folder+"/") {
				n--
			}
		}
	}
	return n
}
