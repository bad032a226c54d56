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
)

// poor is a daemon in a process of its own, whose resources are taken away and given back.
type poor struct {
	t    *testing.T
	net  *gatewaytest.Network
	spec daemonSpec
	cmd  *killtest.Child // nil: none runs
}

func newPoor(t *testing.T) *poor {
	p := &poor{t: t, net: gatewaytest.NewNetwork()}
	t.Cleanup(p.net.Close)
	dir := t.TempDir()
	p.spec = daemonSpec{
		Dir: dir, State: filepath.Join(dir, ".nanobot"), Command: echo, OnCrash: "report",
		Networks: []networkSpec{{Name: "net", URL: p.net.URL, Idempotent: true}},
	}
	p.net.Idempotent = true
	t.Cleanup(p.kill)
	return p
}

func (p *poor) start() {
	p.t.Helper()
	p.spec.Number++
	spec, err := json.Marshal(p.spec)
	if err != nil {
		p.t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), daemonVariable+"="+string(spec))
	p.cmd = killtest.Start(p.t, cmd)
}

func (p *poor) kill() {
	if p.cmd != nil {
		p.cmd.Kill()
		p.cmd = nil
	}
}

// killWaiting kills the daemon, unless it is just about to start an agent: nobody can tell then
// whether that began.
func (p *poor) killWaiting() bool {
	p.t.Helper()
	p.pause()
	b, err := os.ReadFile(filepath.Join(p.spec.State, "agents.txt"))
	if err != nil {
		p.t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] != "0" && fields[1] != "0" {
			_ = p.cmd.Signal(syscall.SIGCONT)
			return false
		}
	}
	p.kill()
	return true
}

// limit sets a limit of the daemon and returns the one that it had.
func (p *poor) limit(what int, soft uint64) (before uint64) {
	p.t.Helper()
	var old unix.Rlimit
	if err := unix.Prlimit(p.cmd.PID(), what, nil, &old); err != nil {
		p.t.Fatal(err)
	}
	if err := unix.Prlimit(p.cmd.PID(), what, &unix.Rlimit{Cur: soft, Max: old.Max}, nil); err != nil {
		p.t.Fatal(err)
	}
	return old.Cur
}

// logged is how many lines of the log say something.
func (p *poor) logged(text string) int {
	b, _ := os.ReadFile(filepath.Join(p.spec.Dir, "log"))
	return bytes.Count(b, []byte(text))
}

func (p *poor) await(what string, done func() bool) {
	p.t.Helper()
	for deadline := time.Now().Add(patience); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Fatalf("%s never happened; the log is\n%s", what, tail(filepath.Join(p.spec.Dir, "log"), 20))
		}
	}
}

const poorChats, poorMessages = 5, 4

// say has every chat say its messages and waits until the daemon has stored them.
func (p *poor) say() {
	p.t.Helper()
	for m := range poorMessages {
		for c := range poorChats {
			p.net.UserWrites(fmt.Sprint("c", c), "u", fmt.Sprint("m", m))
		}
	}
	p.await("the receipt of all messages", func() bool {
		seq, _ := p.net.Acknowledged()
		return seq >= poorMessages*poorChats+1
	})
}

// answered expects each message to be answered once, in order, and nothing else to be said but that
// some were queued.
func (p *poor) answered() {
	p.t.Helper()
	var want []string
	for m := range poorMessages {
		want = append(want, fmt.Sprint("you said m", m))
	}
	for c := range poorChats {
		answers := func(calls []gatewaytest.Call) []string {
			return slices.DeleteFunc(texts(calls), func(s string) bool { return strings.HasPrefix(s, "Queued") })
		}
		calls, ok := p.net.Await(fmt.Sprint("c", c), patience, func(calls []gatewaytest.Call) bool { return len(answers(calls)) >= len(want) })
		if got := answers(calls); !ok || !slices.Equal(got, want) {
			p.t.Errorf("chat %d was answered %q; the log is\n%s", c, got, tail(filepath.Join(p.spec.Dir, "log"), 10))
		}
	}
}

const cannotStart = "agents cannot be started, will retry"

// A daemon that is out of file descriptors, or whose agents may have no more processes, answers all
// messages once it has them again. A kill while they wait changes nothing.
func TestAShortageAtTheStartOfAnAgentUsesNoMessageUp(t *testing.T) {
	t.Parallel()
	for _, supervisor := range []bool{false, true} {
		for _, killed := range []bool{false, true} {
			t.Run(fmt.Sprintf("files, supervisor %t, killed %t", supervisor, killed), func(t *testing.T) {
				t.Parallel()
				p := newPoor(t)
				p.spec.Supervisor = supervisor
				p.start()
				p.net.UserWrites("first", "u", "hello")
				if _, ok := p.net.Await("first", patience, func(c []gatewaytest.Call) bool { return len(texts(c)) == 1 }); !ok {
					t.Fatal("the daemon does not work at all")
				}
				before := p.limit(unix.RLIMIT_NOFILE, 0) // what is open stays open
				p.short(killed, func() { p.limit(unix.RLIMIT_NOFILE, before) })
			})
		}
	}
	for _, killed := range []bool{false, true} {
		t.Run(fmt.Sprintf("processes, killed %t", killed), func(t *testing.T) {
			t.Parallel()
			if os.Geteuid() != 0 {
				t.Skip("only root may become somebody else")
			}
			p := newPoor(t)
			for _, dir := range []string{filepath.Dir(p.spec.Dir), p.spec.Dir} {
				if err := os.Chmod(dir, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			p.spec.User = "nobody"
			p.start()
			p.net.UserWrites("first", "u", "hello")
			if _, ok := p.net.Await("first", patience, func(c []gatewaytest.Call) bool { return len(texts(c)) == 1 }); !ok {
				t.Fatal("the daemon does not work at all")
			}
			// The kernel counts the processes of the user before the new one is among them.
			other := exec.Command("sleep", "600")
			other.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
			killtest.Start(t, other)
			before := p.limit(unix.RLIMIT_NPROC, 0)
			p.short(killed, func() { p.limit(unix.RLIMIT_NPROC, before) })
		})
	}
}

// short has people write to a daemon that cannot start agents, until relief.
func (p *poor) short(killed bool, relief func()) {
	p.t.Helper()
	p.say()
	p.await("the shortage", func() bool { return p.logged(cannotStart) > 0 })
	if killed {
		p.await("a moment at which all turns wait", p.killWaiting)
		p.start()
	} else {
		relief()
	}
	p.answered()
	if n := p.logged(cannotStart); n != 1 {
		p.t.Errorf("the shortage was logged %d times", n)
	}
	for _, text := range []string{"turn failed", "turn was cut off"} {
		if p.logged(text) > 0 {
			p.t.Errorf("the log says %q:\n%s", text, tail(filepath.Join(p.spec.Dir, "log"), 10))
		}
	}
}
