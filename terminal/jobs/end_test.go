package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal/jobs"
)

func TestTheExitIsACodeOrASignal(t *testing.T) {
	s := newSession(t, jobs.Limits{})
	for line, want := range map[string]string{
		"exit 0": "code 0", "exit 255": "code 255", "kill -TERM $$": "SIGTERM", "kill -KILL $$": "SIGKILL", "kill -SEGV $$": "SIGSEGV",
		"kill -INT $$": "SIGINT", "kill -USR1 $$": "SIGUSR1", "nosuchprogram x": "code 127",
	} {
		id := s.startScript(line)
		e := s.wait(id)
		if formatExit(e) != want || (e.Code == nil) == (e.Signal == nil) {
			t.Errorf("%s: %s", line, formatExit(e))
		}
	}
}

func TestAllWaitersGetTheExitEvenLateOnes(t *testing.T) {
	s := newSession(t, jobs.Limits{})
	open := s.newGate("go")
	id := s.startScript("read -r x < go; exit 7")
	var g sync.WaitGroup
	for range 50 {
		g.Go(func() {
			if e, err := s.Wait(context.Background(), id); err != nil || formatExit(e) != "code 7" {
				t.Errorf("%s, %v", formatExit(e), err)
			}
		})
	}
	open()
	g.Wait()
	if e := s.wait(id); formatExit(e) != "code 7" {
		t.Errorf("afterwards: %s", formatExit(e))
	}
	over, cancel := context.WithCancel(context.Background())
	cancel()
	if e, err := s.Wait(over, id); err != nil || formatExit(e) != "code 7" {
		t.Errorf("in no time: %s, %v", formatExit(e), err)
	}
}

func TestACancelledWaitLeavesTheJobAlone(t *testing.T) {
	s := newSession(t, jobs.Limits{})
	open := s.newGate("go")
	id := s.startScript("echo up; read -r x < go; echo done")
	s.awaitContains(id, "up")
	ctx, cancel := context.WithCancel(context.Background())
	answer := make(chan error)
	go func() {
		_, err := s.Wait(ctx, id)
		answer <- err
	}()
	cancel()
	if err := <-answer; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if o := s.output(id); o.Exit != nil {
		t.Fatalf("%+v", o)
	}
	open()
	if e := s.wait(id); formatExit(e) != "code 0" || s.output(id).Text != "up\ndone\n" {
		t.Fatalf("%s: %q", formatExit(e), s.output(id).Text)
	}
}

func TestAGrandchildDelaysTheEndOnlyALittle(t *testing.T) {
	for name, line := range map[string]string{
		"silent":            "sleep 300 &",
		"writes for ever":   "(trap '' TERM; while :; do echo tick; sleep 0.01; done) &",
		"floods":            "yes &",
		"in its own group":  "timeout 300 sleep 300 &",
		"without the pipe":  "sleep 300 >/dev/null 2>&1 &",
		"and ignores TERM":  "(trap '' TERM; exec sleep 300) &",
		"beside its parent": "(sleep 300 & sleep 300) &",
	} {
		s := newSession(t, jobs.Limits{})
		began := time.Now()
		e := s.wait(s.startScript(line + " echo $! > pid; exit 6"))
		if took := time.Since(began); formatExit(e) != "code 6" || took > 4*time.Minute {
			t.Errorf("%s: %s after %v", name, formatExit(e), took)
		}
		if pid := s.readPid("pid"); isAlive(pid) {
			t.Errorf("%s: process %d lives on", name, pid)
		}
	}
}

func TestAProcessThatLeftTheSessionDoesNotDelayTheEnd(t *testing.T) {
	const leaves = `setsid sh -c 'echo $$ > pid; echo up; exec sleep 300' & `
	s := newSession(t, jobs.Limits{Grace: 300 * time.Millisecond})
	id := s.startScript(leaves + "until [ -s pid ]; do sleep 0.01; done; exit 6")
	e := s.wait(id)
	_ = syscall.Kill(s.readPid("pid"), syscall.SIGKILL)
	if formatExit(e) != "code 6" {
		t.Error(formatExit(e))
	}
	id = s.startScript("rm pid; " + leaves + "wait")
	s.awaitContains(id, "up")
	err := s.Kill(testContext(t), id)
	_ = syscall.Kill(s.readPid("pid"), syscall.SIGKILL)
	if err != nil || formatExit(s.wait(id)) != "SIGTERM" {
		t.Error(err, formatExit(s.wait(id)))
	}
}

