// Package sandboxtest provides tests of agents in a sandbox with folders. It does not know the
// sandbox.
package sandboxtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Outside returns a new folder that is in no temp folder, since every sandbox lets agents use
// these. The test is skipped if no other folder can be written to.
func Outside(t testing.TB) string {
	t.Helper()
	home, _ := os.UserHomeDir()
	for _, place := range []string{home, "/srv", "/var/lib", "."} {
		abs, err := filepath.Abs(place)
		if err != nil || strings.HasPrefix(abs, "/tmp") || strings.HasPrefix(abs, "/var/tmp") || strings.HasPrefix(abs, os.TempDir()) {
			continue
		}
		if dir, err := os.MkdirTemp(abs, "outside-"); err == nil {
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			return dir
		}
	}
	t.Skip("there is no folder to write to but the temp folders")
	return ""
}
