package process_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"nanobot/internal/musttest"
	"nanobot/internal/procfs"
	"nanobot/terminal/process"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && runHelperCommand(os.Args[1:]) {
		return
	}
	goleak.VerifyTestMain(m)
}

// startScript starts a shell script as a child.
func startScript(t *testing.T, script string, input ...byte) *process.Child {
	t.Helper()
	return startWith(t, script, 300*time.Millisecond, input)
}

func startWith(t *testing.T, script string, grace time.Duration, input []byte) *process.Child {
	t.Helper()
	c := musttest.Get(process.Start(process.Options{
		Args: []string{"/bin/sh", "-c", script}, Input: input, StderrTail: 1 << 10, Grace: grace,
	}))(t)
	t.Cleanup(func() { c.Kill(); c.Wait() })
	return c
}

func readAll(t *testing.T, c *process.Child) string {
	t.Helper()
	b := musttest.Get(io.ReadAll(c.Stdout))(t)
	return string(b)
}

// readSlowly reads with pauses, during which the child can exit.
func readSlowly(r io.Reader, pause time.Duration) string {
	var b bytes.Buffer
	buf := make([]byte, 4096)
	for {
		n, err := r.Read(buf)
		b.Write(buf[:n])
		if err != nil {
			return b.String()
		}
		time.Sleep(pause) // the slow reader is what is tested
	}
}

func TestEveryLineArrivesHoweverSlowTheReader(t *testing.T) {
	var want strings.Builder
	for i := range 10000 {
		fmt.Fprintln(&want, i+1)
	}
	for range 20 {
		c := startScript(t, "seq 1 10000")
		if got := readAll(t, c); got != want.String() {
			t.Fatalf("got %d bytes, want %d", len(got), want.Len())
		}
		if e := c.Wait(); !e.OK() {
			t.Fatalf("exit %+v", e)
		}
	}
	c := startScript(t, "seq 1 10000")
	if got := readSlowly(c.Stdout, 20*time.Millisecond); got != want.String() {
		t.Fatalf("slow reader: got %d bytes, want %d", len(got), want.Len())
	}
	c.Wait()
}

func TestSlowReadersGetTheBacklogOfADescendant(t *testing.T) {
	// The child exits at once, and a grandchild holds its pipe open. The content of the pipe must
	// arrive completely, although each pause of the reader is longer than the grace period.
	c := startWith(t, "head -c 30000 /dev/zero | tr '\\0' x; sleep 300 & exit 0", 20*time.Millisecond, nil)
	if got := readSlowly(c.Stdout, 50*time.Millisecond); len(got) != 30000 {
		t.Fatalf("got %d bytes, want 30000", len(got))
	}
	if e := c.Wait(); !e.OK() {
		t.Fatalf("exit %+v", e)
	}
}

func TestOutputOfADescendantThatStillWritesIsRead(t *testing.T) {
	c := musttest.Get(process.Start(process.Options{
		Args:  []string{"/bin/sh", "-c", "(for i in 1 2 3 4 5; do sleep 0.1; echo $i; done) & exit 0"},
		Grace: 5 * time.Minute, MaxLinger: 5 * time.Minute,
	}))(t)
	if got := readAll(t, c); got != "1\n2\n3\n4\n5\n" {
		t.Fatalf("got %q", got)
	}
	c.Wait()
}

func TestAGrandchildDoesNotHangTheReaderAndDies(t *testing.T) {
	pidFile := filepath.Join(t.TempDir(), "pid")
	c := startScript(t, "sleep 300 & echo $! > "+pidFile+"; echo hello; exit 3")
	if got := readAll(t, c); got != "hello\n" {
		t.Fatalf("got %q", got)
	}
	if e := c.Wait(); e.Code != 3 || e.Forced {
		t.Fatalf("exit %+v", e)
	}
	b := musttest.Get(os.ReadFile(pidFile))(t)
	pid, _ := strconv.Atoi(strings.TrimSpace(string(b)))
	awaitGone(t, pid)
}

// awaitGone waits until a process that is not our child is gone or only waits to be reaped by its
// new parent.
func awaitGone(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(time.Millisecond) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %d lives on", pid)
		}
	}
}

func TestAFloodOfStderrBlocksNothingAndItsEndIsKept(t *testing.T) {
	c := startScript(t, "head -c 3000000 /dev/zero | tr '\\0' e >&2; echo the end >&2; echo out")
	if got := readAll(t, c); got != "out\n" {
		t.Fatalf("got %q", got)
	}
	e := c.Wait()
	if s := e.Stderr.String(); !strings.HasSuffix(s, "the end\n") || len(s) > 2<<10 || e.Stderr.Len() != 3000008 {
		t.Fatalf("stderr: %d bytes kept of %d", len(s), e.Stderr.Len())
	}
}

