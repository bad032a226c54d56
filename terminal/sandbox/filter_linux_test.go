package sandbox_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"nanobot/internal/musttest"
)

func init() { execFiltered = execFilteredTest }

// forbidden are the system calls that a seccomp filter forbids, by the name of the filter.
var forbidden = map[string]uint32{"capset": unix.SYS_CAPSET, "mount": unix.SYS_MOUNT, "nothing": 1 << 20}

// execFilteredTest installs a seccomp filter and executes a test.
func execFilteredTest(word, test string) {
	runtime.LockOSThread()
	code := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}, // the number of the call
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: forbidden[word], Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	prog := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	if err == nil {
		err = unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0)
	}
	if err == nil {
		err = syscall.Exec(os.Args[0], []string{os.Args[0], "-test.run=^" + test + "$", "-test.v"}, os.Environ())
	}
	fmt.Println("no filter:", err)
}

// runTestAgain runs a test again in another process, with a seccomp filter and, unless user is nil,
// as another user.
func runTestAgain(t *testing.T, test, filter string, user *syscall.Credential) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "filtered", filter, test)
	cmd.Env = append(os.Environ(), "TEST_AGAIN="+filter)
	if user != nil {
		home, place := newFoldersFor(t, user)
		cmd.Path = filepath.Join(home, "sandbox.test")
		if out, err := exec.Command("cp", os.Args[0], cmd.Path).CombinedOutput(); err != nil {
			t.Fatalf("%v %s", err, out)
		}
		cmd.Dir, cmd.Args[0] = place, cmd.Path
		cmd.Env = append(cmd.Env, "HOME="+place, "TMPDIR="+place, "TEST_OUTSIDE="+place)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: user}
	}
	out, err := cmd.CombinedOutput()
	if strings.HasPrefix(string(out), "no filter:") {
		t.Skip(string(out))
	}
	if err != nil || !strings.Contains(string(out), "--- PASS: "+test) {
		t.Errorf("%v\n%s", err, out)
	}
}

// newFoldersFor returns a folder outside the temporary folders that every user can enter, and a
// folder in it that belongs to a user.
func newFoldersFor(t *testing.T, user *syscall.Credential) (home, place string) {
	t.Helper()
	for _, dir := range []string{"/srv", "/var/lib", "/opt"} {
		home, err := os.MkdirTemp(dir, "sandbox-test-")
		if err != nil {
			continue
		}
		t.Cleanup(func() { _ = os.RemoveAll(home) })
		place = filepath.Join(home, "place")
		musttest.Do(t, os.Chmod(home, 0o755))
		musttest.Do(t, os.Mkdir(place, 0o755))
		musttest.Do(t, os.Chown(place, int(user.Uid), int(user.Gid)))
		return home, place
	}
	t.Skip("there is no folder that everybody can enter but the temp folders")
	return "", ""
}

func TestLandlockWorksWhereCapsetIsForbidden(t *testing.T) {
	newLandlockOptions(t)
	runTestAgain(t, "TestLandlockRestrictsTheAgentToItsFolders", "capset", nil)
}
