package process_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal/process"
)

// runTerminalProgram makes the test binary one of several programs for a terminal.
func runTerminalProgram(what string) {
	switch what {
	case "describe":
		describeTerminal()
	case "flood":
		_, _ = os.Stdout.Write(floodText())
	case "watch-size":
		watchSize()
	case "read-raw":
		rawTerminal()
		fmt.Print("up\n")
		sum := sha256.New()
		_, err := io.CopyN(sum, os.Stdin, int64(len(typedText())))
		fmt.Printf("%x %v\n", sum.Sum(nil), err)
	case "never-read":
		rawTerminal()
		fmt.Print("up\n")
		time.Sleep(time.Hour)
	}
}

// describeTerminal prints the properties of the terminal that programs can query.
func describeTerminal() {
	for fd := range 3 {
		_, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		flags, ferr := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		fmt.Println(fd, "terminal:", err == nil, "nonblocking:", flags&unix.O_NONBLOCK != 0, ferr)
	}
	size, _ := unix.IoctlGetWinsize(0, unix.TIOCGWINSZ)
	fmt.Println("size:", size.Row, size.Col)
	session, _ := unix.Getsid(0)
	foreground, _ := unix.IoctlGetInt(0, unix.TIOCGPGRP)
	fmt.Println("session leader:", session == os.Getpid(), "foreground:", foreground == os.Getpid())
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer tty.Close()
	fmt.Fprintln(tty, "on /dev/tty")
	fmt.Fprintln(os.Stderr, "on stderr")
}

// watchSize prints the size of the terminal at the start and at each change, until it is 0.
func watchSize() {
	changes := make(chan os.Signal, 1)
	signal.Notify(changes, unix.SIGWINCH)
	for {
		size, err := unix.IoctlGetWinsize(0, unix.TIOCGWINSZ)
		if err != nil || size.Row == 0 {
			return
		}
		fmt.Println(size.Row, size.Col)
		<-changes
	}
}

// rawTerminal makes the terminal pass every byte unchanged.
func rawTerminal() {
	t, err := unix.IoctlGetTermios(0, unix.TCGETS)
	if err != nil {
		fmt.Println(err)
		return
	}
	t.Iflag &^= unix.ICRNL | unix.IXON
	t.Lflag &^= unix.ICANON | unix.ECHO | unix.ISIG | unix.IEXTEN
	if err := unix.IoctlSetTermios(0, unix.TCSETS, t); err != nil {
		fmt.Println(err)
	}
}

// floodText is more than a pseudo-terminal holds.
func floodText() []byte { return bytes.Repeat([]byte("0123456789abcdef"), 64<<10/16) }

// typedText returns a text with every byte value.
func typedText() []byte {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	return bytes.Repeat(all, 1<<20/256)
}

// startTerminal runs a program on a terminal.
func startTerminal(t *testing.T, o process.Options, args ...string) *process.Child {
	t.Helper()
	if o.Terminal == nil {
		o.Terminal = &process.Size{Rows: 40, Columns: 160}
	}
	if o.Env == nil { // the race detector's delay at the exit would hide lost output
		o.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	}
	if o.Grace == 0 {
		o.Grace = 100 * time.Millisecond
	}
	o.Args = args
	c := musttest.Get(process.Start(o))(t)
	t.Cleanup(func() { c.Kill(); c.Wait() })
	return c
}

func startTerminalProgram(t *testing.T, what string) *process.Child {
	t.Helper()
	return startTerminal(t, process.Options{}, os.Args[0], "on-terminal", what)
}

func startShell(t *testing.T, script string) *process.Child {
	t.Helper()
	return startTerminal(t, process.Options{}, "/bin/sh", "-c", script)
}

// typeKeys writes to the terminal.
func typeKeys(t *testing.T, c *process.Child, keys string) {
	t.Helper()
	if n, err := c.Write([]byte(keys)); n != len(keys) || err != nil {
		t.Fatalf("typed %d of %d bytes: %v", n, len(keys), err)
	}
}

// readAsPlain reads the rest of the output and restores the line ends that the program has written.
func readAsPlain(t *testing.T, c *process.Child) string {
	t.Helper()
	return strings.ReplaceAll(readAll(t, c), "\r\n", "\n")
}