func TestInputIsWrittenWhileOutputIsRead(t *testing.T) {
	big := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	c := startScript(t, "cat", big...)
	if got := readAll(t, c); got != string(big) {
		t.Fatalf("got %d bytes, want %d", len(got), len(big))
	}
	c.Wait()
}

func TestAChildMayIgnoreItsInput(t *testing.T) {
	big := make([]byte, 1<<20)
	for _, script := range []string{"echo ok", "exec 0<&-; echo ok", "head -c 10 >/dev/null; echo ok"} {
		c := startScript(t, script, big...)
		if got := readAll(t, c); got != "ok\n" {
			t.Fatalf("%s: got %q", script, got)
		}
		if e := c.Wait(); !e.OK() {
			t.Fatalf("%s: exit %+v", script, e)
		}
	}
}

func TestKillEndsTheWholeGroupAndKeepsTheOutput(t *testing.T) {
	c := startScript(t, "sleep 300 & sleep 300 & echo $!; wait")
	pid := 0
	musttest.Get(fmt.Fscanln(c.Stdout, &pid))(t)
	c.Kill()
	if rest := readAll(t, c); rest != "" {
		t.Fatalf("got %q", rest)
	}
	if e := c.Wait(); e.Signal != "SIGKILL" || !e.Forced {
		t.Fatalf("exit %+v", e)
	}
	awaitGone(t, pid)
}

func TestStopSendsSIGTERMThenSIGKILL(t *testing.T) {
	c := startScript(t, `trap 'echo bye; exit 7' TERM; echo up; while :; do sleep 0.01; done`)
	up := make([]byte, 3)
	_, _ = io.ReadFull(c.Stdout, up)
	c.Stop(time.Minute)
	if got := readAll(t, c); got != "bye\n" {
		t.Fatalf("got %q", got)
	}
	if e := c.Wait(); e.Code != 7 || !e.Forced {
		t.Fatalf("exit %+v", e)
	}

	for _, timeout := range []time.Duration{0, 50 * time.Millisecond} {
		c = startScript(t, `trap '' TERM; echo up; while :; do sleep 0.01; done`)
		_, _ = io.ReadFull(c.Stdout, up)
		c.Stop(timeout)
		readAll(t, c)
		if e := c.Wait(); e.Signal != "SIGKILL" {
			t.Fatalf("exit %+v", e)
		}
	}
}

func TestAChildThatClosesItsOutputCanStillBeKilled(t *testing.T) {
	c := startScript(t, "exec 1>&- 2>&-; sleep 300")
	if got := readAll(t, c); got != "" {
		t.Fatalf("got %q", got)
	}
	c.Kill()
	if e := c.Wait(); e.Signal != "SIGKILL" {
		t.Fatalf("exit %+v", e)
	}
}

func TestASignalIsNamed(t *testing.T) {
	c := startScript(t, "kill -SEGV $$")
	readAll(t, c)
	if e := c.Wait(); e.Signal != "SIGSEGV" || e.Forced || e.OK() {
		t.Fatalf("exit %+v", e)
	}
}

func TestSignalsAfterTheEndDoNothing(t *testing.T) {
	c := startScript(t, "exit 0")
	readAll(t, c)
	c.Wait()
	c.Kill()
	c.Stop(0)
	if e := c.Wait(); !e.OK() {
		t.Fatalf("exit %+v", e)
	}
}

func TestAFailedStartIsAnErrorAndLeaksNothing(t *testing.T) {
	before := openFiles(t)
	for _, args := range [][]string{nil, {"/no/such/program"}, {"/etc/passwd"}, {"/"}} {
		if c, err := process.Start(process.Options{Args: args}); err == nil {
			c.Wait()
			t.Fatalf("%q started", args)
		}
	}
	if after := openFiles(t); after != before {
		t.Fatalf("%d files open, %d before", after, before)
	}
}

func TestManyChildrenLeaveNoFileAndNoZombie(t *testing.T) {
	before := openFiles(t)
	for i := range 200 {
		c := startScript(t, "echo out; echo err >&2; sleep 0 & exit $1", byte(i))
		readAll(t, c)
		c.Wait()
	}
	if after := openFiles(t); after > before {
		t.Fatalf("%d files open, %d before", after, before)
	}
	if z := zombies(t); z != 0 {
		t.Fatalf("%d zombies", z)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	n, err := procfs.OpenFiles()
	if err != nil {
		t.Skip("no /proc here")
	}
	return n
}

func zombies(t *testing.T) (n int) {
	t.Helper()
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, s := range stats {
		b, _ := os.ReadFile(s)
		if strings.Contains(string(b), fmt.Sprintf(") Z %d ", os.Getpid())) {
			n++
		}
	}
	return n
}
