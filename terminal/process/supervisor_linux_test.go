package process_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal/process"
)

// runHelperCommand makes the test binary another program, if the first argument names one.
func runHelperCommand(args []string) bool {
	switch args[0] {
	case "own-supervisor":
		runSupervisedProgram(args[1])
	case "say-supervisor":
		supervisor := process.NewSupervisor(process.SupervisorOptions{})
		fmt.Println(supervisor.Describe())
		supervisor.Close()
	case "usurp":
		takeLockOfKilledProgram()
	case "ask-controller":
		runControllerProgram(args[1])
	case "hang":
		runHungStart(args[1], args[2] == "subreaper")
	case "be-poor":
		switch args[1] {
		case "idle":
			runWithIdleCgroups()
		case "busy":
			runWithBusyFiles()
		default:
			runWithFewFiles(args[1] == "terminal")
		}
	case "on-terminal":
		runTerminalProgram(args[1])
	case "print-output":
		printOutput(args[1])
	case "be-first":
		runAsInit()
	default:
		return false
	}
	return true
}

// runSupervisedProgram makes the test binary a program that starts a supervised child and waits to
// be killed.
func runSupervisedProgram(script string) {
	supervisor := process.NewSupervisor(process.SupervisorOptions{})
	c, err := process.Start(process.Options{Args: []string{"/bin/sh", "-c", script}, Supervisor: supervisor})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(supervisor.Describe())
	_, _ = io.Copy(os.Stdout, c.Stdout)
}

// eachSupervisor runs a test with cgroups, if this machine has them, and with the subreaper alone.
func eachSupervisor(t *testing.T, f func(t *testing.T, supervisor *process.Supervisor)) {
	t.Helper()
	for name, noGroups := range map[string]bool{"groups": false, "subreaper": true} {
		t.Run(name, func(t *testing.T) {
			supervisor := process.NewSupervisor(process.SupervisorOptions{NoCgroups: noGroups})
			t.Cleanup(supervisor.Close)
			if !noGroups && !strings.Contains(supervisor.Describe(), "control group of its own") {
				t.Skip(supervisor.Describe())
			}
			f(t, supervisor)
			wanttest.Equal(t, "zombies:", zombies(t), 0)
		})
	}
}

// escapes are scripts that start a process outside of their session, some of them through other
// processes. A script prints the PID of that process and exits.
var escapes = map[string]string{
	"in the background": "sleep 300 & echo $!",
	"by setsid":         untilReady("setsid sh -c 'echo $$; echo >&3; exec sleep 300'"),
	"by a double fork":  "setsid sh -c 'sleep 300 & echo $!' & wait",
	"three sessions below": untilReady("setsid sh -c 'setsid sh -c \"setsid sh -c " +
		"\\\"echo \\\\\\$\\\\\\$; echo >&3; exec sleep 300\\\" & sleep 300\" & sleep 300'"),
	"without environment":                untilReady("env -i setsid sh -c 'echo $$; echo >&3; exec sleep 300'"),
	"without environment, below another": untilReady("setsid sh -c 'env -i setsid sh -c \"echo \\$\\$; echo >&3; exec sleep 300\"; exit'"),
	"ignoring signals":                   untilReady("setsid sh -c 'trap \"\" TERM HUP INT; echo $$; echo >&3; while :; do sleep 1; done'"),
}

// untilReady returns a script that starts a command in the background and exits when the command
// has written a line to descriptor 3.
func untilReady(command string) string {
	return "exec 4>&1; { " + command + " 3>&1 1>&4 & } | read ready"
}

func startSupervised(t *testing.T, supervisor *process.Supervisor, script string) *process.Child {
	t.Helper()
	c := musttest.Get(process.Start(process.Options{
		Args: []string{"/bin/sh", "-c", script}, Supervisor: supervisor, Grace: 50 * time.Millisecond, StderrTail: 1 << 10,
	}))(t)
	t.Cleanup(func() { c.Kill(); c.Wait() })
	return c
}

// readPid reads the PID that a script prints.
func readPid(t *testing.T, c *process.Child) (pid int) {
	t.Helper()
	if _, err := fmt.Fscanln(c.Stdout, &pid); err != nil || !isRunning(pid) {
		t.Fatalf("no process %d: %v", pid, err)
	}
	return pid
}

func isRunning(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return pid > 1 && err == nil && !strings.Contains(string(stat), ") Z ")
}