// awaitLine reads the output up to a line that ends with these words: an interactive shell prints
// its prompt in the same line.
func awaitLine(t *testing.T, lines *bufio.Reader, want string) {
	t.Helper()
	for {
		line, err := lines.ReadString('\n')
		if strings.HasSuffix(line, want+"\r\n") {
			return
		}
		if err != nil {
			t.Fatalf("got %q, %v; want %q", line, err, want)
		}
	}
}

func TestATerminalHasTheModesThatProgramsExpect(t *testing.T) {
	c := startTerminalProgram(t, "describe")
	want := "0 terminal: true nonblocking: false <nil>\n1 terminal: true nonblocking: false <nil>\n2 terminal: true nonblocking: false <nil>\n" +
		"size: 40 160\nsession leader: true foreground: true\non /dev/tty\non stderr\n"
	wanttest.Equal(t, "got", readAsPlain(t, c), want)
	if e := c.Wait(); !e.OK() || e.Stderr.Len() != 0 {
		t.Errorf("exit %+v, stderr %q", e, e.Stderr)
	}
}

// The kernel reports the end of the output only when all of it was read.
func TestOutputFromJustBeforeTheExitIsRead(t *testing.T) {
	want := string(floodText())
	for i := range 50 {
		c := startTerminalProgram(t, "flood")
		var got string
		if i%5 == 4 {
			got = readSlowly(c.Stdout, 5*time.Millisecond)
		} else {
			got = readAll(t, c)
		}
		if got != want {
			t.Fatalf("round %d: got %d bytes, want %d", i, len(got), len(want))
		}
		if e := c.Wait(); !e.OK() {
			t.Fatalf("exit %+v", e)
		}
	}
}

func TestSlowReadersGetTheTerminalBacklogOfADescendant(t *testing.T) {
	c := startTerminal(t, process.Options{Grace: 20 * time.Millisecond}, "/bin/sh", "-c",
		"trap '' HUP; head -c 3000 /dev/zero | tr '\\0' x; sleep 300 & exit 0")
	var got bytes.Buffer
	for buf := make([]byte, 100); ; time.Sleep(30 * time.Millisecond) { // longer than the grace
		n, err := c.Stdout.Read(buf)
		got.Write(buf[:n])
		if err != nil {
			break
		}
	}
	wanttest.Equal(t, "got", got.Len(), 3000)
	if e := c.Wait(); !e.OK() {
		t.Errorf("exit %+v", e)
	}
}

func TestADescendantThatHoldsTheTerminalDoesNotHangTheReaderAndDies(t *testing.T) {
	c := startShell(t, "trap '' HUP; sleep 300 & echo $!; exit 3")
	pid := 0
	musttest.Get(fmt.Fscanln(c.Stdout, &pid))(t)
	wanttest.Equal(t, "got", readAll(t, c), "")
	if e := c.Wait(); e.Code != 3 || e.Forced {
		t.Errorf("exit %+v", e)
	}
	awaitGone(t, pid)
}

