package keys_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"nanobot/terminal"
)

func makeFIFO(path string) error { return syscall.Mkfifo(path, 0o600) }

// play has an agent type commands, one step after the other.
func (r *fixture) play(steps ...command) {
	r.t.Helper()
	s := script{}
	for _, c := range steps {
		s.Responses = append(s.Responses, respond("", c))
		s.After = append(s.After, c.after)
	}
	s.Responses = append(s.Responses, taskDone(""))
	r.script(s)
	r.settings.MaxSteps = 10_000
	if out := r.turn(r.t.Context(), "play"); out.Status != terminal.Done {
		r.t.Errorf("ended %s: %s", out.Status, r.last())
	}
}

// after is a command that is typed when the agent was told something.
func after(told, keystrokes string) command { return command{keystrokes, 0.1, told} }

func TestLessIsPagedThrough(t *testing.T) {
	t.Parallel()
	need(t, "less")
	r := newFixture(t, script{})
	r.play(after("$", "seq 1 500 | less\n"), after("\n39\n:", "Space"), after("\n78\n:", "G"), after("\n500\n(END)", "q"), after("$", "echo left > left\n"))
	r.awaitContent("left", "left\n")
}

func TestAJobIsSuspendedAndResumed(t *testing.T) {
	t.Parallel()
	r := newFixture(t, script{})
	r.play(after("$", "sh -c 'echo be''gun; exec cat > typed'\n"), after("begun", "C-z"), after("Stopped", "fg; echo fi''n\n"), after("exec cat", "back\n"), after("back", "C-d"), after("fin", ""))
	r.awaitContent("typed", "back\n")
}

func TestTheShellCompletesAndRemembers(t *testing.T) {
	t.Parallel()
	r := newFixture(t, script{})
	if err := os.WriteFile(filepath.Join(r.work, "a-long-name"), []byte("content\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.play(after("$", "cat a-lo"), after("a-lo", "Tab"), after("a-long-name", "> copy\n"), after("copy\n$", "echo again >> log; echo fi''n\n"), after("\nfin\n$", "Up"), after("echo again", "Enter"))
	r.awaitContent("copy", "content\n")
	r.awaitContent("log", "again\nagain\n")
}

func TestABinaryOnTheScreenLeavesAUsableTerminal(t *testing.T) {
	t.Parallel()
	r := newFixture(t, script{})
	r.play(after("$", "head -c 300000 /bin/bash; tput reset; echo fi''n\n"), after("fin", "C-c"), after("$", "echo fine > fine\n"))
	r.awaitContent("fine", "fine\n")
}

func TestAFloodIsLimited(t *testing.T) {
	t.Parallel()
	r := newFixture(t, script{})
	r.play(after("$", "seq 1 200000; echo fi''n\n"), after("\nfin\n", ""))
	told := r.requests()
	for i, text := range told {
		if len(text) > 11_000 {
			t.Errorf("request %d has %d bytes", i+1, len(text))
		}
	}
	if !slices.ContainsFunc(told, func(text string) bool { return strings.Contains(text, "\n200000\nfin\n") }) {
		t.Error("the end of the flood was not told")
	}
}

func TestALongTextIsTypedWhole(t *testing.T) {
	t.Parallel()
	r := newFixture(t, script{})
	text := strings.Repeat("0123456789abcde\n", 5_000)
	r.play(after("$", "sh -c 'echo be''gun; exec cat > typed'; echo fi''n\n"), after("begun", text), after("abcde", "C-d"), after("fin", ""))
	r.awaitContent("typed", text)
}

func TestAProgramThatDoesNotReadHoldsUpNothingForEver(t *testing.T) {
	t.Parallel()
	r := newFixture(t, script{})
	r.play(after("$", "stty raw; echo be''gun; sleep 1000\n"), after("begun", strings.Repeat("x", 100_000)))
	r.runner.EndIdleAgent("cli:local")
}

func TestProgramsFindATerminal(t *testing.T) {
	t.Parallel()
	r := newFixture(t, script{})
	r.settings.Cols, r.settings.Rows = 100, 30
	r.play(after("$", "{ echo $TERM; stty size; locale charmap; tty | cut -c1-9; echo $LANG$LC_ALL$LC_CTYPE | grep -c .; } > about\n"))
	r.awaitContent("about", "xterm-256color\n30 100\nUTF-8\n/dev/pts/\n1\n")
}
