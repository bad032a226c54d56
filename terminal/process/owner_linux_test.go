package process_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"nanobot/internal/musttest"
	"nanobot/internal/procfs"
	"nanobot/terminal/process"
)

// startOwned starts a child with an owner. Its script prints the PID of one of its processes.
func startOwned(t *testing.T, supervisor *process.Supervisor, owner, script string) (child *process.Child, pid int) {
	t.Helper()
	c := musttest.Get(process.Start(process.Options{
		Args: []string{"/bin/sh", "-c", script}, Supervisor: supervisor, Owner: owner, Grace: 50 * time.Millisecond,
	}))(t)
	t.Cleanup(func() { c.Kill(); c.Wait() })
	return c, readPid(t, c)
}

// reparentedScript returns a script whose command starts a process. The script prints the PID of
// that process when its parent has died, and continues to run.
func reparentedScript(command string) string {
	return "pid=$(" + command + " sh -c 'sleep 300 >/dev/null 2>&1 & echo $!'); echo $pid; exec sleep 300"
}

func checkOwner(t *testing.T, supervisor *process.Supervisor, what string, pid int, want string) {
	t.Helper()
	if owner, descends, err := supervisor.OwnerOf(pid); owner != want || !descends || err != nil {
		t.Errorf("%s: the owner is %q, %v, %v, want %q", what, owner, descends, err, want)
	}
}

func checkNoOwner(t *testing.T, supervisor *process.Supervisor, what string, pid int) {
	t.Helper()
	if owner, descends, err := supervisor.OwnerOf(pid); owner != "" || !descends || !errors.Is(err, process.ErrNoOwner) {
		t.Errorf("%s: the owner is %q, %v, %v", what, owner, descends, err)
	}
}

func TestTheOwnerOfEveryDescendantIsFound(t *testing.T) {
	eachSupervisor(t, func(t *testing.T, supervisor *process.Supervisor) {
		_, other := startOwned(t, supervisor, "other", "echo $$; exec sleep 300")
		for name, script := range map[string]string{
			"the child itself":                    "echo $$; exec sleep 300",
			"below it":                            "sh -c 'echo $$; exec sleep 300' & wait",
			"with an empty environment":           "env -i sh -c 'echo $$; exec sleep 300' & wait",
			"in another session":                  "setsid env -i sh -c 'echo $$; exec sleep 300' & wait",
			"a reparented process":                reparentedScript(""),
			"a reparented process in its session": reparentedScript("env -i"),
		} {
			_, pid := startOwned(t, supervisor, "owner", script)
			checkOwner(t, supervisor, name, pid, "owner")
		}
		for name, script := range map[string]string{
			"a reparented process of another session": reparentedScript("setsid"),
			"below one of another session": `pid=$(setsid sh -c 'sh -c "sleep 300; exit" >/dev/null 2>&1 & echo $!')
				while set -- $(cat /proc/$pid/task/$pid/children); [ $# = 0 ]; do sleep 0.01; done; echo $1; exec sleep 300`,
			"with a mark below one without": `pid=$(env -i setsid sh -c 'NANOBOT_CHILD=$0 sh -c "sleep 300; exit" >/dev/null 2>&1 & echo $!' $NANOBOT_CHILD)
				while set -- $(cat /proc/$pid/task/$pid/children); [ $# = 0 ]; do sleep 0.01; done; echo $1; exec sleep 300`,
		} {
			_, pid := startOwned(t, supervisor, "owner", script)
			if hasCgroups(supervisor) {
				checkOwner(t, supervisor, name, pid, "owner")
			} else { // the other child could have copied the mark
				checkNoOwner(t, supervisor, name, pid)
			}
		}
		checkOwner(t, supervisor, "the other child", other, "other")
	})
}

func TestAReparentedProcessWithoutAMarkBelongsToTheOnlyPossibleOwner(t *testing.T) {
	supervisor := process.NewSupervisor(process.SupervisorOptions{NoCgroups: true})
	defer supervisor.Close()
	_, pid := startOwned(t, supervisor, "owner", reparentedScript("env -i setsid"))
	checkOwner(t, supervisor, "alone", pid, "owner")
	startOwned(t, supervisor, "owner", "echo $$; exec sleep 300")
	waitATick()
	startOwned(t, supervisor, "other", "echo $$; exec sleep 300")
	checkOwner(t, supervisor, "before others came", pid, "owner")
	_, pid = startOwned(t, supervisor, "owner", reparentedScript("env -i setsid"))
	checkNoOwner(t, supervisor, "beside an older child of another owner", pid)
}

// waitATick waits for the next tick of the clock that measures the start times of processes.
func waitATick() {
	for began := procfs.TicksSinceBoot(); procfs.TicksSinceBoot() == began; {
		time.Sleep(time.Millisecond)
	}
}

