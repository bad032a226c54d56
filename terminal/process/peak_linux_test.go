package process_test

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"nanobot/terminal/process"
)

// The folders stand in for groups of a machine whose memory is counted by version 2 of control groups.
func TestMemoryIsCountedWhereThatIsOursToDecideAndCheap(t *testing.T) {
	for name, tc := range map[string]struct {
		delegate, controllers, peak string
		want                        bool
	}{
		"delegated":             {"1", "cpu memory", "4096\n", true},
		"not delegated":         {"", "cpu memory", "4096\n", false},
		"no longer delegated":   {"0", "cpu memory", "4096\n", false},
		"without memory":        {"1", "cpu", "4096\n", false},
		"by a kernel too early": {"1", "cpu memory", "", false},
	} {
		top := t.TempDir()
		base := filepath.Join(top, "base")
		if err := os.Mkdir(base, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, dir := range []string{top, base} {
			write(t, tc.controllers, dir, "cgroup.controllers")
			write(t, "", dir, "cgroup.subtree_control")
		}
		if tc.peak != "" {
			write(t, tc.peak, base, "memory.peak")
		}
		if tc.delegate != "" {
			if err := unix.Setxattr(top, "user.delegate", []byte(tc.delegate), 0); err != nil {
				t.Skip(err)
			}
		}
		if got := process.Counts(top, base); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
		if b, _ := os.ReadFile(filepath.Join(base, "cgroup.subtree_control")); (string(b) == "+memory") != tc.want {
			t.Errorf("%s: %q", name, b)
		}
	}
}

func TestTheNextChildIsNotChargedForTheMemoryOfTheLast(t *testing.T) {
	file := filepath.Join(t.TempDir(), "memory.peak")
	for name, tc := range map[string]struct {
		left  string // behind the first digit, which beginning anew overwrites
		flags int
		want  bool
	}{
		"nothing is left": {"0\n", unix.O_RDWR, true},
		"little is left":  {"999999\n", unix.O_RDWR, true},
		"much is left":    {"9999999\n", unix.O_RDWR, false},
		"it cannot":       {"0\n", unix.O_RDONLY, false},
	} {
		write(t, "5"+tc.left, file)
		if got := process.Forgets(file, tc.flags); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func write(t *testing.T, text string, path ...string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(path...), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
