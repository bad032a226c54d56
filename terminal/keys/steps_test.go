package keys_test

import (
	"context"
	"math"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nanobot/config"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
	"nanobot/terminal/keys"
)

func TestTheAgentsKeystrokesReachTheShell(t *testing.T) {
	t.Parallel()
	r := newFixture(t, script{Responses: []string{
		encodeResponse("I see a prompt", command{Keystrokes: "echo $((6*7)) > answer\n", Duration: 0.5}),
		taskDone("It is written"), taskDone("It is 42"),
	}})
	if out := r.runTurn(t.Context(), "compute"); out.Status != terminal.Done {
		t.Errorf("ended %s: %s", out.Status, r.lastText())
	}
	r.awaitContent("answer", "42\n")
	wanttest.Equal(t, "the last message is", r.lastText(), "It is 42")
	told := r.requests()
	if len(told) != 3 || !strings.HasPrefix(told[0], "Current Terminal Screen:\n") || !strings.HasSuffix(told[0], "$") {
		t.Fatalf("told %q", told)
	}
	if want := "New Terminal Output:\n"; !strings.HasPrefix(told[1], want) || !strings.Contains(told[1], "echo $((6*7)) > answer\n$") {
		t.Errorf("told %q", told[1])
	}
	if !strings.HasPrefix(told[2], "Current terminal state:\n") || !strings.Contains(told[2], "Are you sure you want to mark the task as complete?") {
		t.Errorf("told %q", told[2])
	}
}

// This is the example of the protocol's specification.
func TestVimCreatesTheFileOfTheExample(t *testing.T) {
	t.Parallel()
	requireProgram(t, "vim")
	r := newFixture(t, script{Responses: []string{
		encodeResponse("", command{Keystrokes: "vim test.py\n", Duration: 0.5}, command{Keystrokes: "i", Duration: 0.1}, command{Keystrokes: "print('hello')", Duration: 0.1}, command{Keystrokes: "Escape", Duration: 0.1}, command{Keystrokes: ":wq\n", Duration: 0.3}),
		encodeResponse("", command{Keystrokes: "test -s test.py && echo rea''dy\n", Duration: 1}),
		taskDone(""), taskDone(""),
	}})
	r.runTurn(t.Context(), "write test.py")
	r.awaitContent("test.py", "print('hello')\n")
	wanttest.Equal(t, "the last message is", r.lastText(), "Done.")
}

func requireProgram(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skip(err)
	}
}

func TestTheTerminalOutlivesTurnsUntilANewConversation(t *testing.T) {
	t.Parallel()
	r := newFixture(t, script{Responses: []string{encodeResponse("", command{Keystrokes: "cd /; x=kept\n", Duration: 0.2}), taskDone("")}})
	r.runTurn(t.Context(), "one")
	r.script(script{Responses: []string{encodeResponse("", command{Keystrokes: "echo $x in $PWD > " + r.work + "/out\n", Duration: 0.5}), taskDone("")}})
	r.runTurn(t.Context(), "two")
	r.awaitContent("out", "kept in /\n")
	pid := shellPid(r)
	r.runner.EndIdleAgent("cli:local")
	r.awaitDeath(pid)
	r.script(script{Responses: []string{encodeResponse("", command{Keystrokes: "echo [$x] > out2\n", Duration: 0.5}), taskDone("")}})
	r.runTurn(t.Context(), "three")
	r.awaitContent("out2", "[]\n")
}

func TestCommandsOfATerminalEndWithIt(t *testing.T) {
	t.Parallel()
	r := newFixture(t, script{Responses: []string{
		encodeResponse("", command{Keystrokes: "sleep 1000 & setsid sh -c 'echo $$ > detached; exec sleep 1000' & nohup sleep 1000 >/dev/null & sleep 1000\n", Duration: 0.3}),
		encodeResponse("", command{Keystrokes: "C-z", Duration: 0.3}, command{Keystrokes: "jobs -p > pids; echo $$ >> pids; sync\n", Duration: 1}),
		taskDone(""), taskDone(""),
	}})
	r.runTurn(t.Context(), "start")
	pids := r.awaitFile("pids") + r.awaitFile("detached")
	if len(strings.Fields(pids)) < 5 {
		t.Fatalf("the jobs are %q", pids)
	}
	r.runner.EndIdleAgent("cli:local")
	for _, pid := range strings.Fields(pids) {
		r.awaitDeath(pid)
	}
}

