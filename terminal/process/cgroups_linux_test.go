package process_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nanobot/internal/musttest"
	"nanobot/internal/procfs"
	"nanobot/terminal/process"
)

// runControllerProgram makes the test binary a program that enables a controller for its children.
func runControllerProgram(controller string) {
	supervisor := process.NewSupervisor(process.SupervisorOptions{})
	defer supervisor.Close()
	own, _ := os.ReadFile("/proc/self/cgroup")
	before := strings.TrimSpace(string(own))
	on := supervisor.EnableController(controller)
	own, _ = os.ReadFile("/proc/self/cgroup")
	c, err := process.Start(process.Options{Args: []string{"/bin/sh", "-c", "echo $((1+1))"}, Supervisor: supervisor})
	if err != nil {
		fmt.Println(err)
		return
	}
	out, _ := io.ReadAll(c.Stdout)
	fmt.Println(on, strings.TrimSpace(string(own)) != before, strings.TrimSpace(string(out)), c.Wait().OK())
}

// A cgroup with processes cannot delegate controllers, so a program that has a cgroup for itself
// moves to a nested one.
func TestControllersAreEnabledInOurOwnCgroup(t *testing.T) {
	_, top, err := procfs.OwnCgroup()
	if err != nil {
		t.Skip(err)
	}
	b, _ := os.ReadFile(filepath.Join(top, "cgroup.controllers"))
	if len(strings.Fields(string(b))) == 0 {
		t.Skip("there are no controllers here")
	}
	controller := strings.Fields(string(b))[0]
	control := filepath.Join(top, "cgroup.subtree_control")
	if b, _ = os.ReadFile(control); !strings.Contains(string(b), controller) {
		if err := os.WriteFile(control, []byte("+"+controller), 0); err != nil {
			t.Skip(err)
		}
		t.Cleanup(func() { _ = os.WriteFile(control, []byte("-"+controller), 0) })
	}
	for alone, want := range map[bool]string{true: "true true 2 true\n", false: "false false 2 true\n"} {
		dir, err := os.MkdirTemp(top, "delegated-")
		if err != nil {
			t.Skip(err)
		}
		group := musttest.Get(os.Open(dir))(t)
		in := func(args ...string) *exec.Cmd {
			cmd := exec.Command(args[0], args[1:]...)
			cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(group.Fd())}
			return cmd
		}
		if !alone {
			other := in("sleep", "300")
			if err := other.Start(); err != nil {
				t.Skip(err)
			}
			defer func() { _ = other.Process.Kill(); _ = other.Wait(); _ = unix.Rmdir(dir) }()
		}
		out, err := in(os.Args[0], "ask-controller", controller).Output()
		if string(out) != want || err != nil {
			t.Errorf("alone %v: %q, %v", alone, out, err)
		}
		group.Close()
		_ = unix.Rmdir(filepath.Join(dir, "self.nanobot"))
		if err := unix.Rmdir(dir); err != nil && alone {
			t.Errorf("something is left: %v", err)
		}
	}
}

// runAsInit makes the test binary the first process of a container, to which the kernel reparents
// every process whose parent has died.
func runAsInit() {
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		fmt.Println(err)
		return
	}
	supervisor := process.NewSupervisor(process.SupervisorOptions{})
	c, err := process.Start(process.Options{Args: []string{"/bin/sh", "-c", escapes["by a double fork"]}, Supervisor: supervisor, Grace: 50 * time.Millisecond})
	if err != nil {
		fmt.Println(err)
		return
	}
	out, _ := io.ReadAll(c.Stdout)
	e := c.Wait()
	left, _ := os.ReadFile("/proc/self/task/1/children")
	fmt.Printf("pid %d, printed %v, ok %v, children %q", os.Getpid(), len(out) > 0, e.OK(), left)
	supervisor.Close()
}

func TestTheFirstProcessOfAContainerReapsReparentedProcesses(t *testing.T) {
	cmd := exec.Command("/proc/self/exe", "be-first")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS, Unshareflags: syscall.CLONE_NEWNS}
	out, err := cmd.Output()
	if err != nil {
		t.Skip(err, string(out))
	}
	if string(out) != `pid 1, printed true, ok true, children ""` {
		t.Errorf("%s", out)
	}
}

// leaveCgroupScript returns a script that leaves its cgroup and then executes another script. It
// skips the test if leaving is not permitted.
func leaveCgroupScript(t *testing.T, base, then string) string {
	t.Helper()
	procs := filepath.Join(filepath.Dir(base), "cgroup.procs")
	if err := unix.Access(procs, unix.W_OK); err != nil {
		t.Skipf("nobody can leave: %v", err)
	}
	return "echo $$ > " + procs + " || exit; ! grep -q " + filepath.Base(base) + " /proc/self/cgroup || exit; " + then
}