func TestAProcessThatLeavesTheGroupDiesWithTheChild(t *testing.T) {
	eachSupervisor(t, func(t *testing.T, supervisor *process.Supervisor) {
		for name, script := range escapes {
			c := startSupervised(t, supervisor, script)
			pid := readPid(t, c)
			readAll(t, c)
			if e := c.Wait(); !e.OK() {
				t.Errorf("%s: exit %+v", name, e)
			}
			if isRunning(pid) {
				t.Errorf("%s: process %d lives on", name, pid)
			}
		}
	})
}

func TestWithoutASupervisorProcessesOutsideTheGroupSurvive(t *testing.T) {
	c := startSupervised(t, nil, escapes["by setsid"])
	pid := readPid(t, c)
	readAll(t, c)
	c.Wait()
	if !isRunning(pid) {
		t.Error("it is dead: the other tests prove nothing")
	}
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill()
	}
}

func TestKillReachesProcessesOutsideTheGroup(t *testing.T) {
	eachSupervisor(t, func(t *testing.T, supervisor *process.Supervisor) {
		c := startSupervised(t, supervisor, "setsid sh -c 'echo $$; exec sleep 300' & sleep 300")
		pid := readPid(t, c)
		c.Kill()
		readAll(t, c)
		if e := c.Wait(); e.Signal != "SIGKILL" || !e.Forced {
			t.Errorf("exit %+v", e)
		}
		if isRunning(pid) {
			t.Error("it lives on")
		}
	})
}

func TestTheEndOfAChildDoesNotEndProcessesOfAnother(t *testing.T) {
	eachSupervisor(t, func(t *testing.T, supervisor *process.Supervisor) {
		for _, start := range []string{"setsid", "env -i setsid"} {
			c := startSupervised(t, supervisor, start+" sh -c 'sh -c \"echo \\$\\$; exec sleep 300\" & exit' & wait; sleep 300")
			pid := readPid(t, c)
			for range 5 {
				other := startSupervised(t, supervisor, escapes["by a double fork"])
				readAll(t, other)
				other.Wait()
			}
			if !isRunning(pid) {
				t.Errorf("%s: it died with another child", start)
			}
			c.Kill()
			readAll(t, c)
			c.Wait()
			if isRunning(pid) {
				t.Errorf("%s: it lives on", start)
			}
		}
	})
}

func TestADescendantIsFoundByItsParentsAmongOlderChildren(t *testing.T) {
	eachSupervisor(t, func(t *testing.T, supervisor *process.Supervisor) {
		elder := startSupervised(t, supervisor, "echo up; exec sleep 300")
		awaitWord(t, elder, "up")
		c := startSupervised(t, supervisor, escapes["without environment, below another"])
		pid := readPid(t, c)
		readAll(t, c)
		c.Wait()
		if isRunning(pid) {
			t.Error("it lives on")
		}
		if !isRunning(elder.Pid()) {
			t.Error("another child was killed")
		}
		elder.Kill()
		elder.Wait()
	})
}

func TestConcurrentChildrenEachEndWithTheirDescendants(t *testing.T) {
	eachSupervisor(t, func(t *testing.T, supervisor *process.Supervisor) {
		before := openFiles(t)
		var all sync.WaitGroup
		for range 16 {
			all.Go(func() {
				for range 4 {
					c, err := process.Start(process.Options{
						// The PID is printed before the exit of the child, at which the
						// process is killed.
						Args: []string{"/bin/sh", "-c", "setsid sh -c 'sleep 300 & echo $!' & wait; exit 7"}, Supervisor: supervisor,
						Grace: 50 * time.Millisecond,
					})
					if err != nil {
						t.Error(err)
						return
					}
					out, _ := io.ReadAll(c.Stdout)
					if e := c.Wait(); e.Code != 7 {
						t.Errorf("exit %+v: it was reaped by somebody else", e)
					}
					if pid, err := strconv.Atoi(strings.TrimSpace(string(out))); err != nil || isRunning(pid) {
						t.Errorf("process %q lives on", out)
					}
				}
			})
		}
		all.Wait()
		const keptOpen = 3 * 16 // descriptors of idle cgroups
		if after := openFiles(t); after > before+keptOpen {
			t.Errorf("%d files open, %d before", after, before)
		}
	})
}

