package packaging_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// root is a clean system: a shell and the two programs that the package's scripts use, a dpkg
// database in which only ca-certificates counts as installed, and nothing else.
type root struct {
	*testing.T
	path string
}

const emptyDatabase = `Package: ca-certificates
Status: install ok installed
Maintainer: nobody <nobody@nanobot.invalid>
Architecture: all
Version: 1
Description: stands in for the real one

`

func newRoot(t *testing.T) root {
	t.Helper()
	for _, p := range []string{"dpkg", "dpkg-deb", "ldd"} {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("%s is missing on this machine, so a .deb cannot be installed", p)
		}
	}
	r := root{t, t.TempDir()}
	if out, err := r.commandAsRoot("true").CombinedOutput(); err != nil {
		t.Skipf("neither root nor allowed to make a user namespace: %v\n%s", err, out)
	}
	for _, p := range []string{"sh", "rm", "find"} {
		r.copyProgram(p)
	}
	for _, d := range []string{"tmp", "usr/bin", "var/lib/dpkg/info", "var/lib/dpkg/updates"} {
		r.must(os.MkdirAll(filepath.Join(r.path, d), 0o755))
	}
	r.putFile("etc/hostname", "clean\n", 0o644) // an empty /etc would count as the package's own folder
	r.putFile("var/lib/dpkg/status", emptyDatabase, 0o644)
	return r
}

func (r root) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal("make root: ", err)
	}
}

func (r root) putFile(path, content string, mode fs.FileMode) {
	r.Helper()
	r.must(os.MkdirAll(filepath.Dir(filepath.Join(r.path, path)), 0o755))
	r.must(os.WriteFile(filepath.Join(r.path, path), []byte(content), mode))
}

func (r root) readFile(path string) string {
	r.Helper()
	content, err := os.ReadFile(filepath.Join(r.path, path))
	if err != nil {
		r.Fatal(err)
	}
	return string(content)
}

func (r root) has(path string) bool {
	_, err := os.Lstat(filepath.Join(r.path, path))
	return err == nil
}

var absolute = regexp.MustCompile(`/\S+`)

// copyProgram copies a program of this machine and the libraries that it needs.
func (r root) copyProgram(program string) {
	r.Helper()
	path, err := exec.LookPath(program)
	r.must(err)
	libraries, err := exec.Command("ldd", path).Output() // fails for a static program, which needs no libraries
	if err != nil {
		libraries = nil
	}
	for _, from := range append(absolute.FindAllString(string(libraries), -1), path) {
		content, err := os.ReadFile(from)
		r.must(err)
		r.putFile(from, string(content), 0o755)
	}
	if want := "/bin/" + program; path != want {
		r.putFile(want, r.readFile(path), 0o755)
	}
}

// commandAsRoot returns a command that runs as root, if necessary of a user namespace.
func (root) commandAsRoot(args ...string) *exec.Cmd {
	if os.Getuid() != 0 {
		args = append([]string{"unshare", "--map-root-user"}, args...)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "HOME=/"}
	return cmd
}

// run runs a program in the root and returns its output.
func (r root) run(args ...string) string {
	r.Helper()
	out, err := r.commandAsRoot(append([]string{"chroot", r.path}, args...)...).Output()
	if err != nil {
		r.Fatalf("%q: %v", args, err)
	}
	return string(out)
}

// dpkg runs dpkg on the root. The configuration of slim containers omits documentation, which these
// tests need.
func (r root) dpkg(args ...string) string {
	r.Helper()
	cmd := r.commandAsRoot(append([]string{"dpkg", "--root=" + r.path, "--log=/dev/null", "--path-include=/usr/share/*"}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.Fatalf("dpkg %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// snapshot returns the mode and content of each file in the root, without dpkg's database.
func (r root) snapshot() map[string]string {
	r.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(r.path, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(path, r.path)
		if name == "/var/lib/dpkg" {
			return fs.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		all[name] = info.Mode().String()
		if d.Type().IsRegular() {
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			all[name] += fmt.Sprintf(" %x", sha256.Sum256(content))
		}
		return nil
	})
	if err != nil {
		r.Fatal(err)
	}
	return all
}
