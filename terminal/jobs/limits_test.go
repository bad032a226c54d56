package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
	"nanobot/internal/procfs"
	"nanobot/internal/wanttest"
	"nanobot/terminal/jobs"
)

func TestTheJobsOfASessionAreLimited(t *testing.T) {
	s := newSession(t, jobs.Limits{Jobs: 2})
	one, other := s.startScript("sleep 300"), s.startScript("sleep 300")
	id, err := s.Create(jobs.Command{Line: "true", Env: usualEnv})
	if id != "" || err == nil || !strings.Contains(err.Error(), "2 commands that run, which is the limit; release one first") {
		t.Fatalf("id %q, %v", id, err)
	}
	for _, id := range []string{other, one} {
		musttest.Do(t, s.Release(testContext(t), id))
		s.startScript("sleep 300")
	}
}

func TestTheOldestEndedJobMakesRoom(t *testing.T) {
	s := newSession(t, jobs.Limits{Jobs: 4})
	running, first, second, third := s.startScript("sleep 300"), s.startScript("exit 1"), s.startScript("exit 2"), s.startScript("exit 3")
	for _, id := range []string{third, second, first} {
		s.wait(id)
	}
	s.startScript("sleep 300")
	s.mustUnknown(first)
	s.startScript("sleep 300")
	s.mustUnknown(second)
	for _, id := range []string{running, third} {
		if _, err := s.Output(id); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
}

func TestAllJobsCanBeKilledAtOnce(t *testing.T) {
	s := newSession(t, jobs.Limits{})
	over, one, other := s.startScript("exit 0"), s.startScript("exec sleep 300"), s.startScript("exec sleep 300")
	s.wait(over)
	wanttest.Equal(t, "were killed:", s.KillAll(), 2)
	for _, id := range []string{one, other} {
		if exit := s.wait(id); exit.Signal == nil || *exit.Signal != "SIGTERM" {
			t.Errorf("ended with %+v", exit)
		}
	}
	wanttest.Equal(t, "were killed again:", s.KillAll(), 0)
	s.startScript("exit 0") // the session still works
}

func TestAReleasedJobMakesRoomForTheNext(t *testing.T) {
	s := newSession(t, jobs.Limits{Jobs: 1})
	for range 300 {
		musttest.Do(t, s.Release(testContext(t), s.create(jobs.Command{Line: "true"})))
	}
}

func TestConcurrentCallsNeverExceedTheLimit(t *testing.T) {
	s := newSession(t, jobs.Limits{Jobs: 5})
	var g sync.WaitGroup
	ids := make(chan string, 40)
	for range cap(ids) {
		g.Go(func() {
			if id, err := s.Create(jobs.Command{Line: "sleep 300", Env: usualEnv}); err == nil {
				ids <- id
			}
		})
	}
	g.Wait()
	if len(ids) != 5 {
		t.Fatalf("%d were started", len(ids))
	}
}

func TestAJobIsEndedAfterItsMaximumRuntime(t *testing.T) {
	for grace, lines := range map[time.Duration]map[string]string{
		time.Minute: {
			"exec sleep 300":                          "SIGTERM",
			"sleep 300; exit":                         "SIGTERM",
			"yes; exit":                               "SIGTERM",
			"exec 1>&- 2>&-; sleep 300; exit":         "SIGTERM",
			"trap 'exit 3' TERM; while :; do :; done": "code 3",
			"exit 0": "code 0",
		},
		2 * time.Second: {
			"trap '' TERM; while :; do sleep 0.01; done":  "SIGKILL",
			"(trap '' TERM; sleep 300; sleep 300) & wait": "SIGTERM",
		},
	} {
		s := newSession(t, jobs.Limits{MaxRuntime: 5 * time.Second, Grace: grace})
		ids := map[string]string{}
		for line := range lines {
			ids[line] = s.startScript(line)
		}
		for line, want := range lines {
			if e := s.wait(ids[line]); formatExit(e) != want {
				t.Errorf("%s: %s", line, formatExit(e))
			}
		}
	}
}

func TestTheMemoryOfAJobIsLimited(t *testing.T) {
	s := newSession(t, jobs.Limits{Memory: 64 << 20})
	const hungry = "import sys; x = bytearray(int(sys.argv[1]) << 20); print('fed')"
	for name, c := range map[string]jobs.Command{
		"itself":       {Line: "python3", Args: []string{"-c", hungry, "300"}},
		"its children": {Line: fmt.Sprintf("sh -c \"python3 -c \\\"%s\\\" 300\"; exit 1", hungry)},
	} {
		text, e := s.runToEnd(c)
		if !strings.Contains(text, "MemoryError") || formatExit(e) != "code 1" {
			t.Errorf("%s: %s, %s", name, formatExit(e), text)
		}
	}
	if text, e := s.runToEnd(jobs.Command{Line: "python3", Args: []string{"-c", hungry, "10"}}); text != "fed\n" || formatExit(e) != "code 0" {
		t.Errorf("a modest one: %s, %s", formatExit(e), text)
	}
	if text, e := s.runToEnd(jobs.Command{Line: "ulimit -d; ulimit -d unlimited; ulimit -d"}); !strings.HasPrefix(text, "65536\n") {
		t.Errorf("the limit is %s, %s", text, formatExit(e))
	}
}

func TestCloseLeavesNothingRunning(t *testing.T) {
	s := newSession(t, jobs.Limits{Grace: 300 * time.Millisecond})
	var pids []int
	var ids []string
	for _, line := range []string{
		"echo $$; exec sleep 300",
		"sleep 300 & echo $!; wait",
		"(trap '' TERM; sleep 300; sleep 300) & echo $!; wait",
		"timeout 300 sleep 300 & echo $!; wait",
		"setsid -w true; (sleep 300 & echo $!; wait) & wait",
		"bash -m -c 'sleep 300 & echo $!; wait' 2>/dev/null; exit",
		"trap '' TERM; echo $$; while :; do sleep 0.01; done",
	} {
		id, pid := s.startScript(line), 0
		fmt.Sscan(s.awaitContains(id, "\n"), &pid)
		if !isAlive(pid) {
			t.Fatalf("%s: process %d does not live", line, pid)
		}
		pids, ids = append(pids, pid), append(ids, id)
	}
	var g sync.WaitGroup
	for _, id := range ids {
		ready := make(chan struct{})
		g.Go(func() {
			if _, err := s.Wait(signallingContext{context.Background(), ready}, id); err != nil {
				t.Error(err)
			}
		})
		<-ready
	}
	for range 3 {
		g.Go(s.Close)
	}
	s.Close()
	for _, pid := range pids {
		if isAlive(pid) {
			t.Errorf("process %d lives on", pid)
		}
	}
	g.Wait()
	for _, id := range ids {
		s.mustUnknown(id)
	}
	if id, err := s.Create(jobs.Command{Line: "true", Env: usualEnv}); err == nil || id != "" {
		t.Errorf("id %q after the end", id)
	}
}

func TestAnIDIsKnownInItsOwnSessionOnly(t *testing.T) {
	one, other := newSession(t, jobs.Limits{}), newSession(t, jobs.Limits{})
	id, theirs := one.startScript("sleep 300"), other.startScript("sleep 300")
	other.mustUnknown(id)
	one.mustUnknown(theirs)
	for _, wrong := range []string{"", "term_", "term_1", strings.ToLower(id), id + " "} {
		one.mustUnknown(wrong)
	}
	if o := one.output(id); o.Exit != nil {
		t.Error("another session has ended it")
	}
	if len(id) < 25 || id == theirs || id[:10] == theirs[:10] {
		t.Errorf("%q and %q can be guessed", id, theirs)
	}
}

func TestFinishedJobsLeaveNoFileAndNoProcess(t *testing.T) {
	s := newSession(t, jobs.Limits{})
	s.wait(s.startScript("exit 0"))
	before := openFiles(t)
	var ids []string
	for i := range 50 {
		ids = append(ids, s.startScript(fmt.Sprintf("echo out; echo err >&2; exit %d", i)))
	}
	for i, id := range ids {
		if e := s.wait(id); formatExit(e) != fmt.Sprintf("code %d", i) {
			t.Errorf("%d: %s", i, formatExit(e))
		}
	}
	if after := openFiles(t); after > before {
		t.Errorf("%d files open, %d before", after, before)
	}
	if list, _ := exec.Command("ps", "-o", "stat=,args=", "--ppid", fmt.Sprint(os.Getpid())).Output(); strings.Contains(string(list), "Z") {
		t.Errorf("zombies:\n%s", list)
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

func TestAJobDiesWithItsGateway(t *testing.T) {
	dir := t.TempDir()
	note := dir + "/pid"
	self := musttest.Get(os.Executable())(t)
	cmd := exec.Command(self, "echo $$ > "+note+".new && mv "+note+".new "+note+"; while :; do sleep 0.05; done")
	cmd.Env = append(os.Environ(), role+"=session")
	gateway := killtest.Start(t, cmd)
	pid := 0
	eventually(t, "it began", func() bool {
		b, err := os.ReadFile(note)
		n, _ := fmt.Sscan(string(b), &pid)
		return err == nil && n == 1 && isAlive(pid)
	})
	gateway.Kill()
	eventually(t, "it is dead", func() bool { return !isAlive(pid) })
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(testTimeout); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not so: %s", what)
		}
	}
}

func TestJobsWorkUnderConcurrentCalls(t *testing.T) {
	s := newSession(t, jobs.Limits{Jobs: 6, Grace: 100 * time.Millisecond})
	var g sync.WaitGroup
	for i := range 12 {
		g.Go(func() {
			for range 5 {
				id, err := s.Create(jobs.Command{Line: "seq 1 1000; sleep 0.05; exit 3", Env: usualEnv})
				if err != nil {
					continue
				}
				var users sync.WaitGroup
				users.Go(func() { _, _ = s.Wait(context.Background(), id) })
				users.Go(func() { _, _ = s.Output(id) })
				if i%2 == 0 {
					users.Go(func() { _ = s.Kill(context.Background(), id) })
				}
				if err := s.Release(context.Background(), id); err != nil && !errors.Is(err, jobs.ErrUnknownJob) {
					t.Error(err)
				}
				users.Wait()
			}
		})
	}
	g.Wait()
}
