package sandbox_test

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal/process"
	"nanobot/terminal/sandbox"
)

// useTerminal is a script that uses its terminal by the descriptors, as the controlling terminal,
// by /dev/stdout and /dev/stderr, and by its name.
const useTerminal = `for fd in 0 1 2; do test -t $fd || echo $fd is no terminal; done
stty size; stty size < /dev/tty; echo tty > /dev/tty; echo stdout > /dev/stdout; echo stderr > /dev/stderr; name=$(tty) && echo name > $name
trap 'exit 7' INT; echo up; while :; do sleep 0.01; done`

// The sandbox helper passes its terminal on to the agent.
func TestASandboxedAgentHasItsTerminal(t *testing.T) {
	for _, user := range []string{"", "nobody"} {
		for _, kind := range []string{sandbox.Landlock, "", "env A=b"} {
			if user != "" && os.Geteuid() != 0 {
				continue
			}
			t.Run(user+" "+kind, func(t *testing.T) { checkTerminal(t, user, kind) })
		}
	}
}

func TestASandboxedAgentHasItsTerminalWithoutNamespacesAndWithoutRoot(t *testing.T) {
	runTestAgain(t, "TestASandboxedAgentHasItsTerminal", "mount", nil)
	if os.Geteuid() == 0 {
		runTestAgain(t, "TestASandboxedAgentHasItsTerminal", "nothing", nobody)
		runTestAgain(t, "TestASandboxedAgentHasItsTerminal", "mount", nobody)
	}
}

func checkTerminal(t *testing.T, user, kind string) {
	t.Helper()
	if kind == sandbox.Landlock {
		newLandlockOptions(t)
	}
	work := filepath.Join(newFolderOutsideTemp(t), "work")
	if user != "" {
		home, _ := newFoldersFor(t, nobody)
		work = filepath.Join(home, "work")
	}
	musttest.Do(t, os.Mkdir(work, 0o755))
	o := sandbox.Options{Sandbox: kind, User: user, Workspace: work, Dirs: []string{work}, Shell: "/bin/sh", Limits: sandbox.Limits{Files: 100}}
	c := musttest.Get(sandbox.New(o))(t)
	chat := chatOf(t, c, o, "1")
	child := musttest.Get(process.Start(c.Apply(process.Options{
		Args: []string{"/bin/sh", "-c", useTerminal}, Dir: work, Env: slices.Concat(os.Environ(), c.UserEnviron(), chat.Environ()),
		Terminal: &process.Size{Rows: 40, Columns: 160}, Grace: 100 * time.Millisecond,
	}, chat)))(t)
	defer time.AfterFunc(5*time.Minute, child.Kill).Stop()
	var said strings.Builder
	for buf := make([]byte, 1<<10); !strings.HasSuffix(said.String(), "up\r\n"); {
		n, err := child.Stdout.Read(buf)
		said.Write(buf[:n])
		if err != nil {
			child.Kill()
			t.Fatalf("%q, %v, %+v", said.String(), err, child.Wait())
		}
	}
	wanttest.Equal(t, "it says", said.String(), "40 160\r\n40 160\r\ntty\r\nstdout\r\nstderr\r\nname\r\nup\r\n")
	if _, err := child.Write([]byte{3}); err != nil {
		t.Error(err)
	}
	_, _ = io.Copy(io.Discard, child.Stdout)
	if e := child.Wait(); e.Code != 7 {
		t.Errorf("exit %+v", e)
	}
}