func TestAResizeReachesTheProgram(t *testing.T) {
	c := startTerminalProgram(t, "watch-size")
	lines := bufio.NewReader(c.Stdout)
	awaitLine(t, lines, "40 160")
	for _, s := range []process.Size{{Rows: 24, Columns: 80}, {Rows: 50, Columns: 80}, {Rows: 50, Columns: 65535}} {
		musttest.Do(t, c.Resize(s))
		awaitLine(t, lines, fmt.Sprint(s.Rows, " ", s.Columns))
	}
	musttest.Do(t, c.Resize(process.Size{}))
	readAll(t, c)
	if e := c.Wait(); !e.OK() {
		t.Errorf("exit %+v", e)
	}
	if err := c.Resize(process.Size{Rows: 1, Columns: 1}); !errors.Is(err, os.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
	piped := startScript(t, "exit 0")
	if err := piped.Resize(process.Size{Rows: 1, Columns: 1}); err == nil {
		t.Error("a pipe has a size")
	}
}

// The kernel sends the signal first and then discards unread output, which may include output that
// the signal has caused. So the shell prints nothing until it has read a line that is typed later.
func TestCtrlCInterruptsTheForegroundJobOnly(t *testing.T) {
	c := startShell(t, "set -m; trap : INT; sleep 300 & sh -c 'echo up; exec sleep 300'; status=$?; read -r line; echo status $status; kill -0 $! && echo the other lives")
	lines := bufio.NewReader(c.Stdout)
	awaitLine(t, lines, "up")
	typeKeys(t, c, "\x03")
	typeKeys(t, c, "go on\r")
	rest, _ := io.ReadAll(lines)
	for _, want := range []string{"status 130\r\n", "the other lives\r\n"} {
		if !strings.Contains(string(rest), want) {
			t.Errorf("got %q, want %q", rest, want)
		}
	}
	if e := c.Wait(); !e.OK() {
		t.Errorf("exit %+v", e)
	}
}

func TestCtrlDEndsTheInput(t *testing.T) {
	c := startTerminal(t, process.Options{Input: []byte("stty -echo; echo u''p; cat; echo ov''er\n")}, "/bin/sh")
	lines := bufio.NewReader(c.Stdout)
	awaitLine(t, lines, "up")
	typeKeys(t, c, "hello\r")
	awaitLine(t, lines, "hello")
	typeKeys(t, c, "\x04")
	awaitLine(t, lines, "over")
	typeKeys(t, c, "exit 5\r")
	_, _ = io.Copy(io.Discard, lines)
	if e := c.Wait(); e.Code != 5 {
		t.Errorf("exit %+v", e)
	}
}

func TestBackspaceErasesAWholeCharacter(t *testing.T) {
	c := startTerminal(t, process.Options{Input: []byte("aä\x7f\r")}, "/bin/sh", "-c", `read -r line; stty -echo; echo "<$line>"`)
	if got := readAsPlain(t, c); !strings.HasSuffix(got, "<a>\n") {
		t.Errorf("got %q", got)
	}
}

func TestLongTypedInputArrivesWhole(t *testing.T) {
	c := startTerminalProgram(t, "read-raw")
	awaitWord(t, c, "up\r")
	written := make(chan error, 1)
	go func() {
		_, err := c.Write(typedText())
		written <- err
	}()
	wanttest.Equal(t, "got", readAsPlain(t, c), fmt.Sprintf("%x <nil>\n", sha256.Sum256(typedText())))
	if err := <-written; err != nil {
		t.Error(err)
	}
}

func TestTypingIntoAProgramThatDoesNotReadEndsWithIt(t *testing.T) {
	c := startTerminalProgram(t, "never-read")
	awaitWord(t, c, "up\r")
	written := make(chan error, 2)
	for range cap(written) {
		go func() {
			_, err := c.Write(typedText())
			written <- err
		}()
	}
	c.Kill()
	readAll(t, c)
	c.Wait()
	for range cap(written) {
		if err := <-written; err == nil {
			t.Error("the write claims to have succeeded")
		}
	}
	if _, err := c.Write([]byte("x")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
}

// An interactive shell ignores SIGTERM; only the hangup of its terminal ends it and its jobs.
func TestStopHangsUpTheTerminal(t *testing.T) {
	c := startTerminal(t, process.Options{}, "/bin/sh", "-i")
	lines := bufio.NewReader(c.Stdout)
	typeKeys(t, c, "sleep 300 &\rsh -c 'echo u\"\"p; exec sleep 300'\r") // the quotes keep the echoed input from matching the awaited output
	awaitLine(t, lines, "up")
	typeKeys(t, c, "\x1a")
	typeKeys(t, c, "echo sus''pended\r")
	awaitLine(t, lines, "suspended")
	c.Stop(2 * time.Minute) // after which SIGKILL fails this test
	_, _ = io.Copy(io.Discard, lines)
	if e := c.Wait(); e.Signal != "SIGHUP" || !e.Forced {
		t.Errorf("exit %+v", e)
	}
}

func TestAProgramThatDoesNotReadIsInterrupted(t *testing.T) {
	c := startShell(t, `stty raw -echo; printf 'up\r\n'; exec sleep 1000`)
	lines := bufio.NewReader(c.Stdout)
	awaitLine(t, lines, "up")
	written := make(chan error, 1)
	go func() { _, err := c.Write(bytes.Repeat([]byte("x"), 100<<10)); written <- err }()
	musttest.Do(t, c.Interrupt())
	if e := c.Wait(); e.Signal != "SIGINT" || e.Forced {
		t.Errorf("exit %+v", e)
	}
	<-written
	if err := c.Interrupt(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
}

func TestUnreadInputOfATerminalIsDiscarded(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "go")
	musttest.Do(t, unix.Mkfifo(fifo, 0o600))
	c := startShell(t, `stty raw -echo; printf 'up\r\n'; read line < `+fifo+"; stty sane -echo; echo ready; read line; echo [$line]")
	lines := bufio.NewReader(c.Stdout)
	awaitLine(t, lines, "up")
	typeKeys(t, c, "dropped")
	musttest.Do(t, c.DiscardInput())
	musttest.Do(t, os.WriteFile(fifo, []byte("on\n"), 0o600))
	awaitLine(t, lines, "ready")
	typeKeys(t, c, "taken\n")
	awaitLine(t, lines, "[taken]")
}

func TestStopEndsASuspendedProgram(t *testing.T) {
	c := startShell(t, "kill -STOP $$; sleep 300")
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(time.Millisecond) {
		if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.Pid())); err == nil && strings.Contains(string(stat), ") T ") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("it is not suspended")
		}
	}
	c.Stop(2 * time.Minute) // after which SIGKILL fails this test
	readAll(t, c)
	if e := c.Wait(); e.Signal != "SIGHUP" || !e.Forced {
		t.Errorf("exit %+v", e)
	}
}