func TestTheSupervisorDoesNotReapOtherChildren(t *testing.T) {
	eachSupervisor(t, func(t *testing.T, supervisor *process.Supervisor) {
		var others []*exec.Cmd
		for range 50 { // some are started by the first thread, to which processes are reparented
			others = append(others, exec.Command("/bin/sh", "-c", "exit 6"))
		}
		var all sync.WaitGroup
		for _, cmd := range others {
			all.Go(func() {
				if err := cmd.Start(); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		for _, cmd := range others {
			awaitGone(t, cmd.Process.Pid)
		}
		c := startSupervised(t, supervisor, escapes["by setsid"])
		readAll(t, c)
		c.Wait()
		for _, cmd := range others {
			if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 6 {
				t.Errorf("exit %v: it was reaped by somebody else", err)
			}
		}
	})
}

func TestCgroupsAreReusedAndRemovedAtTheEnd(t *testing.T) {
	supervisor := process.NewSupervisor(process.SupervisorOptions{})
	_, base, ok := strings.Cut(supervisor.Describe(), " under ")
	if !ok {
		t.Skip(supervisor.Describe())
	}
	for range 10 {
		c := startSupervised(t, supervisor, "exit 0")
		readAll(t, c)
		c.Wait()
	}
	if made, _ := filepath.Glob(filepath.Join(base, "[0-9]*")); len(made) != 1 {
		t.Errorf("%d groups were made for one child at a time", len(made))
	}
	supervisor.Close()
	if _, err := os.Stat(base); err == nil {
		t.Errorf("%s is still there", base)
	}
}

// startSupervisorProgram starts a program with a supervisor, and a process of it that has left its
// process group.
func startSupervisorProgram(t *testing.T, script string) (owner *killtest.Child, about string, pid int) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "own-supervisor", script)
	out := musttest.Get(cmd.StdoutPipe())(t)
	owner = killtest.Start(t, cmd)
	lines := bufio.NewScanner(out)
	lines.Scan()
	about = lines.Text()
	lines.Scan()
	pid, _ = strconv.Atoi(lines.Text())
	if !isRunning(pid) {
		t.Fatalf("no process: %q", about)
	}
	t.Cleanup(func() {
		if p, err := os.FindProcess(pid); err == nil && isRunning(pid) {
			_ = p.Kill()
		}
	})
	return owner, about, pid
}

func TestProcessesInStaleCgroupsDieAtTheNextStart(t *testing.T) {
	killed, about, pid := startSupervisorProgram(t, "setsid sh -c 'echo $$; exec sleep 300'")
	_, base, ok := strings.Cut(about, " under ")
	if !ok {
		t.Skip(about)
	}
	_, _, spared := startSupervisorProgram(t, "setsid sh -c 'echo $$; exec sleep 300'")
	killed.Kill()
	if !isRunning(pid) {
		t.Fatal("it died with the program: that proves nothing")
	}
	process.NewSupervisor(process.SupervisorOptions{}).Close()
	if isRunning(pid) {
		t.Error("it lives on")
	}
	if _, err := os.Stat(base); err == nil {
		t.Errorf("%s is still there", base)
	}
	if !isRunning(spared) {
		t.Error("a living program's process was killed")
	}
}

func TestTheUsageOfAChildIsKnown(t *testing.T) {
	eachSupervisor(t, func(t *testing.T, supervisor *process.Supervisor) {
		const burn = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; "
		var ours unix.Rusage // a peak below our own cannot be distinguished from it
		musttest.Do(t, unix.Getrusage(unix.RUSAGE_SELF, &ours))
		size := ours.Maxrss<<10 + 50<<20
		c := startSupervised(t, supervisor, burn+fmt.Sprintf("head -c %d /dev/zero | tail -c %[1]d | wc -c", size))
		readAll(t, c)
		if u := c.Wait().Usage; u.CPU < 20*time.Millisecond || u.CPU > time.Minute || u.Memory < size || u.Memory > 2*size+100<<20 {
			t.Errorf("used %+v", u)
		}
		c = startSupervised(t, supervisor, "exit 0")
		readAll(t, c)
		if u := c.Wait().Usage; u.CPU > 100*time.Millisecond || u.Memory > 100<<20 || u != c.Usage() {
			t.Errorf("used %+v, then %+v", u, c.Usage())
		}
	})
}

func TestTheUsageOfARunningChildIsKnown(t *testing.T) {
	eachSupervisor(t, func(t *testing.T, supervisor *process.Supervisor) {
		c := startSupervised(t, supervisor, "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; echo up; exec sleep 300")
		awaitWord(t, c, "up")
		u := c.Usage()
		// No cgroup counts memory here, and that of a shell says nothing about its commands.
		if u.CPU < 10*time.Millisecond || u.Memory != 0 {
			t.Errorf("used %+v", u)
		}
	})
}