func TestAReparentedProcessOfAnEndedChildMayHaveNoOwner(t *testing.T) {
	supervisor := process.NewSupervisor(process.SupervisorOptions{NoCgroups: true})
	defer supervisor.Close()
	older, _ := startOwned(t, supervisor, "older", "echo $$; exec sleep 300")
	waitATick()
	c, pid := startOwned(t, supervisor, "owner", "pid=$(env -i setsid sh -c 'sleep 300 >/dev/null 2>&1 & echo $!'); echo $pid")
	c.Wait()
	if !isRunning(pid) {
		t.Fatal("it is dead: this test proves nothing")
	}
	checkNoOwner(t, supervisor, "left by a child that has ended", pid)
	older.Kill()
	older.Wait()
	if isRunning(pid) {
		t.Fatal("it lives on")
	}
	_, pid = startOwned(t, supervisor, "owner", reparentedScript("env -i setsid"))
	checkOwner(t, supervisor, "when no reparented process is left", pid, "owner")
}

func TestACopiedMarkOfAnotherChildGivesNoOwner(t *testing.T) {
	eachSupervisor(t, func(t *testing.T, supervisor *process.Supervisor) {
		_, victim := startOwned(t, supervisor, "victim", "echo $$; exec sleep 300")
		mark := markOf(t, victim)
		_, pid := startOwned(t, supervisor, "thief", "env -i "+mark+" setsid sh -c 'echo $$; exec sleep 300' & wait")
		checkOwner(t, supervisor, "below its child", pid, "thief")
		_, pid = startOwned(t, supervisor, "thief", reparentedScript("env -i "+mark))
		checkOwner(t, supervisor, "in the session of its child", pid, "thief")
		_, pid = startOwned(t, supervisor, "thief", reparentedScript("env -i "+mark+" setsid"))
		checkNoOwner(t, supervisor, "in a session of its own", pid)
	})
}

func hasCgroups(s *process.Supervisor) bool {
	return strings.Contains(s.Describe(), "control group of its own")
}

// markOf returns the mark in the environment of a child. It waits, because a process has no
// environment for a moment during execve.
func markOf(t *testing.T, pid int) string {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		for v := range strings.SplitSeq(string(procfs.Environ(pid)), "\x00") {
			if strings.HasPrefix(v, "NANOBOT_CHILD=") {
				return v
			}
		}
	}
	t.Fatal("the child has no mark")
	return ""
}

func TestAChildWithoutAnOwnerHasNone(t *testing.T) {
	eachSupervisor(t, func(t *testing.T, supervisor *process.Supervisor) {
		_, pid := startOwned(t, supervisor, "", "echo $$; exec sleep 300")
		checkNoOwner(t, supervisor, "the child", pid)
	})
}

func TestOtherProcessesAreNoDescendants(t *testing.T) {
	supervisor := process.NewSupervisor(process.SupervisorOptions{NoCgroups: true})
	defer supervisor.Close()
	for _, pid := range []int{1, os.Getpid(), os.Getppid()} {
		if owner, descends, err := supervisor.OwnerOf(pid); owner != "" || descends || err != nil {
			t.Errorf("process %d has the owner %q, %v, %v", pid, owner, descends, err)
		}
	}
	dead := exec.Command("true")
	musttest.Do(t, dead.Run())
	if _, _, err := supervisor.OwnerOf(dead.Process.Pid); !errors.Is(err, process.ErrNoOwner) {
		t.Errorf("a process that is gone: %v", err)
	}
	var none *process.Supervisor
	if _, _, err := none.OwnerOf(1); !errors.Is(err, process.ErrNoOwner) {
		t.Errorf("without a supervisor: %v", err)
	}
}

// TestTheOwnerOfAProcessIsKnownFromItsStart asks for the owner of processes whose start os/exec may
// not have finished.
func TestTheOwnerOfAProcessIsKnownFromItsStart(t *testing.T) {
	eachSupervisor(t, func(t *testing.T, supervisor *process.Supervisor) {
		dir := t.TempDir()
		for i := range 20 {
			fifo := fmt.Sprintf("%s/%d", dir, i)
			musttest.Do(t, exec.Command("mkfifo", fifo).Run())
			pids := make(chan int)
			go func() {
				var pid int
				if f, err := os.Open(fifo); err == nil {
					_, _ = fmt.Fscanln(f, &pid)
					_ = f.Close()
				}
				pids <- pid
			}()
			owner := fmt.Sprintf("owner %d", i)
			c := musttest.Get(process.Start(process.Options{Args: []string{"/bin/sh", "-c", "echo $$ >" + fifo + "; exec sleep 300"}, Supervisor: supervisor, Owner: owner}))(t)
			checkOwner(t, supervisor, "at once", <-pids, owner)
			c.Kill()
			c.Wait()
		}
	})
}