// shellPid returns the PID of the shell.
func shellPid(r *fixture) string {
	r.t.Helper()
	r.script(script{Responses: []string{encodeResponse("", command{Keystrokes: "echo $$ > " + r.work + "/pid\n", Duration: 0.3}), taskDone("")}})
	r.runTurn(r.t.Context(), "pid")
	return strings.TrimSpace(r.awaitFile("pid"))
}

// awaitDeath waits until a process is gone.
func (r *fixture) awaitDeath(pid string) {
	r.t.Helper()
	r.awaitCondition("the end of process "+pid, func() bool {
		n, err := strconv.Atoi(pid)
		return err != nil || unix.Kill(n, 0) != nil
	})
}

func TestErrorsThatEndATurn(t *testing.T) {
	t.Parallel()
	step := encodeResponse("", command{Keystrokes: "", Duration: 0})
	for name, c := range map[string]struct {
		script   script
		maxSteps int
		want     string
	}{
		"steps":               {script{Responses: []string{step}}, 3, "Stopped after 3 steps"},
		"the agent exits":     {script{Responses: []string{step}, Then: "exit"}, 9, "The agent has ended before the task was complete (exit status 0)"},
		"the agent crashes":   {script{Responses: []string{step}, Then: "crash"}, 9, "The agent has ended before the task was complete (exit status 3)"},
		"the agent closes":    {script{Responses: []string{step}, Then: "close"}, 9, "The agent has ended before the task was complete (killed by SIGTERM)"},
		"the agent floods":    {script{Responses: []string{step}, Then: "flood"}, 9, "The agent's response is too long"},
		"the shell exits":     {script{Responses: []string{encodeResponse("", command{Keystrokes: "exit 5\n", Duration: 30})}}, 9, "The shell of the terminal has ended (exit status 5)"},
		"a step crashes":      {script{Turn: true, Responses: []string{step}, Then: "crash"}, 9, "The agent has ended before the task was complete (exit status 3)"},
		"a step floods":       {script{Turn: true, Responses: []string{step}, Then: "flood"}, 9, "The agent's response is too long"},
		"nonsense":            {script{Responses: []string{"hello", "{", "[]", "null"}}, 5, "Stopped after 5 steps"},
		"nonsense in a step":  {script{Turn: true, Responses: []string{"hello"}}, 2, "Stopped after 2 steps"},
		"the shell is killed": {script{Responses: []string{encodeResponse("", command{Keystrokes: "kill -9 $$\n", Duration: 30})}}, 9, "The shell of the terminal has ended (killed by SIGKILL)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newFixture(t, c.script)
			r.settings.MaxSteps = c.maxSteps
			r.config.MaxLine = 1 << 20
			out := r.runTurn(t.Context(), "try")
			if out.Status != terminal.Failed || !strings.Contains(r.lastText(), c.want) {
				t.Errorf("ended %s: %q", out.Status, r.lastText())
			}
			// The next message finds a terminal that works.
			r.script(script{Turn: c.script.Turn, Responses: []string{encodeResponse("", command{Keystrokes: "echo fine > fine\n", Duration: 0.5}), taskDone("")}})
			r.settings.MaxSteps = 9
			if out := r.runTurn(t.Context(), "again"); out.Status != terminal.Done {
				t.Errorf("after that a turn ended %s: %s", out.Status, r.lastText())
			}
			r.awaitContent("fine", "fine\n")
		})
	}
}

func TestTheAgentLearnsWhyItsResponseIsInvalid(t *testing.T) {
	t.Parallel()
	r := newFixture(t, script{Responses: []string{"so I think", encodeResponse("", command{Keystrokes: "echo a", Duration: 0}, command{Keystrokes: "\n", Duration: 0}), taskDone(""), taskDone("")}})
	r.runTurn(t.Context(), "try")
	told := r.requests()
	wanttest.Equal(t, "told", told[1], "Previous response had parsing errors:\nERROR: No valid JSON found in response\nWARNINGS: - No valid JSON object found\n\nPlease fix these issues and provide a proper JSON response.")
	if want := "Previous response had warnings:\nWARNINGS: - Command 1 should end with newline"; !strings.HasPrefix(told[2], want) {
		t.Errorf("told %q", told[2])
	}
}

