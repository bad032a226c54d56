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

	"nanobot/terminal/jobs"
)

// role names, in the environment, what the test binary is when it is not the test.
const role = "JOBS_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "":
		goleak.VerifyTestMain(m)
	case "arguments": // prints what it was given, one Go string a line
		for _, arg := range os.Args[1:] {
			fmt.Printf("%q\n", arg)
		}
	case "session": // has a job and waits to be killed
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
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
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
	id, err := s.Create(c)
	if err != nil {
		s.t.Fatal(err)
	}
	return id
}

// script starts a line of the shell.
func (s session) script(line string) string {
	s.t.Helper()
	return s.create(jobs.Command{Line: "/bin/sh", Args: []string{"-c", line}})
}

func (s session) out(id string) jobs.Output {
	s.t.Helper()
	o, err := s.Output(id)
	if err != nil {
		s.t.Fatal(err)
	}
	return o
}

// wait waits for the end, which must come soon.
func (s session) wait(id string) jobs.Exit {
	s.t.Helper()
	e, err := s.Wait(testContext(s.t), id)
	if err != nil {
		s.t.Fatal(err)
	}
	return e
}

// runToEnd runs a command to its end.
func (s session) runToEnd(c jobs.Command) (string, jobs.Exit) {
	s.t.Helper()
	id := s.create(c)
	e := s.wait(id)
	return s.out(id).Text, e
}

// patience is how long a test waits for what must come. Only a test that fails takes so long.
const patience = 5 * time.Minute

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// until returns when a job's text is as wanted.
func (s session) until(id string, ok func(string) bool) string {
	s.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		text := s.out(id).Text
		if ok(text) {
			return text
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("the job says %q", text)
		}
	}
}

func (s session) untilHas(id, part string) string {
	s.t.Helper()
	return s.until(id, func(text string) bool { return strings.Contains(text, part) })
}

// formatExit writes an exit as a status in words.
func formatExit(e jobs.Exit) string {
	s := ""
	if e.Code != nil {
		s += fmt.Sprintf("code %d", *e.Code)
	}
	if e.Signal != nil {
		s += *e.Signal
	}
	if e.TimedOut {
		s += " timed out"
	}
	return s
}

func isAlive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

// readPid returns the process id that a job has written to a file.
func (s session) readPid(file string) (pid int) {
	s.t.Helper()
	b, err := os.ReadFile(filepath.Join(s.dir, file))
	if _, serr := fmt.Sscan(string(b), &pid); err != nil || serr != nil {
		s.t.Fatalf("%s says %q: %v", file, b, err)
	}
	return pid
}

// mustUnknown fails unless every method calls an id unknown.
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

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}

func sorted(text string) string {
	lines := strings.Split(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
