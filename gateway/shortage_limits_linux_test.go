package gateway_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nanobot/gateway/gatewaytest"
	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// limitedDaemon is a daemon in its own process, whose resource limits are lowered and raised.
type limitedDaemon struct {
	t    *testing.T
	net  *gatewaytest.Network
	spec daemonSpec
	cmd  *killtest.Child // nil: none runs
}

func newLimitedDaemon(t *testing.T) *limitedDaemon {
	p := &limitedDaemon{t: t, net: gatewaytest.NewNetwork()}
	t.Cleanup(p.net.Close)
	dir := t.TempDir()
	chooseState(t, filepath.Join(dir, ".nanobot"))
	p.spec = daemonSpec{
		Dir: dir, State: filepath.Join(dir, ".nanobot"), Command: echo, OnCrash: "report",
		Networks: []networkSpec{{Name: "net", URL: p.net.URL, Idempotent: true}},
	}
	p.net.Idempotent = true
	t.Cleanup(p.kill)
	return p
}

func (p *limitedDaemon) start() {
	p.t.Helper()
	p.spec.Number++
	spec := musttest.Get(json.Marshal(p.spec))(p.t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), daemonVariable+"="+string(spec))
	p.cmd = killtest.Start(p.t, cmd)
}

func (p *limitedDaemon) kill() {
	if p.cmd != nil {
		p.cmd.Kill()
		p.cmd = nil
	}
}

// killWaiting kills the daemon, unless it is about to start an agent: it is unknown then
// whether that began.
func (p *limitedDaemon) killWaiting() bool {
	p.t.Helper()
	p.pause()
	b := musttest.Get(os.ReadFile(filepath.Join(p.spec.State, "agents.txt")))(p.t)
	for line := range strings.Lines(string(b)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] != "0" && fields[1] != "0" {
			_ = p.cmd.Signal(syscall.SIGCONT)
			return false
		}
	}
	p.kill()
	return true
}

// setLimit sets a resource limit of the daemon and returns the previous one.
func (p *limitedDaemon) setLimit(what int, soft uint64) (before uint64) {
	p.t.Helper()
	var old unix.Rlimit
	musttest.Do(p.t, unix.Prlimit(p.cmd.PID(), what, nil, &old))
	musttest.Do(p.t, unix.Prlimit(p.cmd.PID(), what, &unix.Rlimit{Cur: soft, Max: old.Max}, nil))
	return old.Cur
}

// countLogged returns the number of log lines that contain a text.
func (p *limitedDaemon) countLogged(text string) int {
	b, _ := os.ReadFile(filepath.Join(p.spec.Dir, "log"))
	return bytes.Count(b, []byte(text))
}

func (p *limitedDaemon) awaitTrue(what string, done func() bool) {
	p.t.Helper()
	for deadline := time.Now().Add(testTimeout); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Fatalf("%s never happened; the log is\n%s", what, tail(filepath.Join(p.spec.Dir, "log"), 20))
		}
	}
}

const poorChats, poorMessages = 5, 4

// writeMessages writes the messages of every chat and waits until the daemon has stored them.
func (p *limitedDaemon) writeMessages() {
	p.t.Helper()
	for m := range poorMessages {
		for c := range poorChats {
			p.net.UserWrites(fmt.Sprint("c", c), "u", fmt.Sprint("m", m))
		}
	}
	p.awaitTrue("the receipt of all messages", func() bool {
		seq, _ := p.net.Acknowledged()
		return seq >= poorMessages*poorChats+1
	})
}

// checkAnswers checks that each message is answered once, in order, and that nothing else is sent
// but that some were queued.
func (p *limitedDaemon) checkAnswers() {
	p.t.Helper()
	var want []string
	for m := range poorMessages {
		want = append(want, fmt.Sprint("you said m", m))
	}
	for c := range poorChats {
		answers := func(calls []gatewaytest.Call) []string {
			return slices.DeleteFunc(texts(calls), func(s string) bool { return strings.HasPrefix(s, "Queued") })
		}
		calls, ok := p.net.Await(fmt.Sprint("c", c), testTimeout, func(calls []gatewaytest.Call) bool { return len(answers(calls)) >= len(want) })
		if got := answers(calls); !ok || !slices.Equal(got, want) {
			p.t.Errorf("chat %d was answered %q; the log is\n%s", c, got, tail(filepath.Join(p.spec.Dir, "log"), 10))
		}
	}
}

const cannotStart = "agents cannot be started, will retry"

