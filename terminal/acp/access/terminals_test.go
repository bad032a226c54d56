package access

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"nanobot/terminal/acp/acptest"
	"nanobot/terminal/acp/rpc"
	"nanobot/terminal/acp/view"
)

// terminalFixture is the access of a session, with a turn.
type terminalFixture struct {
	*Session
	t    *testing.T
	turn *Turn
}

func newTerminalFixture(t *testing.T) *terminalFixture {
	w := newFileFixture(t)
	w.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "KEPT=yes", "CHANGED=old", "NANOBOT_KEPT=mark"}
	w.Shell = "/bin/sh"
	turn, _ := acptest.NewTurn(t)
	s := &terminalFixture{w.access(), t, NewTurn(context.Background(), view.New(turn, nil))}
	t.Cleanup(s.Table.Close)
	return s
}

// call calls a terminal/ method and returns the response in JSON.
func (s *terminalFixture) call(method, params string, args ...any) (string, *rpc.Error) {
	s.t.Helper()
	got, rerr := s.Handle(context.Background(), s.turn, "terminal/"+method, json.RawMessage(fmt.Sprintf(params, args...)))
	if rerr != nil {
		return "", rerr
	}
	return acptest.CheckSchema(s.t, terminalShapes[method], got), nil
}

var terminalShapes = map[string]string{
	"create": "CreateTerminalResponse", "output": "TerminalOutputResponse", "wait_for_exit": "WaitForTerminalExitResponse",
	"kill": "KillTerminalResponse", "release": "ReleaseTerminalResponse",
}

func (s *terminalFixture) create(params string) string {
	s.t.Helper()
	got, err := s.call("create", "%s", params)
	if err != nil {
		s.t.Fatal(err)
	}
	var p struct{ TerminalID string }
	if err := json.Unmarshal([]byte(got), &p); err != nil || p.TerminalID == "" {
		s.t.Fatalf("%s, %v", got, err)
	}
	return p.TerminalID
}

func TestATerminalRunsTheRequestedCommand(t *testing.T) {
	t.Parallel()
	s := newTerminalFixture(t)
	for name, c := range map[string]struct {
		params, want string
		cut          bool
	}{
		"words":      {`{"sessionId":"s","command":"printf","args":["%s|","a b","$HOME","*"]}`, "a b|$HOME|*|", false},
		"a line":     {`{"command":"echo one | tr a-z A-Z && echo $((1+1))"}`, "ONE\n2\n", false},
		"null args":  {`{"command":"echo hi","args":null,"env":null,"cwd":null,"outputByteLimit":null}`, "hi\n", false},
		"empty args": {`{"command":"echo hi there","args":[]}`, "hi there\n", false},
		"its folder": {`{"command":"pwd"}`, s.env.Dir + "\n", false},
		"a folder":   {`{"command":"pwd","cwd":"` + s.env.Dir + `/sub"}`, s.env.Dir + "/sub\n", false},
		"variables": {
			`{"command":"echo $KEPT $CHANGED $NEW $NANOBOT_KEPT","env":[{"name":"CHANGED","value":"new"},{"name":"NEW","value":"a=b"},{"name":"NANOBOT_KEPT","value":"x"},{"name":"","value":"x"},{"name":"A=B","value":"x"}]}`,
			"yes new a=b mark\n", false,
		},
		"no input":   {`{"command":"cat; echo end"}`, "end\n", false},
		"both":       {`{"command":"echo a; echo b >&2; echo c"}`, "a\nb\nc\n", false},
		"the limit":  {`{"command":"printf 'xxä€'","outputByteLimit":4}`, "€", true},
		"zero bytes": {`{"command":"echo x","outputByteLimit":0}`, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			id := s.create(c.params)
			if got, err := s.call("wait_for_exit", `{"sessionId":"s","terminalId":%q}`, id); err != nil || got != `{"exitCode":0,"signal":null}` {
				t.Errorf("exit %s, %v", got, err)
			}
			got, err := s.call("output", `{"terminalId":%q}`, id)
			var out struct {
				Output     string
				Truncated  *bool
				ExitStatus json.RawMessage
			}
			if jerr := json.Unmarshal([]byte(got), &out); err != nil || jerr != nil || out.Output != c.want || string(out.ExitStatus) != `{"exitCode":0,"signal":null}` ||
				out.Truncated == nil || *out.Truncated != c.cut {
				t.Errorf("output %s, %v", got, err)
			}
			if got, err := s.call("release", `{"terminalId":%q}`, id); err != nil || got != "{}" {
				t.Errorf("release %s, %v", got, err)
			}
		})
	}
}