func TestKillSendsSIGTERMThenSIGKILLAndKeepsTheID(t *testing.T) {
	for name, tc := range map[string]struct{ line, text, exit string }{
		"accepts":                  {"echo up; exec sleep 300", "up\n", "SIGTERM"},
		"has something to say":     {"trap 'echo bye; exit 9' TERM; echo up; while :; do sleep 0.01; done", "up\nbye\n", "code 9"},
		"ignores it":               {"trap '' TERM; echo up; while :; do sleep 0.01; done", "up\n", "SIGKILL"},
		"its child ignores it":     {"(trap '' TERM; echo up; sleep 300; sleep 300) & wait", "up\n", "SIGTERM"},
		"its child says goodbye":   {"(trap 'sleep 0.4; echo bye; exit' TERM; echo up; while :; do sleep 0.01; done) & wait", "up\nbye\n", "SIGTERM"},
		"its child is in no group": {"timeout 300 sh -c 'trap \"trap : TERM; echo bye; exit\" TERM; echo up; while :; do sleep 0.01; done'; exit", "up\nbye\n", "SIGTERM"},
	} {
		grace := time.Minute
		if strings.Contains(name, "ignores") {
			grace = 2 * time.Second
		}
		s := newSession(t, jobs.Limits{Grace: grace})
		id := s.startScript(tc.line)
		s.awaitContains(id, "up")
		waited := make(chan jobs.Exit)
		go func() {
			e, _ := s.Wait(context.Background(), id)
			waited <- e
		}()
		if err := s.Kill(testContext(t), id); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		o := s.output(id)
		said := strings.ReplaceAll(o.Text, "Terminated\n", "") // some shells print this when a child is killed
		if o.Exit == nil || said != tc.text || formatExit(*o.Exit) != tc.exit || formatExit(<-waited) != tc.exit || formatExit(s.wait(id)) != tc.exit {
			t.Errorf("%s: got %+v", name, o)
		}
		for range 3 {
			if err := s.Kill(testContext(t), id); err != nil || s.output(id).Text != o.Text || formatExit(s.wait(id)) != tc.exit {
				t.Errorf("%s, again: %v", name, err)
			}
		}
	}
}

func TestAKillThatIsNotAwaitedStillHappens(t *testing.T) {
	s := newSession(t, jobs.Limits{Grace: 300 * time.Millisecond})
	id := s.startScript("trap '' TERM; echo up; while :; do sleep 0.01; done")
	s.awaitContains(id, "up")
	over, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Kill(over, id); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if e := s.wait(id); formatExit(e) != "SIGKILL" {
		t.Fatal(formatExit(e))
	}
}

func TestReleaseKillsTheJobAndEndsItsWaiters(t *testing.T) {
	s := newSession(t, jobs.Limits{})
	id := s.startScript("sleep 300 & echo $!; wait")
	pid := 0
	fmt.Sscan(s.awaitContains(id, "\n"), &pid)
	ready, answers := make(chan struct{}), make(chan string)
	for range 5 {
		go func() {
			ctx := signallingContext{context.Background(), ready}
			e, err := s.Wait(ctx, id)
			answers <- fmt.Sprint(formatExit(e), err)
		}()
		<-ready
	}
	musttest.Do(t, s.Release(testContext(t), id))
	for range 5 {
		wanttest.Equal(t, "a waiter is told", <-answers, "SIGTERM<nil>")
	}
	if isAlive(pid) {
		t.Error("its child lives on")
	}
	s.mustUnknown(id)
}

// signallingContext is a context that reports when its Done is first called.
type signallingContext struct {
	context.Context //nolint:containedctx // announce is a context with another Done
	ready           chan<- struct{}
}

func (a signallingContext) Done() <-chan struct{} {
	a.ready <- struct{}{}
	return nil
}

func TestAReleasedIDIsUnknownBeforeTheJobIsDead(t *testing.T) {
	s := newSession(t, jobs.Limits{Jobs: 1, Grace: time.Minute})
	open := s.newGate("go")
	id := s.startScript("trap '' TERM; echo up; read -r x < go")
	s.awaitContains(id, "up")
	over, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Release(over, id); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	s.mustUnknown(id)
	if _, err := s.Create(jobs.Command{Line: "true", Env: usualEnv}); err == nil {
		t.Fatal("what is not dead does not count")
	}
	open()
}