func TestAProgramThatIgnoresTheHangupIsKilledAfterTheTimeout(t *testing.T) {
	c := startShell(t, "trap '' HUP; echo up; while :; do sleep 0.01; done")
	awaitWord(t, c, "up\r")
	c.Stop(50 * time.Millisecond)
	readAll(t, c)
	if e := c.Wait(); e.Signal != "SIGKILL" || !e.Forced {
		t.Errorf("exit %+v", e)
	}
}

func TestProcessesThatLeaveTheTerminalsSessionDieWithTheChild(t *testing.T) {
	eachSupervisor(t, func(t *testing.T, supervisor *process.Supervisor) {
		for name, script := range escapes {
			if name == "in the background" { // the kernel's hangup ends it
				continue
			}
			c := startTerminal(t, process.Options{Supervisor: supervisor}, "/bin/sh", "-c", script)
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

func TestAKillReachesTheJobsOfATerminal(t *testing.T) {
	for name, script := range map[string]string{
		"in a process group of its own": "set -m; sh -c 'trap \"\" HUP; echo $$; exec sleep 300'",
		"in the background":             "set -m; trap '' HUP; sh -c 'echo $$; exec sleep 300' & wait",
	} {
		c := startShell(t, script)
		pid := readPid(t, c)
		c.Kill()
		readAll(t, c)
		if e := c.Wait(); e.Signal != "SIGKILL" || !e.Forced {
			t.Errorf("%s: exit %+v", name, e)
		}
		awaitGone(t, pid)
	}
}

func TestTheUsageOfAProgramOnATerminalIsKnown(t *testing.T) {
	eachSupervisor(t, func(t *testing.T, supervisor *process.Supervisor) {
		c := startTerminal(t, process.Options{Supervisor: supervisor}, "/bin/sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done")
		readAll(t, c)
		if u := c.Wait().Usage; u.CPU < 10*time.Millisecond {
			t.Errorf("used %+v", u)
		}
	})
}

// The bytes that can be read from a terminal's master are output, not unread input.
func TestOutputThatNobodyReadsIsNotUnreadInput(t *testing.T) {
	c := startShell(t, "echo hello")
	awaitGone(t, c.Pid())
	if e := c.Wait(); e.Unread != 0 {
		t.Errorf("%d bytes unread", e.Unread)
	}
}

func TestManyTerminalsLeaveNoFileAndNoZombie(t *testing.T) {
	before := openFiles(t)
	for range 100 {
		c := startShell(t, "echo out; exit 0")
		_, _ = c.Write([]byte("x")) // it may be over
		readAll(t, c)
		c.Wait()
	}
	for range 10 {
		if _, err := process.Start(process.Options{Args: []string{"/no/such/program"}, Terminal: &process.Size{}}); err == nil {
			t.Fatal("it started")
		}
	}
	if after := openFiles(t); after > before {
		t.Errorf("%d files open, %d before", after, before)
	}
	wanttest.Equal(t, "zombies:", zombies(t), 0)
}