func TestAnUnknownTerminalIsAnError(t *testing.T) {
	t.Parallel()
	s := newTerminalFixture(t)
	for name, c := range map[string]struct {
		params string
		code   int
		want   string
	}{
		"unknown command": {`{"command":"no-such-program-here"}`, rpc.CodeInvalidParams, "unknown command"},
		"with arguments":  {`{"command":"echo hi","args":["x"]}`, rpc.CodeInvalidParams, "unknown command"},
		"nothing":         {`{}`, rpc.CodeInvalidParams, "no command"},
		"odd arguments":   {`{"command":"echo","args":["a",5]}`, rpc.CodeInvalidParams, ""},
		"relative folder": {`{"command":"pwd","cwd":"sub"}`, rpc.CodeInvalidParams, "absolute"},
		"outside":         {`{"command":"pwd","cwd":"/"}`, rpc.CodeInvalidParams, "must be inside"},
		"by a link":       {`{"command":"pwd","cwd":"` + s.env.Dir + `/out"}`, rpc.CodeInvalidParams, "must be inside"},
	} {
		if got, err := s.call("create", "%s", c.params); err == nil || err.Code != c.code || !strings.Contains(err.Message, c.want) {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	released := s.create(`{"command":"true"}`)
	if _, err := s.call("release", `{"terminalId":%q}`, released); err != nil {
		t.Fatal(err)
	}
	other := newTerminalFixture(t).create(`{"command":"sleep 60"}`)
	for _, id := range []string{"", "term_x", released, other} {
		for _, method := range []string{"output", "wait_for_exit", "kill", "release"} {
			if got, err := s.call(method, `{"terminalId":%q}`, id); err == nil || err.Code != rpc.CodeNotFound {
				t.Errorf("%s of %q: %s, %v", method, id, got, err)
			}
		}
	}
	if _, err := s.call("resize", `{}`); err == nil || err.Code != rpc.CodeNoMethod {
		t.Errorf("an unknown method: %v", err)
	}
}

func TestAWaitMayBeCancelledAndAKilledTerminalQueried(t *testing.T) {
	t.Parallel()
	s := newTerminalFixture(t)
	id := s.create(`{"command":"echo started; exec sleep 60"}`)
	if got, err := s.call("output", `{"terminalId":%q}`, id); err != nil || strings.Contains(got, "exitStatus") || !strings.Contains(got, `"truncated":false`) {
		t.Errorf("output while it runs: %s, %v", got, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	params := json.RawMessage(fmt.Sprintf(`{"terminalId":%q}`, id))
	if _, err := s.Handle(ctx, s.turn, "terminal/wait_for_exit", params); err == nil || err.Code != rpc.CodeCancelled {
		t.Errorf("cancelled: %v", err)
	}
	for range 2 {
		if got, err := s.call("kill", `{"terminalId":%q}`, id); err != nil || got != "{}" {
			t.Errorf("kill: %s, %v", got, err)
		}
	}
	if got, err := s.call("wait_for_exit", `{"terminalId":%q}`, id); err != nil || got != `{"exitCode":null,"signal":"SIGTERM"}` {
		t.Errorf("exit: %s, %v", got, err)
	}
	if got, err := s.call("output", `{"terminalId":%q}`, id); err != nil || !strings.Contains(got, `"exitStatus":{"exitCode":null,"signal":"SIGTERM"}`) {
		t.Errorf("output: %s, %v", got, err)
	}
}

// Resource limits apply to the whole process, so this test runs itself in a process of its own.
func TestACommandThatLacksFileDescriptorsAtItsStartMayBeRetried(t *testing.T) {
	if os.Getenv("ACPTEST_POOR") == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), "ACPTEST_POOR=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	s := newTerminalFixture(t)
	s.create(`{"command":"echo hello"}`)
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 0, Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	_, rerr := s.call("create", `{"command":"echo hello"}`)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	if rerr == nil || rerr.Code != rpc.CodeBusy || !strings.HasSuffix(rerr.Message, "try again later") {
		t.Errorf("answered %v", rerr)
	}
	s.create(`{"command":"echo hello"}`)
}
