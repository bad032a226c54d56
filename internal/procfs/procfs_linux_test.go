package procfs_test

import (
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nanobot/internal/musttest"
	"nanobot/internal/procfs"
	"nanobot/internal/wanttest"
)

func TestTheNameOfAProgramCannotForgeOtherFields(t *testing.T) {
	line := "42 (a) Z 1 1 1) S 7 8 9 0 -1 4194304 1 2 3 4 10 20 30 40 20 0 1 0 555 1000 6 18446744073709551615\n"
	got, ok := procfs.ParseStat(42, []byte(line))
	want := procfs.Stat{Pid: 42, Parent: 7, Session: 9, State: 'S', Start: 555, CPU: time.Second, Resident: 6 * int64(os.Getpagesize())}
	if !ok || got != want {
		t.Errorf("got %+v, %v, want %+v", got, ok, want)
	}
	for _, line := range []string{"", "42 (a", "42 (a) S 7 8 9\n"} {
		if _, ok := procfs.ParseStat(42, []byte(line)); ok {
			t.Errorf("%q was taken for a process", line)
		}
	}
}

func TestAProcessThatIsBeingReleasedHasNoSession(t *testing.T) {
	line := "42 (a) X 0 -1 -1 0 -1 4194304 1 2 3 4 10 20 30 40 20 0 1 0 555 0 0 18446744073709551615\n"
	if got, ok := procfs.ParseStat(42, []byte(line)); !ok || got.Session > 0 || !got.Dead() {
		t.Errorf("got %+v, %v", got, ok)
	}
}

func TestReadStatMatchesTheKernel(t *testing.T) {
	children := procfs.OpenOwnChildren()
	defer children.Close()
	before := procfs.TicksSinceBoot()
	cmd := exec.Command("sleep", "60")
	cmd.Env = []string{"MARK=here"}
	musttest.Do(t, cmd.Start())
	pid := cmd.Process.Pid
	sid := musttest.Get(unix.Getsid(pid))(t)
	s, ok := procfs.ReadStat(pid)
	if !ok || s.Pid != pid || s.Parent != os.Getpid() || s.Session != sid || s.Dead() || s.Start < before || s.Start > procfs.TicksSinceBoot() {
		t.Errorf("stat %+v, %v", s, ok)
	}
	wanttest.Equal(t, "environment", string(procfs.Environ(pid)), "MARK=here\x00")
	if !slices.Contains(procfs.Pids(), pid) {
		t.Error("it is not listed")
	}
	var started []int
	for _, thread := range procfs.Threads(os.Getpid()) {
		started = append(started, procfs.Children(os.Getpid(), thread)...)
	}
	if !slices.Contains(started, pid) {
		t.Errorf("it is not among our children %v", started)
	}
	musttest.Do(t, cmd.Process.Kill())
	var info unix.Siginfo
	musttest.Do(t, unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT, nil))
	if s, ok := procfs.ReadStat(pid); !ok || !s.Dead() {
		t.Errorf("it was killed: stat %+v, %v", s, ok)
	}
	_ = cmd.Wait()
	if s, ok := procfs.ReadStat(pid); ok {
		t.Errorf("it was reaped: stat %+v", s)
	}
}

func TestTheProcessThatHoldsALockIsFound(t *testing.T) {
	f := musttest.Get(os.CreateTemp(t.TempDir(), ""))(t)
	defer f.Close()
	if pid, ok := procfs.FlockPid(f.Name()); ok {
		t.Errorf("process %d has a lock that nobody took", pid)
	}
	musttest.Do(t, unix.Flock(int(f.Fd()), unix.LOCK_EX))
	if b, _ := os.ReadFile("/proc/locks"); len(b) == 0 {
		t.Skip("the kernel lists no locks here")
	}
	if pid, ok := procfs.FlockPid(f.Name()); !ok || pid != os.Getpid() {
		t.Errorf("the lock is held by %d, %v", pid, ok)
	}
}
