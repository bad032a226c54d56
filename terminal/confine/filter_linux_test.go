package confine_test

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

func init() { filtered = forbidCapset }

// forbidCapset becomes a test behind a filter of system calls such as services have.
func forbidCapset(test string) {
	runtime.LockOSThread()
	code := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}, // the number of the call
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_CAPSET, Jf: 1},
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

func TestLandlockWorksWhereAServiceMayNotChangeItsPowers(t *testing.T) {
	landlocked(t)
	out, err := exec.Command(os.Args[0], "filtered", "TestLandlockLetsNothingOutOfTheFoldersOfTheAgent").CombinedOutput()
	if strings.HasPrefix(string(out), "no filter:") {
		t.Skip(string(out))
	}
	if err != nil || !strings.Contains(string(out), "--- PASS: TestLandlock") {
		t.Errorf("%v\n%s", err, out)
	}
}
