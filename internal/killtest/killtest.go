// Package killtest is the harness of the tests that kill a process with SIGKILL and start it again.
// It knows nothing of what the process does or of what must survive.
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

// patience is how long a child may take to be ready. Only a test that fails waits so long.
const patience = 5 * time.Minute

// Seed returns a seed for the random choices of a test: NANOBOT_SEED if it is set, else the time. A
// test that fails logs it.
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

// Start starts a child. It is killed at the latest when the test ends, and by the kernel if the
// test process dies, where the kernel can do so.
func Start(t testing.TB, cmd *exec.Cmd) *Child {
	t.Helper()
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

// State returns how the child ended; nil until it was waited for.
func (c *Child) State() *os.ProcessState { return c.cmd.ProcessState }

// Wait waits for the child to end by itself.
func (c *Child) Wait() error {
	c.waited = true
	return c.cmd.Wait()
}

// End sends SIGTERM, as systemd does, and waits.
func (c *Child) End() error {
	_ = c.Signal(syscall.SIGTERM)
	return c.Wait()
}

// Kill sends SIGKILL and waits. It does nothing if the child was waited for already.
func (c *Child) Kill() {
	if !c.waited {
		_ = c.cmd.Process.Kill()
		_ = c.Wait()
	}
}

// killRunning is Kill for a child that must still be running.
func (c *Child) killRunning() {
	c.t.Helper()
	c.Kill()
	if status, ok := c.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signal() == syscall.SIGKILL {
		return
	}
	output, _ := c.cmd.Stderr.(fmt.Stringer)
	c.t.Fatalf("the child ended by itself: %s, %v", c.cmd.ProcessState, output)
}

// Storm kills one child after the other while users keep writing.
type Storm struct {
	Random *rand.Rand
	Kills  int
	// Write is called every five milliseconds in a goroutine of its own, with its own random
	// source.
	Write func(random *rand.Rand)
	// Start starts a child. ready reports whether it has begun its work.
	Start func() (c *Child, ready func() bool)
	// Killed is called after each kill.
	Killed func()
}

// Run makes the kills. It returns when Write is not called any more.
func (s Storm) Run(t testing.TB) {
	t.Helper()
	stop := repeat(5*time.Millisecond, rand.New(rand.NewPCG(s.Random.Uint64(), 0)), s.Write)
	defer stop()
	for range s.Kills {
		c, ready := s.Start()
		live(t, s.Random, ready)
		c.killRunning()
		s.Killed()
	}
}

// repeat calls f until stop is called.
func repeat(every time.Duration, random *rand.Rand, f func(*rand.Rand)) (stop func()) {
	over := make(chan struct{})
	var work sync.WaitGroup
	work.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case <-tick.C:
			}
			f(random)
		}
	})
	return func() {
		close(over)
		work.Wait()
	}
}

// live waits until a random instant of a child's life: one in three is killed during its start, the
// others up to half a second after they were ready, however long that takes them.
func live(t testing.TB, random *rand.Rand, ready func() bool) {
	t.Helper()
	early, instant := random.IntN(3) == 0, time.Duration(random.Int64N(int64(500*time.Millisecond)))
	for deadline := time.Now().Add(patience); !early && !ready(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the child was never ready")
		}
	}
	time.Sleep(instant)
}
