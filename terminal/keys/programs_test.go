package keys_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"nanobot/terminal"
)

func makeFIFO(path string) error { return syscall.Mkfifo(path, 0o600) }

// play has an agent type commands, one step after the other, and returns what it was told.
func (r *rig) play(steps ...command) []string {
	r.t.Helper()
	var responses []string
	for _, c := range steps {
		responses = append(responses, respond("", c))
	}
	r.script(script{Responses: append(responses, taskDone(""))})
	if out := r.turn(r.t.Context(), "play"); out.Status != terminal.Done {
		r.t.Errorf("ended %s: %s", out.Status, r.last())
	}
	return r.requests()
}

func TestLessIsPagedThrough(t *testing.T) {
	t.Parallel()
	need(t, "less")
	r := newRig(t, script{})
	told := r.play(command{"seq 1 500 | less\n", 0.7}, command{"Space", 0.5}, command{"G", 0.5}, command{"q", 0.3})
	if !strings.Contains(told[1], "\n39\n:") || !strings.Contains(told[2], "\n78\n:") || !strings.Contains(told[3], "\n500\n(END)") {
		t.Errorf("told %q", told[1:4])
	}
	if !strings.HasSuffix(told[4], "$") || strings.Contains(told[4], "(END)") {
		t.Errorf("after less the screen is %q", told[4])
	}
}

func TestAJobIsSuspendedAndResumed(t *testing.T) {
	t.Parallel()
	r := newRig(t, script{})
	told := r.play(command{"cat > typed\n", 0.3}, command{"C-z", 0.3}, command{"fg\n", 0.3}, command{"back\n", 0.2}, command{"C-d", 0.3})
	if !strings.Contains(told[2], "Stopped") {
		t.Errorf("after Ctrl-Z %q", told[2])
	}
	if got := r.file("typed"); got != "back\n" {
		t.Errorf("typed %q", got)
	}
}

func TestTheShellCompletesAndRemembers(t *testing.T) {
	t.Parallel()
	r := newRig(t, script{})
	if err := os.WriteFile(filepath.Join(r.work, "a-long-name"), []byte("content\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.play(command{"cat a-lo", 0.1}, command{"Tab", 0.3}, command{"> copy\n", 0.3}, command{"echo again >> log\n", 0.2}, command{"Up", 0.1}, command{"Enter", 0.3})
	if got := r.file("copy"); got != "content\n" {
		t.Errorf("the copy has %q", got)
	}
	if got := r.file("log"); got != "again\nagain\n" {
		t.Errorf("the log has %q", got)
	}
}

func TestABinaryOnTheScreenLeavesAUsableTerminal(t *testing.T) {
	t.Parallel()
	r := newRig(t, script{})
	r.play(command{"cat /bin/true /bin/ls\n", 1}, command{"C-c", 0.3}, command{"Enter", 0.2}, command{"echo fine > fine\n", 0.5})
	if got := r.awaitFile("fine"); got != "fine\n" {
		t.Errorf("the file has %q", got)
	}
}

func TestAFloodIsLimited(t *testing.T) {
	t.Parallel()
	r := newRig(t, script{})
	told := r.play(command{"seq 1 1000000; echo end > flooded\n", 2}, command{"until test -e flooded; do sleep 0.1; done\n", 0.5})
	for i, text := range told {
		if len(text) > 11_000 {
			t.Errorf("request %d has %d bytes", i+1, len(text))
		}
	}
	r.awaitFile("flooded")
}

func TestALongTextIsTypedWhole(t *testing.T) {
	t.Parallel()
	r := newRig(t, script{})
	text := strings.Repeat("0123456789abcde\n", 20_000)
	r.play(command{"cat > typed\n", 0.3}, command{text, 1}, command{"C-d", 1})
	if got := r.file("typed"); got != text {
		t.Errorf("%d of %d bytes were typed", len(got), len(text))
	}
}

func TestAProgramThatDoesNotReadHoldsUpNothingForEver(t *testing.T) {
	t.Parallel()
	r := newRig(t, script{})
	told := r.play(command{"stty raw; touch raw; sleep 1000\n", 0.5}, command{strings.Repeat("x", 100_000), 0})
	if len(told) != 4 {
		t.Errorf("%d requests", len(told))
	}
	r.runner.Release("cli:local")
}

func TestProgramsFindATerminal(t *testing.T) {
	t.Parallel()
	r := newRig(t, script{})
	r.settings.Cols, r.settings.Rows = 100, 30
	r.play(command{"{ echo $TERM; stty size; tty; locale charmap; echo $LANG$LC_ALL$LC_CTYPE | grep -c .; } > about; pwd >> about\n", 0.7})
	got := strings.Split(r.awaitFile("about"), "\n")
	if got[0] != "xterm-256color" || got[1] != "30 100" || !strings.HasPrefix(got[2], "/dev/pts/") || got[3] != "UTF-8" || got[4] != "1" {
		t.Errorf("programs find %q", got)
	}
}
