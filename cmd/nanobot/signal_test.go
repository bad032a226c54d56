package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"nanobot/cmd/nanobot/exit"
	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// waitTimeout is how long a test waits for something that must happen. Only a failing test takes so
// long.
const waitTimeout = 5 * time.Minute

// program is the real binary at work, with its stdin and stdout in our hands.
type program struct {
	t     *testing.T
	child *killtest.Child
	dir   string
	in    io.WriteCloser
	out   *bufio.Reader
	end   io.Closer // of out
}

// networkURLs has the URL of the test network of each test, by the name of the test. Tests run in
// parallel, so it cannot be a variable of the environment.
var networkURLs sync.Map

// networkEnviron tells a program of a test, or of its subtest, the URL of the test's network.
func networkEnviron(t testing.TB) []string {
	for name := t.Name(); name != "."; name = path.Dir(name) {
		if url, ok := networkURLs.Load(name); ok {
			return []string{fmt.Sprintf("TEST_NETWORK_URL=%s", url)}
		}
	}
	return nil
}

// programCommand is the real program with these arguments, which is not started yet.
func programCommand(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	killtest.SkipIfShort(t)
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(environWithoutTestSettings(), append(networkEnviron(t), "NANOBOT_TEST_MAIN=1")...)
	return cmd
}

func startProgram(t *testing.T, args ...string) *program {
	t.Helper()
	return startBinary(t, os.Args[0], nil, args...)
}

// startProgramWith is startProgram with more in the environment.
func startProgramWith(t *testing.T, env []string, args ...string) *program {
	t.Helper()
	return startBinary(t, os.Args[0], env, args...)
}

// startBinary is startProgramWith for a copy of this binary. One named nanobot is the program
// whoever starts it.
func startBinary(t *testing.T, path string, env []string, args ...string) *program {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command(path, args...)
	cmd.Dir = dir
	cmd.Env = append(append(environWithoutTestSettings(), "NANOBOT_TEST_MAIN=1", "HOME="+dir), append(networkEnviron(t), env...)...)
	return startCommand(t, cmd, dir)
}

// linkProgram puts the program, which all users may read and execute, at a path.
func linkProgram(t *testing.T, path string) {
	t.Helper()
	killtest.SkipIfShort(t)
	if info, err := os.Stat(os.Args[0]); err == nil && info.Mode().Perm() == 0o755 && os.Link(os.Args[0], path) == nil {
		return
	}
	self, err := os.ReadFile(os.Args[0]) // on another file system, or with an unusual umask
	musttest.Do(t, err)
	musttest.Do(t, os.WriteFile(path, self, 0o755))
	musttest.Do(t, os.Chmod(path, 0o755))
}

// runtimeDir is a folder for sockets, whose paths must be short.
func runtimeDir(t *testing.T) string {
	t.Helper()
	dir := musttest.Get(os.MkdirTemp("", "nb"))(t)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// startCommand starts a program whose log goes into a folder.
func startCommand(t *testing.T, cmd *exec.Cmd, dir string) *program {
	t.Helper()
	p := &program{t: t, dir: dir}
	p.in, _ = cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	p.out, p.end = bufio.NewReader(out), out
	log := musttest.Get(os.Create(filepath.Join(p.dir, "log")))(t)
	defer log.Close()
	cmd.Stderr = log
	p.child = killtest.Start(t, cmd)
	return p
}

// log is what the program has said on stderr.
func (p *program) log() string {
	p.t.Helper()
	b := musttest.Get(os.ReadFile(filepath.Join(p.dir, "log")))(p.t)
	return string(b)
}

// awaitLog waits until the program has said something on stderr.
func (p *program) awaitLog(text string) {
	p.t.Helper()
	p.awaitLogTimes(text, 1)
}

// awaitLogTimes waits until the program has said something n times on stderr.
func (p *program) awaitLogTimes(text string, n int) {
	p.t.Helper()
	for deadline := time.Now().Add(waitTimeout); strings.Count(p.log(), text) < n; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Fatalf("has not said %q %d times, but:\n%s", text, n, p.log())
		}
	}
}