// A daemon that is out of file descriptors, or whose agents may have no more processes, answers all
// messages once it has them again. A kill while they wait changes nothing.
func TestAShortageAtTheStartOfAnAgentLosesNoMessage(t *testing.T) {
	t.Parallel()
	for _, supervisor := range []bool{false, true} {
		for _, killed := range []bool{false, true} {
			t.Run(fmt.Sprintf("files, supervisor %t, killed %t", supervisor, killed), func(t *testing.T) {
				t.Parallel()
				p := newLimitedDaemon(t)
				p.spec.Supervisor = supervisor
				p.start()
				p.net.UserWrites("first", "u", "hello")
				if _, ok := p.net.Await("first", testTimeout, func(c []gatewaytest.Call) bool { return len(texts(c)) == 1 }); !ok {
					t.Fatal("the daemon does not work at all")
				}
				before := p.setLimit(unix.RLIMIT_NOFILE, 0) // what is open stays open
				p.runShortage(killed, func() { p.setLimit(unix.RLIMIT_NOFILE, before) })
			})
		}
	}
	for _, killed := range []bool{false, true} {
		t.Run(fmt.Sprintf("processes, killed %t", killed), func(t *testing.T) {
			t.Parallel()
			if os.Geteuid() != 0 {
				t.Skip("only root may become somebody else")
			}
			p := newLimitedDaemon(t)
			for _, dir := range []string{filepath.Dir(p.spec.Dir), p.spec.Dir} {
				musttest.Do(t, os.Chmod(dir, 0o755))
			}
			p.spec.User = "nobody"
			p.start()
			p.net.UserWrites("first", "u", "hello")
			if _, ok := p.net.Await("first", testTimeout, func(c []gatewaytest.Call) bool { return len(texts(c)) == 1 }); !ok {
				t.Fatal("the daemon does not work at all")
			}
			// The kernel counts the processes of the user before the new one is among them.
			other := exec.Command("sleep", "600")
			other.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
			killtest.Start(t, other)
			before := p.setLimit(unix.RLIMIT_NPROC, 0)
			p.runShortage(killed, func() { p.setLimit(unix.RLIMIT_NPROC, before) })
		})
	}
}

// runShortage writes messages to a daemon that cannot start agents, until relief.
func (p *limitedDaemon) runShortage(killed bool, relief func()) {
	p.t.Helper()
	p.writeMessages()
	p.awaitTrue("the shortage", func() bool { return p.countLogged(cannotStart) > 0 })
	if killed {
		p.awaitTrue("a moment at which all turns wait", p.killWaiting)
		p.start()
	} else {
		relief()
	}
	p.checkAnswers()
	wanttest.Equal(p.t, "the shortage was logged … times:", p.countLogged(cannotStart), 1)
	for _, text := range []string{"turn failed", "turn was cut off"} {
		if p.countLogged(text) > 0 {
			p.t.Errorf("the log says %q:\n%s", text, tail(filepath.Join(p.spec.Dir, "log"), 10))
		}
	}
}

// The sixteen agents that run at the same time at first leave idle cgroups and connections.
func TestTwentyTurnsAllRunWithFortyDescriptors(t *testing.T) {
	t.Parallel()
	p := newLimitedDaemon(t)
	p.spec.Supervisor, p.spec.Slots = true, 20
	p.spec.Command = `while ! test -e ` + filepath.Join(p.spec.Dir, "go") + `; do sleep 0.01; done; ` + echo
	p.start()
	write := func(text string, chats int) (await func()) {
		for c := range chats {
			p.net.UserWrites(fmt.Sprint("c", c), "u", text)
		}
		return func() {
			for c := range chats {
				calls, ok := p.net.Await(fmt.Sprint("c", c), testTimeout, func(calls []gatewaytest.Call) bool { return slices.Contains(texts(calls), "you said "+text) })
				if !ok {
					t.Fatalf("chat %d shows %q; the log is\n%s", c, texts(calls), tail(filepath.Join(p.spec.Dir, "log"), 10))
				}
			}
		}
	}
	await := write("first", 16)
	p.awaitTrue("16 agents at the same time", func() bool {
		b, _ := os.ReadFile(filepath.Join(p.spec.State, "agents.txt"))
		running := 0
		for line := range strings.Lines(string(b)) {
			if fields := strings.Fields(line); len(fields) == 3 && fields[1] != "0" {
				running++
			}
		}
		return running >= 16
	})
	musttest.Do(t, os.WriteFile(filepath.Join(p.spec.Dir, "go"), nil, 0o600))
	await()
	p.setLimit(unix.RLIMIT_NOFILE, 40)
	write("second", 20)()
}
