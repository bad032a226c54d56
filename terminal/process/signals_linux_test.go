package process_test

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestAChildStartsWithDefaultSignals runs the tests of this file and of the hangup of a terminal
// again in a program that has inherited ignored and blocked signals, as under nohup.
func TestAChildStartsWithDefaultSignals(t *testing.T) {
	if os.Getenv("SIGNALS_INHERITED") != "" {
		own, err := os.ReadFile("/proc/self/status")
		if err != nil || signalMask(t, string(own), "SigBlk:") == none {
			t.Fatalf("no signals are blocked in this program: %v", err)
		}
		out := readAll(t, startScript(t, "exec cat /proc/self/status"))
		if ignored, blocked := signalMask(t, out, "SigIgn:"), signalMask(t, out, "SigBlk:"); ignored != none || blocked != none {
			t.Errorf("the child ignores %s and blocks %s", ignored, blocked)
		}
		return
	}
	runtime.LockOSThread() // the program inherits the mask of this thread
	defer runtime.UnlockOSThread()
	blocked, before := unix.Sigset_t{}, unix.Sigset_t{}
	blocked.Val[0] = 1<<(unix.SIGTERM-1) | 1<<(unix.SIGUSR1-1) | 1<<(unix.SIGTSTP-1)
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &blocked, &before); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil) }()
	again := exec.CommandContext(t.Context(), "/bin/sh", "-c", `trap '' HUP INT QUIT PIPE TSTP USR2; exec "$@"`, "sh",
		os.Args[0], "-test.v", "-test.run", "^("+t.Name()+"|TestStopHangsUpTheTerminal|TestStopEndsASuspendedProgram)$")
	again.Env = append(os.Environ(), "SIGNALS_INHERITED=1")
	if out, err := again.CombinedOutput(); err != nil || strings.Count(string(out), "--- PASS: ") != 3 {
		t.Errorf("%v: %s", err, out)
	}
}

const none = "0000000000000000"

// signalMask returns a mask of a file status of /proc.
func signalMask(t *testing.T, status, name string) string {
	t.Helper()
	_, rest, found := strings.Cut(status, name)
	mask, _, _ := strings.Cut(strings.TrimSpace(rest), "\n")
	if !found {
		t.Fatalf("no %s in %q", name, status)
	}
	return mask
}