func TestATurnAgentReadsAPrompt(t *testing.T) {
	t.Parallel()
	task := "Do {this}\n\nCurrent terminal state:\nnothing"
	r := newFixture(t, script{Turn: true, Responses: []string{
		`<think>{"no"}</think> <response><analysis>A</analysis><plan>P</plan><commands><keystrokes duration="0.3">echo one
</keystrokes></commands></response>`,
		taskDone(""),
	}})
	if out := r.runTurn(t.Context(), task); out.Status != terminal.Done {
		t.Errorf("ended %s: %s", out.Status, r.lastText())
	}
	told := r.requests()
	if len(told) != 3 {
		t.Fatalf("told %d times", len(told))
	}
	for i, prompt := range told {
		if !strings.Contains(prompt, "Task Description:\n"+task+"\n\nCurrent terminal state:\n") {
			t.Errorf("prompt %d lacks the task: %q", i+1, prompt)
		}
	}
	if !strings.HasSuffix(told[0], "\n\nCurrent terminal state:\nCurrent Terminal Screen:\n$") {
		t.Errorf("the first prompt ends with %q", told[0][len(told[0])-200:])
	}
	steps, rest, _ := strings.Cut(told[1], "\nPrevious steps:\n")
	if !strings.Contains(steps, `"task_complete"`) || !strings.HasPrefix(rest, "1. A\n   plan: P\n   keystrokes: \"echo one\\n\"\n") {
		t.Errorf("the second prompt is %q", told[1])
	}
	// The question whether the task is complete has the heading already.
	if n := strings.Count(told[2], "Current terminal state:\n"); n != 2 { // one of them is the task's
		t.Errorf("the last prompt has the heading %d times", n)
	}
}

func TestATurnThatIsStoppedLeavesAUsableTerminal(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]script{
		// A shell between two commands may miss the interrupt: the command says that it has begun.
		"in a command":          {Responses: []string{encodeResponse("", command{Keystrokes: "sh -c 'echo begun > begun; exec sleep 1000'\n", Duration: 60})}},
		"while the agent hangs": {Responses: []string{encodeResponse("", command{Keystrokes: "echo begun > begun\n", Duration: 0.1})}, Then: "hang"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newFixture(t, s)
			r.start()
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan terminal.Outcome)
			go func() { ended <- r.runTurn(ctx, "work") }()
			r.awaitFile("begun")
			stop()
			if out := <-ended; out.Status != terminal.Stopped {
				t.Errorf("ended %s", out.Status)
			}
			r.script(script{Responses: []string{encodeResponse("", command{Keystrokes: "echo fine > fine\n", Duration: 0}), taskDone("")}})
			r.runTurn(t.Context(), "again")
			wanttest.Equal(t, "the terminal printed", r.awaitFile("fine"), "fine\n")
		})
	}
}

func TestATurnThatTakesTooLongEnds(t *testing.T) {
	t.Parallel()
	r := newFixture(t, script{Responses: []string{encodeResponse("", command{Keystrokes: "sleep 1000\n", Duration: 60})}})
	r.config.Timeout = 2
	if out := r.runTurn(t.Context(), "work"); out.Status != terminal.TimedOut || !strings.Contains(r.lastText(), "Timed out after 2 s.") {
		t.Errorf("ended %s: %s", out.Status, r.lastText())
	}
}

func TestXMLNeedsATurnAgent(t *testing.T) {
	s := keys.NewSettings()
	s.Format = "xml"
	if problems := s.Check(config.Scope{}); len(problems) != 1 || problems[0].Path[0] != "format" {
		t.Errorf("found %v", problems)
	}
	s.Agent = "turn"
	if problems := s.Check(config.Scope{}); len(problems) != 0 {
		t.Errorf("found %v", problems)
	}
}

func TestAWaitIsBounded(t *testing.T) {
	for seconds, want := range map[float64]time.Duration{
		600: time.Minute, 60: time.Minute, 59.5: 59500 * time.Millisecond, 0.1: 100 * time.Millisecond, 0: 0, -1: 0,
		math.Inf(1): time.Minute, math.Inf(-1): 0, 1e300: time.Minute,
	} {
		if got := keys.PauseAfter(seconds); got != want {
			t.Errorf("a wait of %v s lasts %v", seconds, got)
		}
	}
}
