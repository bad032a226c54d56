package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"nanobot/internal/musttest"
	"nanobot/terminal/jobs"
)

// role is the environment variable that makes the test binary another program.
const role = "JOBS_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "":
		goleak.VerifyTestMain(m)
	case "arguments": // prints its arguments as Go strings, one per line
		for _, arg := range os.Args[1:] {
			fmt.Printf("%q\n", arg)
		}
	case "session": // starts a job and waits to be killed
		t := jobs.NewTable(jobs.Options{Dir: os.TempDir()})
		_, err := t.Create(jobs.Command{Line: os.Args[1], Env: []string{"PATH=" + os.Getenv("PATH")}})
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		select {}
	}
}

// session is a table with the usual environment, closed at the end of the test.
type session struct {
	*jobs.Table
	t   *testing.T
	dir string
}

func newSession(t *testing.T, l jobs.Limits) session {
	t.Helper()
	dir := musttest.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	table := jobs.NewTable(jobs.Options{Limits: l, Dir: dir})
	t.Cleanup(table.Close)
	return session{table, t, dir}
}

var usualEnv = []string{"PATH=" + os.Getenv("PATH")}

func (s session) create(c jobs.Command) string {
	s.t.Helper()
	if c.Env == nil {
		c.Env = usualEnv
	}
	id := musttest.Get(s.Create(c))(s.t)
	return id
}

// startScript starts a shell command line.
func (s session) startScript(line string) string {
	s.t.Helper()
	return s.create(jobs.Command{Line: "/bin/sh", Args: []string{"-c", line}})
}

func (s session) output(id string) jobs.Output {
	s.t.Helper()
	o := musttest.Get(s.Output(id))(s.t)
	return o
}

// wait returns how a job ended, and fails the test after testTimeout.
func (s session) wait(id string) jobs.Exit {
	s.t.Helper()
	e := musttest.Get(s.Wait(testContext(s.t), id))(s.t)
	return e
}

// runToEnd runs a command to its end.
func (s session) runToEnd(c jobs.Command) (string, jobs.Exit) {
	s.t.Helper()
	id := s.create(c)
	e := s.wait(id)
	return s.output(id).Text, e
}

// testTimeout limits the wait for an event that must happen. Only a test that hangs reaches it.
const testTimeout = 5 * time.Minute

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	t.Cleanup(cancel)
	return ctx
}

// awaitText waits until the output of a job meets a condition.
func (s session) awaitText(id string, ok func(string) bool) string {
	s.t.Helper()
	for deadline := time.Now().Add(testTimeout); ; time.Sleep(time.Millisecond) {
		text := s.output(id).Text
		if ok(text) {
			return text
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("the job says %q", text)
		}
	}
}

func (s session) awaitContains(id, part string) string {
	s.t.Helper()
	return s.awaitText(id, func(text string) bool { return strings.Contains(text, part) })
}

// formatExit describes an exit in words.
func formatExit(e jobs.Exit) string {
	s := ""
	if e.Code != nil {
		s += fmt.Sprintf("code %d", *e.Code)
	}
	if e.Signal != nil {
		s += *e.Signal
	}
	return s
}

func isAlive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

// readPid waits for the PID that a job writes to a file.
func (s session) readPid(file string) (pid int) {
	s.t.Helper()
	b, err := os.ReadFile(filepath.Join(s.dir, file))
	if _, serr := fmt.Sscan(string(b), &pid); err != nil || serr != nil {
		s.t.Fatalf("%s says %q: %v", file, b, err)
	}
	return pid
}

// mustUnknown checks that every method returns ErrUnknownJob for an ID.
func (s session) mustUnknown(id string) {
	s.t.Helper()
	_, output := s.Output(id)
	_, wait := s.Wait(context.Background(), id)
	for name, err := range map[string]error{
		"output": output, "wait": wait,
		"kill": s.Kill(context.Background(), id), "release": s.Release(context.Background(), id),
	} {
		if !errors.Is(err, jobs.ErrUnknownJob) {
			s.t.Errorf("%s of %q: %v", name, id, err)
		}
	}
}

func writeFile(t *testing.T, file, text string) {
	t.Helper()
	musttest.Do(t, os.WriteFile(file, []byte(text), 0o700))
}

func sortLines(text string) string {
	lines := strings.Split(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