// A process of our own user may move to our cgroup, in which no process is killed.
func TestAProcessThatLeavesItsCgroupDiesWithTheChild(t *testing.T) {
	supervisor, base := newCgroupSupervisor(t)
	elder := startSupervised(t, supervisor, "echo up; exec sleep 300")
	awaitWord(t, elder, "up")
	const stay = `sh -c "echo \$\$; echo >&3; exec sleep 300" & exit`
	for name, script := range map[string]string{
		"alone":            "exec " + strings.TrimSuffix(stay, " & exit"),
		"without a parent": stay,
		"without a name":   "env -i " + stay,
		"by another name":  fmt.Sprintf("NANOBOT_CHILD=%d.1 ", os.Getpid()) + stay,
	} {
		c := startSupervised(t, supervisor, untilReady("setsid sh -c '"+leaveCgroupScript(t, base, script)+"'"))
		pid := readPid(t, c)
		readAll(t, c)
		c.Wait()
		if isRunning(pid) {
			t.Errorf("%s: it lives on", name)
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
	if !isRunning(elder.Pid()) {
		t.Error("another child was killed")
	}
}

// Programs that create cgroups themselves also leave theirs. The end of another child must not kill
// them.
func TestAProcessThatLeavesItsCgroupLivesAsLongAsTheChild(t *testing.T) {
	supervisor, base := newCgroupSupervisor(t)
	c := startSupervised(t, supervisor, "setsid sh -c '"+leaveCgroupScript(t, base, `sh -c "echo \$\$; exec sleep 300" & exit`)+"' & wait; exec sleep 300")
	pid := readPid(t, c)
	for range 3 {
		other := startSupervised(t, supervisor, escapes["by a double fork"])
		readAll(t, other)
		other.Wait()
	}
	if !isRunning(pid) {
		t.Error("it died with another child")
	}
	c.Kill()
	c.Wait()
	if isRunning(pid) {
		t.Error("it lives on")
	}
}

// takeLockOfKilledProgram makes the test binary an agent that takes the lock of its program's
// cgroup when that program dies.
func takeLockOfKilledProgram() {
	_, group, err := procfs.OwnCgroup()
	if err != nil {
		return
	}
	base, err := os.Open(filepath.Dir(group))
	if err != nil {
		return
	}
	fmt.Println(os.Getpid())
	_ = unix.Flock(int(base.Fd()), unix.LOCK_EX)
	time.Sleep(time.Hour)
	base.Close()
}

func TestAProcessThatTakesTheLockOfAStaleCgroupDiesAtTheNextStart(t *testing.T) {
	killed, about, pid := startSupervisorProgram(t, "setsid env -i "+os.Args[0]+" usurp")
	killed.Kill()
	_, base, ok := strings.Cut(about, " under ")
	if !ok {
		t.Skip(about)
	}
	locked := func() bool {
		b, _ := os.ReadFile("/proc/locks")
		return strings.Contains(string(b), fmt.Sprintf(": FLOCK  ADVISORY  WRITE %d ", pid))
	}
	for end := time.Now().Add(5 * time.Minute); !locked(); {
		if time.Now().After(end) {
			t.Fatal("it does not get the lock")
		}
		time.Sleep(time.Millisecond)
	}
	process.NewSupervisor(process.SupervisorOptions{}).Close()
	if isRunning(pid) {
		t.Error("it lives on")
	}
	if _, err := os.Stat(base); err == nil {
		t.Errorf("%s is still there", base)
	}
}

// Somebody may have created a cgroup with our name and set limits for us and our children in it.
func TestAProcessStaysInACgroupNamedNanobot(t *testing.T) {
	_, top, err := procfs.OwnCgroup()
	if err != nil {
		t.Skip(err)
	}
	above, err := os.MkdirTemp(top, "named-")
	if err != nil {
		t.Skip(err)
	}
	defer func() { _ = unix.Rmdir(above) }()
	dir := filepath.Join(above, "nanobot")
	musttest.Do(t, os.Mkdir(dir, 0o755))
	defer func() { _ = unix.Rmdir(dir) }()
	group := musttest.Get(os.Open(dir))(t)
	defer group.Close()
	cmd := exec.Command(os.Args[0], "say-supervisor")
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(group.Fd())}
	if out, err := cmd.Output(); err != nil || !strings.Contains(string(out), " under "+dir+"/") {
		t.Errorf("started in %s: %s, %v", dir, out, err)
	}
}
