// Package packaging_test builds the packages, installs the .deb into a clean root, runs its
// programs and removes it again.
package packaging_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
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

func TestAllPackagesAreBuiltWithChecksums(t *testing.T) {
	sums := musttest.Get(os.ReadFile(packages(t, "SHA256SUMS")))(t)
	for pattern, magic := range map[string]string{
		"nanobot-1.2.3-linux-*.deb":    "!<arch>\n",
		"nanobot-1.2.3-linux-*.rpm":    "\xed\xab\xee\xdb",
		"nanobot-1.2.3-linux-*.tar.gz": "\x1f\x8b",
	} {
		path := packages(t, pattern)
		content := musttest.Get(os.ReadFile(path))(t)
		if !bytes.HasPrefix(content, []byte(magic)) {
			t.Errorf("%s begins with %q; want %q", path, content[:8], magic)
		}
		sum := sha256.Sum256(content)
		if line := hex.EncodeToString(sum[:]) + "  " + filepath.Base(path) + "\n"; !strings.Contains(string(sums), line) {
			t.Errorf("SHA256SUMS lacks %q:\n%s", line, sums)
		}
	}
}

// unpack unpacks the archive and returns the folder.
func unpack(t *testing.T) string {
	t.Helper()
	archive, prefix := packages(t, "nanobot-*.tar.gz"), t.TempDir()
	if out, err := exec.Command("tar", "-xzf", archive, "--strip-components=1", "-C", prefix).CombinedOutput(); err != nil {
		t.Fatalf("unpack: %v\n%s", err, out)
	}
	return prefix
}

func TestTheArchiveUnpacksIntoAPrefix(t *testing.T) {
	prefix := unpack(t)
	out, err := exec.Command(filepath.Join(prefix, "bin/nanobot"), "version").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "nanobot v1.2.3 ") {
		t.Errorf("nanobot version: %q, %v", out, err)
	}
	for _, path := range []string{
		"lib/systemd/system/nanobot.service", "share/man/man1/nanobot.1.gz", "share/zsh/site-functions/_nanobot",
		"share/doc/nanobot/deploy/examples/minimal-python/agent.py",
	} {
		if _, err := os.Stat(filepath.Join(prefix, path)); err != nil {
			t.Error(err)
		}
	}
}
