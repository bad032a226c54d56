package process_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"nanobot/internal/musttest"
	"nanobot/terminal/process"
)

// runWithFewFiles makes the test binary a program that starts children with few free file
// descriptors: none at first, then one more each time, until there are enough. It prints failures.
func runWithFewFiles(terminal bool) {
	supervisor := process.NewSupervisor(process.SupervisorOptions{})
	grouped := strings.Contains(supervisor.Describe(), "control group of its own")
	script := process.Options{Args: []string{"/bin/sh", "-c", "read -r line; echo $line; cat /proc/self/cgroup"}, Input: []byte("hello\n"), Supervisor: supervisor}
	if terminal {
		script.Terminal = &process.Size{Rows: 24, Columns: 80}
	}
	if c, err := process.Start(script); err != nil { // opens the descriptors that stay open for all children
		fmt.Println(err)
		return
	} else {
		_, _ = io.Copy(io.Discard, c.Stdout)
		c.Wait()
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 200, Max: 200}); err != nil {
		fmt.Println(err)
		return
	}
	var taken []int
	for {
		fd, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			break
		}
		taken = append(taken, fd)
	}
	short, most := 0, len(taken)
	for left := 0; ; left++ {
		before := countOpenFiles()
		c, err := process.Start(script)
		if err == nil {
			b, _ := io.ReadAll(c.Stdout)
			end := c.Wait()
			if out := string(b); !end.OK() || !strings.HasPrefix(strings.ReplaceAll(out, "\r", ""), "hello\n") || grouped && !strings.Contains(out, "nanobot-") {
				fmt.Printf("with %d left: %+v, said %q\n", left, end, out)
			}
			fmt.Println("ok after", short)
			supervisor.Close()
			return
		}
		if errno, ok := process.Shortage(err); !ok || errno != syscall.EMFILE {
			fmt.Printf("with %d left: %v\n", left, err)
		}
		if after := countOpenFiles(); after > before { // fewer, once the idle cgroup is closed
			fmt.Printf("with %d left: %d files became %d\n", left, before, after)
		}
		short++
		if left >= most {
			fmt.Println("no child could be started at all")
			return
		}
		_ = unix.Close(taken[left])
	}
}

// runWithIdleCgroups makes the test binary a program that has idle cgroups and no free file
// descriptor when it starts a child. It prints what happens.
func runWithIdleCgroups() {
	supervisor := process.NewSupervisor(process.SupervisorOptions{})
	defer supervisor.Close()
	script := process.Options{Args: []string{"/bin/sh", "-c", "read -r line; echo $line"}, KeepInput: true, Supervisor: supervisor}
	var all []*process.Child
	for range 8 {
		c, err := process.Start(script)
		if err != nil {
			fmt.Println(err)
			return
		}
		all = append(all, c)
	}
	for _, c := range all {
		c.CloseInput()
		_, _ = io.Copy(io.Discard, c.Stdout)
		c.Wait()
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 200, Max: 200}); err != nil {
		fmt.Println(err)
		return
	}
	for {
		if _, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
			break
		}
	}
	script.KeepInput, script.Input = false, []byte("hello\n")
	c, err := process.Start(script)
	if err != nil {
		fmt.Println(supervisor.Describe(), err)
		return
	}
	b, _ := io.ReadAll(c.Stdout)
	c.Wait()
	fmt.Print(string(b))
}

func TestWithoutFileDescriptorsIdleCgroupsAreClosed(t *testing.T) {
	if out, err := exec.Command(os.Args[0], "say-supervisor").Output(); err != nil || !strings.Contains(string(out), "control group of its own") {
		t.Skip("no cgroups can be created here")
	}
	if out, err := exec.Command(os.Args[0], "be-poor", "idle").CombinedOutput(); err != nil || string(out) != "hello\n" {
		t.Errorf("%v: %s", err, out)
	}
}

// countOpenFiles counts open file descriptors without opening one itself.
func countOpenFiles() (n int) {
	for fd := range 200 {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil {
			n++
		}
	}
	return n
}

// runWithBusyFiles makes the test binary a program that starts children while its last free file
// descriptors come and go. It prints a failure that is no shortage, or else "ok".
func runWithBusyFiles() {
	start := func() error {
		c, err := process.Start(process.Options{Args: []string{"/bin/true"}, NoInput: true})
		if err == nil {
			_, _ = io.Copy(io.Discard, c.Stdout)
			c.Wait()
		}
		return err
	}
	if err := start(); err != nil { // opens the descriptors that stay open for all children
		fmt.Println(err)
		return
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 200, Max: 200}); err != nil {
		fmt.Println(err)
		return
	}
	var taken []int
	for {
		fd, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			break
		}
		taken = append(taken, fd)
	}
	for _, fd := range append(taken[:2], taken[len(taken)-5:]...) { // those of the child get the highest numbers
		_ = unix.Close(fd)
	}
	go func() {
		for fd := make([]int, 2); ; {
			if unix.Pipe2(fd, unix.O_CLOEXEC) == nil {
				_, _ = unix.Close(fd[0]), unix.Close(fd[1])
			}
		}
	}()
	for range 300 {
		err := start()
		if _, short := process.Shortage(err); err != nil && !short {
			fmt.Println(err)
			return
		}
	}
	fmt.Println("ok")
}

func TestAStartWhileFileDescriptorsComeAndGoIsAtMostAShortage(t *testing.T) {
	if out, err := exec.Command(musttest.Get(os.Executable())(t), "be-poor", "busy").CombinedOutput(); err != nil || string(out) != "ok\n" {
		t.Errorf("%v: %s", err, out)
	}
}

// With any number of free file descriptors, a child either starts completely, in its own cgroup, or
// its start fails with a shortage and leaves nothing open.
func TestAStartWithoutFileDescriptorsIsAShortageAndLeavesNothingOpen(t *testing.T) {
	self := musttest.Get(os.Executable())(t)
	for what, least := range map[string]int{"pipes": 6, "terminal": 4} {
		out, err := exec.Command(self, "be-poor", what).CombinedOutput()
		var short int
		if _, serr := fmt.Sscanf(string(out), "ok after %d", &short); err != nil || serr != nil || short < least {
			t.Errorf("%s: %v: %s", what, err, out)
		}
	}
}

func TestOnlyTemporaryErrorsAreShortages(t *testing.T) {
	for errno, want := range map[syscall.Errno]bool{
		syscall.EMFILE: true, syscall.ENFILE: true, syscall.EAGAIN: true, syscall.ENOMEM: true, syscall.ETXTBSY: true,
		syscall.ENOENT: false, syscall.EACCES: false, syscall.E2BIG: false, syscall.ENOEXEC: false, syscall.EPERM: false,
	} {
		err := fmt.Errorf("start process: %w", &os.PathError{Op: "fork/exec", Path: "/bin/sh", Err: errno})
		if got, ok := process.Shortage(err); ok != want || ok && got != errno {
			t.Errorf("%v: %v, %t", errno, got, ok)
		}
	}
	if _, ok := process.Shortage(nil); ok {
		t.Error("nothing is a shortage")
	}
}
