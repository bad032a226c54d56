package keys_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"nanobot/internal/musttest"
	"nanobot/terminal"
)

func makeFIFO(path string) error { return syscall.Mkfifo(path, 0o600) }

// typeSteps makes the agent type commands, one per step.
func (r *fixture) typeSteps(steps ...command) {
	r.t.Helper()
	s := script{}
	for _, c := range steps {
		s.Responses = append(s.Responses, encodeResponse("", c))
		s.After = append(s.After, c.after)
	}
	s.Responses = append(s.Responses, taskDone(""))
	r.script(s)
	r.settings.MaxSteps = 10_000
	if out := r.runTurn(r.t.Context(), "play"); out.Status != terminal.Done {
		r.t.Errorf("ended %s: %s", out.Status, r.lastText())
	}
}

// typeAfter returns a command that the agent types after a request has contained a text.
func typeAfter(told, keystrokes string) command { return command{keystrokes, 0.1, told} }

func TestLessIsPagedThrough(t *testing.T) {
	t.Parallel()
	requireProgram(t, "less")
	r := newFixture(t, script{})
	r.typeSteps(typeAfter("$", "seq 1 500 | less\n"), typeAfter("\n39\n:", "Space"), typeAfter("\n78\n:", "G"), typeAfter("\n500\n(END)", "q"), typeAfter("$", "echo left > left\n"))
	r.awaitContent("left", "left\n")
}

func TestAJobIsSuspendedAndResumed(t *testing.T) {
	t.Parallel()
	r := newFixture(t, script{})
	r.typeSteps(typeAfter("$", "sh -c 'echo be''gun; exec cat > typed'\n"), typeAfter("begun", "C-z"), typeAfter("Stopped", "fg; echo fi''n\n"), typeAfter("exec cat", "back\n"), typeAfter("back", "C-d"), typeAfter("fin", ""))
	r.awaitContent("typed", "back\n")
}

func TestTheShellHasCompletionAndHistory(t *testing.T) {
	t.Parallel()
	r := newFixture(t, script{})
	musttest.Do(t, os.WriteFile(filepath.Join(r.work, "a-long-name"), []byte("content\n"), 0o600))
	r.typeSteps(typeAfter("$", "cat a-lo"), typeAfter("a-lo", "Tab"), typeAfter("a-long-name", "> copy\n"), typeAfter("copy\n$", "echo again >> log; echo fi''n\n"), typeAfter("\nfin\n$", "Up"), typeAfter("echo again", "Enter"))
	r.awaitContent("copy", "content\n")
	r.awaitContent("log", "again\nagain\n")
}

func TestABinaryOnTheScreenLeavesAUsableTerminal(t *testing.T) {
	t.Parallel()
	r := newFixture(t, script{})
	r.typeSteps(typeAfter("$", "head -c 300000 /bin/bash; tput reset; echo fi''n\n"), typeAfter("fin", "C-c"), typeAfter("$", "echo fine > fine\n"))
	r.awaitContent("fine", "fine\n")
}

func TestAFloodIsLimited(t *testing.T) {
	t.Parallel()
	r := newFixture(t, script{})
	r.typeSteps(typeAfter("$", "seq 1 200000; echo fi''n\n"), typeAfter("\nfin\n", ""))
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
	r.typeSteps(typeAfter("$", "sh -c 'echo be''gun; exec cat > typed'; echo fi''n\n"), typeAfter("begun", text), typeAfter("abcde", "C-d"), typeAfter("fin", ""))
	r.awaitContent("typed", text)
}

func TestAProgramThatDoesNotReadBlocksNothingForEver(t *testing.T) {
	t.Parallel()
	r := newFixture(t, script{})
	r.typeSteps(typeAfter("$", "stty raw; echo be''gun; sleep 1000\n"), typeAfter("begun", strings.Repeat("x", 100_000)))
	r.runner.EndIdleAgent("cli:local")
}

func TestProgramsFindATerminal(t *testing.T) {
	t.Parallel()
	r := newFixture(t, script{})
	r.settings.Cols, r.settings.Rows = 100, 30
	r.typeSteps(typeAfter("$", "{ echo $TERM; stty size; locale charmap; tty | cut -c1-9; echo $LANG$LC_ALL$LC_CTYPE | grep -c .; } > about\n"))
	r.awaitContent("about", "xterm-256color\n30 100\nUTF-8\n/dev/pts/\n1\n")
}
