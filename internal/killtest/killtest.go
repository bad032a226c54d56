// Package killtest is a harness for tests that kill a process with SIGKILL and start it again. It
// knows neither what the process does nor what must survive.
package killtest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"
)

// readyTimeout is how long a child may take to be ready. Only a failing test waits that long.
const readyTimeout = 5 * time.Minute

// Seed returns a seed for the random choices of a test: NANOBOT_SEED if it is set, else the time. A
// failing test must log it.
func Seed() uint64 {
	if seed, err := strconv.ParseUint(os.Getenv("NANOBOT_SEED"), 10, 64); err == nil {
		return seed
	}
	return uint64(time.Now().UnixNano())
}

// Child is a process that a test kills.
type Child struct {
	t      testing.TB
	cmd    *exec.Cmd
	waited bool
}

// IsLong reports whether tests may take minutes: NANOBOT_LONG=1, as .ci/long sets it, asks for it.
func IsLong() bool { return os.Getenv("NANOBOT_LONG") == "1" }

// Rounds returns how often a test repeats something: brief, or long if IsLong. It skips the test
// with -short.
func Rounds(t testing.TB, brief, long int) int {
	t.Helper()
	SkipIfShort(t)
	return Pick(brief, long)
}

// Pick is Rounds for tests that also run with -short.
func Pick(brief, long int) int {
	if IsLong() {
		return long
	}
	return brief
}

// SkipIfShort skips a test that runs whole programs, builds them, or repeats something for long, if
// the tests run with -short.
func SkipIfShort(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("left out by -short")
	}
}

// Start starts a child, and skips the test with -short. The child is killed at the latest when the
// test ends, and by the kernel if the test process dies, where the kernel can do so.
func Start(t testing.TB, cmd *exec.Cmd) *Child {
	t.Helper()
	SkipIfShort(t)
	dieWithParent(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &Child{t: t, cmd: cmd}
	t.Cleanup(c.Kill)
	return c
}

// PID returns the child's process ID.
func (c *Child) PID() int { return c.cmd.Process.Pid }

// Signal sends a signal to the child.
func (c *Child) Signal(s os.Signal) error { return c.cmd.Process.Signal(s) }

// State returns how the child ended; nil before Wait.
func (c *Child) State() *os.ProcessState { return c.cmd.ProcessState }

// HasExited reports whether the child has exited, also before Wait. It is always false on
// systems other than Linux.
func (c *Child) HasExited() bool { return hasExited(c.PID()) }

// Wait waits until the child exits.
func (c *Child) Wait() error {
	c.waited = true
	return c.cmd.Wait()
}

// End sends SIGTERM, as systemd does, and waits until the child exits.
func (c *Child) End() error {
	_ = c.Signal(syscall.SIGTERM)
	return c.Wait()
}

// Kill sends SIGKILL and waits until the child is gone. It does nothing after Wait.
func (c *Child) Kill() {
	if !c.waited {
		_ = c.cmd.Process.Kill()
		_ = c.Wait()
	}
}

// killRunning is Kill, and fails the test if the child has exited by itself.
func (c *Child) killRunning() {
	c.t.Helper()
	c.Kill()
	if status, ok := c.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signal() == syscall.SIGKILL {
		return
	}
	output, _ := c.cmd.Stderr.(fmt.Stringer)
	c.t.Fatalf("the child ended by itself: %s, %v", c.cmd.ProcessState, output)
}

// KillLoop kills one child after another while users keep writing.
type KillLoop struct {
	Random *rand.Rand
	Kills  int
	// Write is called every five milliseconds in a goroutine of its own, with its own random
	// source.
	Write func(random *rand.Rand)
	// Start starts a child. ready reports whether it has started to work.
	Start func() (c *Child, ready func() bool)
	// Killed is called after each kill.
	Killed func()
}

// Run starts and kills the children. Write is not called after Run has returned.
func (l KillLoop) Run(t testing.TB) {
	t.Helper()
	stop := repeat(5*time.Millisecond, rand.New(rand.NewPCG(l.Random.Uint64(), 0)), l.Write)
	defer stop()
	for range l.Kills {
		c, ready := l.Start()
		c.waitForKill(t, l.Random, ready)
		c.killRunning()
		l.Killed()
	}
}

// repeat calls f periodically until stop is called.
func repeat(every time.Duration, random *rand.Rand, f func(*rand.Rand)) (stop func()) {
	done := make(chan struct{})
	var work sync.WaitGroup
	work.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			f(random)
		}
	})
	return func() {
		close(done)
		work.Wait()
	}
}

// waitForKill waits for the moment to kill a child: for one in three up to half a second after its
// start, for the others up to half a second after they were ready.
func (c *Child) waitForKill(t testing.TB, random *rand.Rand, ready func() bool) {
	t.Helper()
	early, instant := random.IntN(3) == 0, time.Duration(random.Int64N(int64(500*time.Millisecond)))
	for deadline := time.Now().Add(readyTimeout); !early && !ready(); time.Sleep(5 * time.Millisecond) {
		if c.HasExited() {
			return // killRunning says so
		}
		if time.Now().After(deadline) {
			t.Fatal("the child was never ready")
		}
	}
	time.Sleep(instant)
}
