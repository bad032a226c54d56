package process_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nanobot/internal/musttest"
	"nanobot/terminal/process"
)

// Reparented processes are children of the first thread. Only a child that this thread has started
// could be mistaken for one, so runHungStart runs on it.
func init() {
	if len(os.Args) > 1 && os.Args[1] == "hang" {
		runtime.LockOSThread()
	}
}

// runHungStart makes the test binary a program that starts a child in a folder whose file system
// hangs, and other children meanwhile.
func runHungStart(dir string, noGroups bool) {
	supervisor := process.NewSupervisor(process.SupervisorOptions{NoCgroups: noGroups})
	older, err := process.Start(process.Options{Args: []string{"sleep", "300"}, Supervisor: supervisor})
	if err != nil {
		fmt.Println(err)
		return
	}
	done := make(chan bool)
	go func() {
		defer close(done)
		fmt.Println("being started:", awaitStartingChild(older.Pid()))
		older.Kill()
		fmt.Println("an older one:", older.Wait().Signal)
		c, err := process.Start(process.Options{Args: []string{"/bin/sh", "-c", escapes["by setsid"]}, Supervisor: supervisor, Grace: 50 * time.Millisecond})
		if err != nil {
			fmt.Println(err)
			return
		}
		pid := 0
		_, _ = fmt.Fscanln(c.Stdout, &pid)
		_, _ = io.Copy(io.Discard, c.Stdout)
		fmt.Println("a younger one:", c.Wait().OK(), isRunning(pid))
		fmt.Println("over")
	}()
	_, err = process.Start(process.Options{Args: []string{filepath.Join(dir, "agent")}, Supervisor: supervisor})
	<-done
	fmt.Println("it failed:", err != nil)
	supervisor.Close()
}

// awaitStartingChild waits for another child of the first thread with its own session.
func awaitStartingChild(known int) bool {
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", os.Getpid()))
		for _, word := range strings.Fields(string(b)) {
			pid := 0
			_, _ = fmt.Sscan(word, &pid)
			if sid, err := unix.Getsid(pid); err == nil && sid == pid && pid != known {
				return true
			}
		}
		time.Sleep(time.Millisecond)
	}
	return false
}

// hungFolder returns a folder of a file system that hangs, and a function that makes it fail
// instead.
func hungFolder(t *testing.T) (dir string, fail func()) {
	t.Helper()
	server, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	dir = t.TempDir()
	if err := unix.Mount("hung", dir, "fuse", 0, fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", server.Fd())); err != nil {
		server.Close()
		t.Skip(err)
	}
	fail = func() {
		_ = unix.Unmount(dir, unix.MNT_FORCE)
		_ = unix.Unmount(dir, unix.MNT_DETACH)
		server.Close()
	}
	t.Cleanup(fail)
	return dir, fail
}

func TestAHungStartBlocksNoOtherStart(t *testing.T) {
	for _, how := range []string{"groups", "subreaper"} {
		dir, fail := hungFolder(t)
		cmd := exec.Command(os.Args[0], "hang", dir, how)
		out := musttest.Get(cmd.StdoutPipe())(t)
		musttest.Do(t, cmd.Start())
		late := time.AfterFunc(5*time.Minute, fail)
		said := ""
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if said += lines.Text() + "\n"; lines.Text() == "over" {
				if !late.Stop() {
					t.Error("the others waited for it")
				}
				fail()
			}
		}
		if err := cmd.Wait(); err != nil || said != "being started: true\nan older one: SIGKILL\na younger one: true false\nover\nit failed: true\n" {
			t.Errorf("%s: %v\n%s", how, err, said)
		}
	}
}