// readLine waits for the next line of output.
func (p *program) readLine() string {
	p.t.Helper()
	s, err := p.out.ReadString('\n')
	if err != nil {
		p.t.Fatalf("after %q: %v", s, err)
	}
	return strings.TrimSuffix(s, "\n")
}

// awaitExit waits for the program to end.
func (p *program) awaitExit() int {
	p.t.Helper()
	late := time.AfterFunc(waitTimeout, func() { _ = p.child.Signal(os.Kill) })
	defer late.Stop()
	_, _ = io.Copy(io.Discard, p.out)
	_ = p.child.Wait()
	return p.child.State().ExitCode()
}

func (p *program) signal(s syscall.Signal) {
	p.t.Helper()
	musttest.Do(p.t, p.child.Signal(s))
}

// awaitAgentExit waits until the process whose ID an agent has written to a file has ended.
func (p *program) awaitAgentExit(file string) {
	p.t.Helper()
	b := musttest.Get(os.ReadFile(filepath.Join(p.dir, file)))(p.t)
	pid, _ := strconv.Atoi(strings.TrimSpace(string(b)))
	for deadline := time.Now().Add(waitTimeout); ; time.Sleep(5 * time.Millisecond) {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("the agent's process %d lives on", pid)
		}
	}
}

// busy is an agent with a child of its own, which says when it is up.
const busy = `sleep 300 & echo $! > pid; echo '{"type":"message","text":"up"}'; wait`

func TestChatInterruptsStopTheTurnAndThenLeave(t *testing.T) {
	t.Parallel()
	p := startProgram(t, "chat", "--protocol", "rich", "--command", busy)
	_, _ = io.WriteString(p.in, "one\n")
	if got := p.readLine(); got != "up" {
		t.Fatalf("got %q", got)
	}
	p.signal(syscall.SIGINT)
	if got := p.readLine(); got != "Stopped." {
		t.Fatalf("got %q", got)
	}
	_, _ = io.WriteString(p.in, "two\n")
	if got := p.readLine(); got != "up" { // the first Ctrl-C was for the first turn only
		t.Fatalf("got %q", got)
	}
	p.signal(syscall.SIGINT)
	_ = p.readLine()
	p.signal(syscall.SIGINT)
	wanttest.Equal(t, "status", p.awaitExit(), exit.Interrupted)
	p.awaitAgentExit("pid")
}

func TestAnInterruptWithoutATurnLeavesTheChat(t *testing.T) {
	t.Parallel()
	p := startProgram(t, "chat", "--command", "echo answer")
	_, _ = io.WriteString(p.in, "one\n")
	_ = p.readLine()
	p.signal(syscall.SIGINT)
	wanttest.Equal(t, "status", p.awaitExit(), exit.Interrupted)
}

func TestSignalsAndAClosedPipeLeaveNoAgentBehind(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*program){
		"SIGTERM": func(p *program) { p.signal(syscall.SIGTERM) },
		"SIGHUP":  func(p *program) { p.signal(syscall.SIGHUP) },
		"SIGINT":  func(p *program) { p.signal(syscall.SIGINT) },
	} {
		t.Run(name, func(t *testing.T) {
			p := startProgram(t, "run", "--protocol", "rich", "--command", busy, "hi")
			_ = p.readLine()
			end(p)
			wanttest.Equal(t, "status", p.awaitExit(), exit.Interrupted)
			p.awaitAgentExit("pid")
		})
	}
	t.Run("closed pipe", func(t *testing.T) {
		dir := t.TempDir()
		script := filepath.Join(dir, "agent.sh")
		loop := "sleep 300 & echo $! > pid\nwhile :; do echo '{\"type\":\"message\",\"text\":\"more\"}'; sleep 0.01; done\n"
		musttest.Do(t, os.WriteFile(script, []byte(loop), 0o600))
		p := startProgram(t, "run", "--protocol", "rich", "--command", "sh "+script+"; true", "hi")
		_ = p.readLine()
		musttest.Do(t, p.end.Close())
		wanttest.Equal(t, "status", p.awaitExit(), exit.Failed)
		p.awaitAgentExit("pid")
	})
}
