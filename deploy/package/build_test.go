// Package packaging_test builds the packages, installs the .deb into a clean root, runs its
// programs and removes it again.
package packaging_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
	"nanobot/internal/postgrestest"
)

// dist is the folder in which the packages are built, once for all tests.
var dist string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "nanobot-package-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "make folder for the packages:", err)
		return 1
	}
	defer os.RemoveAll(dir)
	dist = dir
	return postgrestest.Main(m)
}

var build = sync.OnceValue(func() error {
	// The go command caches test results by the files that the test itself has opened, and does not
	// know those of the build below. Reading the folders here invalidates the cached result when a
	// file changes.
	err := filepath.WalkDir("../..", func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() != ".." && strings.HasPrefix(d.Name(), ".") {
			return fs.SkipDir
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("walk the source: %w", err)
	}
	cmd := exec.Command("sh", "./build", dist)
	cmd.Env = append(os.Environ(), "VERSION=v1.2.3", "ARCH="+runtime.GOARCH)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w\n%s", err, out)
	}
	return nil
})

// packages builds the packages where that is possible, and returns the path of the only file that
// matches a pattern.
func packages(t *testing.T, pattern string) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("packages are built on Linux")
	}
	killtest.SkipIfShort(t)
	musttest.Do(t, build())
	found, err := filepath.Glob(filepath.Join(dist, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: found %v, %v; want one file", pattern, found, err)
	}
	return found[0]
}

var unpackArchive = sync.OnceValue(func() error {
	prefix := filepath.Join(dist, "unpacked")
	if err := os.Mkdir(prefix, 0o755); err != nil {
		return err
	}
	archive := filepath.Join(dist, "nanobot-1.2.3-"+platform+".tar.gz")
	if out, err := exec.Command("tar", "-xzf", archive, "--strip-components=1", "-C", prefix).CombinedOutput(); err != nil {
		return fmt.Errorf("unpack: %w\n%s", err, out)
	}
	return nil
})

// unpack returns the folder into which the archive is unpacked, once for all tests.
func unpack(t *testing.T) string {
	t.Helper()
	packages(t, "SHA256SUMS")
	musttest.Do(t, unpackArchive())
	return filepath.Join(dist, "unpacked")
}
