package process_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nanobot/internal/musttest"
	"nanobot/terminal/process"
)

// startJob starts a shell script with MergeStderr, NoInput and WholeSession.
func startJob(t *testing.T, script string, o process.Options) *process.Child {
	t.Helper()
	o.Args = []string{"/bin/sh", "-c", script}
	o.NoInput, o.MergeStderr, o.WholeSession, o.Grace = true, true, true, 100*time.Millisecond
	c := musttest.Get(process.Start(o))(t)
	t.Cleanup(func() { c.Kill(); c.Wait() })
	return c
}

func TestMergedOutputHasBothInOrderAndNoInput(t *testing.T) {
	before := openFiles(t)
	for range 20 {
		c := startJob(t, "cat; echo 1; echo 2 >&2; echo 3; readlink /proc/self/fd/0", process.Options{})
		if got := readAll(t, c); got != "1\n2\n3\n/dev/null\n" {
			t.Fatalf("got %q", got)
		}
		if _, err := c.Write([]byte("x")); err == nil {
			t.Error("it takes input")
		}
		c.CloseInput()
		if e := c.Wait(); !e.OK() || e.Stderr.Len() != 0 {
			t.Fatalf("exit %+v", e)
		}
	}
	if after := openFiles(t); after > before {
		t.Fatalf("%d files open, %d before", after, before)
	}
}

func TestThePathIsRunUnderAnotherName(t *testing.T) {
	c := musttest.Get(process.Start(process.Options{Path: "/bin/sh", Args: []string{"my name", "-c", "echo $0"}, Env: []string{"PATH=/nowhere"}}))(t)
	if got := readAll(t, c); got != "my name\n" {
		t.Fatalf("got %q", got)
	}
	c.Wait()
}

func TestTheWholeSessionIsReached(t *testing.T) {
	const alone = "timeout 300 sh -c 'trap \"\" TERM; echo $$; exec sleep 300'"
	for name, tc := range map[string]struct {
		script string
		end    func(*process.Child)
	}{
		"at the end": {alone + " > pid & until [ -s pid ]; do sleep 0.01; done; cat pid", func(*process.Child) {}},
		"by Kill":    {alone + "; exit", (*process.Child).Kill},
		"by Stop":    {alone + "; exit", func(c *process.Child) { c.Stop(200 * time.Millisecond) }},
	} {
		c, pid := startJob(t, tc.script, process.Options{Dir: t.TempDir()}), 0
		if _, err := fmt.Fscanln(c.Stdout, &pid); err != nil {
			t.Fatal(name, err)
		}
		tc.end(c)
		readAll(t, c)
		c.Wait()
		if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil && !strings.Contains(string(stat), ") Z ") {
			t.Errorf("%s: process %d lives on", name, pid)
		}
	}
}

func TestOutputAfterStopIsRead(t *testing.T) {
	const says = "(trap 'for w in good bye now; do sleep 0.3; echo $w; done; exit' TERM; echo up; while :; do sleep 0.01; done) 2>/dev/null & wait"
	c := startJob(t, says, process.Options{MaxLinger: 50 * time.Millisecond})
	awaitWord(t, c, "up")
	c.Stop(time.Minute)
	if got := readAll(t, c); got != "good\nbye\nnow\n" {
		t.Fatalf("got %q", got)
	}
	c.Wait()
}

func TestAKillEndsTheWaitAfterStop(t *testing.T) {
	// The process that holds the output open has left the session, so only the timeout of Stop ends
	// the reading.
	c, pid := startJob(t, "setsid sh -c 'echo $$; exec sleep 300' & wait", process.Options{}), 0
	musttest.Get(fmt.Fscanln(c.Stdout, &pid))(t)
	over := time.AfterFunc(5*time.Minute, func() { _ = unix.Kill(pid, unix.SIGKILL) })
	c.Stop(time.Hour)
	awaitGone(t, c.Pid())
	read := make(chan string)
	go func() { read <- readAll(t, c) }()
	c.Kill()
	<-read
	if !over.Stop() {
		t.Error("the kill did not end the reading")
	}
	_ = unix.Kill(pid, unix.SIGKILL)
	c.Wait()
}

func TestTheTimeoutOfStopAlsoAppliesToProcessesWithoutOutput(t *testing.T) {
	file := filepath.Join(t.TempDir(), "said")
	c := startJob(t, "(trap 'sleep 0.5; echo bye > "+file+"; exit' TERM; echo up; exec >/dev/null 2>&1; while :; do sleep 0.01; done) & wait", process.Options{})
	awaitWord(t, c, "up")
	c.Stop(time.Minute)
	readAll(t, c)
	c.Wait()
	if b, err := os.ReadFile(file); string(b) != "bye\n" {
		t.Fatalf("%q, %v", b, err)
	}
}

func TestTheTailIsACopy(t *testing.T) {
	b := process.NewBounded(0, 4)
	fmt.Fprint(b, "abcdef")
	tail := b.Tail()
	fmt.Fprint(b, "gh")
	if string(tail) != "cdef" || string(b.Tail()) != "efgh" {
		t.Fatalf("%q, %q", tail, b.Tail())
	}
}
