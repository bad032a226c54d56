package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"nanobot/internal/musttest"
)

// asProgram makes the test binary the program.
const asProgram = "NANOBOT_SIM_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// simulator is a running nanobot-sim.
type simulator struct {
	t      testing.TB
	cmd    *exec.Cmd
	stderr *bytes.Buffer
	// The first line.
	Network, Address, Token, API, Gateway, Guild, Channel string
	Bot                                                   struct{ ID, Username string }
}

// program returns the command that runs nanobot-sim.
func program(t testing.TB, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), musttest.Get(os.Executable())(t), args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	return cmd
}

// start starts nanobot-sim. At the end of the test, it must end with 0 after SIGTERM, and without
// violations that the test has not asked for.
func start(t testing.TB, args ...string) *simulator {
	t.Helper()
	s := &simulator{t: t, cmd: program(t, args...), stderr: &bytes.Buffer{}}
	s.cmd.Stderr = s.stderr
	s.cmd.Cancel = nil // the end of the test's context comes before its cleanup
	out := musttest.Get(s.cmd.StdoutPipe())(t)
	musttest.Do(t, s.cmd.Start())
	lines := bufio.NewReader(out)
	first := musttest.Get(lines.ReadBytes('\n'))(t)
	musttest.Do(t, json.Unmarshal(first, s))
	t.Cleanup(func() {
		musttest.Do(t, s.cmd.Process.Signal(syscall.SIGTERM))
		rest, _ := io.ReadAll(lines)
		if err := s.cmd.Wait(); err != nil || len(rest) > 0 {
			t.Errorf("ended with %v; more output %q, errors %s", err, rest, s.stderr)
		}
	})
	return s
}

// request makes a request of a test and decodes the response.
func (s *simulator) request(method, path, body string, header http.Header, v any) int {
	s.t.Helper()
	r := musttest.Get(http.NewRequestWithContext(s.t.Context(), method, s.Address+path, strings.NewReader(body)))(s.t)
	for name, values := range header {
		r.Header[name] = values
	}
	r.Host = header.Get("Host")
	resp := musttest.Get(http.DefaultClient.Do(r))(s.t)
	defer resp.Body.Close()
	content := musttest.Get(io.ReadAll(resp.Body))(s.t)
	if err := json.Unmarshal(content, v); err != nil {
		s.t.Fatalf("%s %s: %d %s", method, path, resp.StatusCode, content)
	}
	return resp.StatusCode
}

// outcome is the response to a POST.
type outcome struct {
	Error         string
	After         int
	Chat, Message string
	Press         string
}

// post lets a person act.
func (s *simulator) post(what, body string, args ...any) (o outcome) {
	s.t.Helper()
	if status := s.request("POST", "/_sim/"+what, fmt.Sprintf(body, args...), nil, &o); status != http.StatusOK {
		s.t.Fatalf("%s: %d %s", fmt.Sprintf(body, args...), status, o.Error)
	}
	return o
}

// next waits for the first call of a method after a number.
func (s *simulator) next(after int, method string) sentCall {
	s.t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); {
		var calls []sentCall
		s.request("GET", fmt.Sprintf("/_sim/sent?after=%d&wait=10s", after), "", nil, &calls)
		for _, c := range calls {
			if after = c.N; c.Method == method {
				return c
			}
		}
	}
	s.t.Fatalf("the bot made no call of %s: %s", method, s.stderr)
	return sentCall{}
}

// violations returns the violations so far.
func (s *simulator) violations() (all []string) {
	s.t.Helper()
	s.request("GET", "/_sim/violations", "", nil, &all)
	return all
}

// exitStatus runs nanobot-sim to its end.
func exitStatus(t *testing.T, args ...string) (status int, stderr string) {
	t.Helper()
	cmd := program(t, args...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	err := cmd.Run()
	var exited *exec.ExitError
	if err != nil && !errors.As(err, &exited) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), errs.String()
}
