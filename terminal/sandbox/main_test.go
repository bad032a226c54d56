package sandbox_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"nanobot/internal/musttest"
	"nanobot/terminal/process"
	"nanobot/terminal/sandbox"
)

// execFiltered executes another test with a seccomp filter; only Linux has one.
var execFiltered = func(_, _ string) {}

// TestMain also makes the test binary the helper, and several agents in Go.
func TestMain(m *testing.M) {
	word := ""
	if len(os.Args) > 1 {
		word = os.Args[1]
	}
	switch word {
	case sandbox.Command:
		fmt.Fprintln(os.Stderr, sandbox.Main(os.Args[2:]))
		os.Exit(126)
	case "agent":
		agent(os.Args[2])
	case "filtered":
		execFiltered(os.Args[2], os.Args[3])
	case "files":
		openManyFiles()
	case "dial":
		dial(os.Args[2:])
	case "listen":
		listenUntilEOF(os.Args[2])
	default:
		goleak.VerifyTestMain(m)
	}
}

// agent is a Go program that reads its input and writes a file.
func agent(file string) {
	in, err := io.ReadAll(os.Stdin)
	if err == nil {
		err = os.WriteFile(file, in, 0o600)
	}
	fmt.Println("go", string(in), err)
}

// openManyFiles opens files until that fails, and prints their number.
func openManyFiles() {
	var open []*os.File
	for range 100000 {
		f, err := os.Open("/dev/null")
		if err != nil {
			fmt.Println(len(open), err)
			return
		}
		open = append(open, f)
	}
	fmt.Println("no limit")
}

// dial prints for each socket whether a connection succeeds.
func dial(addresses []string) {
	for _, address := range addresses {
		c, err := net.Dial("unix", address)
		if err == nil {
			err = c.Close()
		}
		fmt.Println("dial", err)
	}
}

// listenUntilEOF listens on a socket until stdin ends.
func listenUntilEOF(address string) {
	l, err := net.Listen("unix", address)
	if err != nil {
		return
	}
	defer func() { _ = l.Close() }()
	fmt.Println("up")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// scriptResult is the result of a script in a sandbox.
type scriptResult struct {
	out, err string
	exit     process.Exit
}

// runScript runs a shell script in a sandbox and returns its output.
func runScript(t *testing.T, o sandbox.Options, script string) scriptResult {
	t.Helper()
	if o.Shell == "" {
		o.Shell = "/bin/sh"
	}
	c := musttest.Get(sandbox.New(o))(t)
	return runScriptFor(t, c, chatOf(t, c, o, "1"), script)
}

// chatOf prepares a chat of the workspace.
func chatOf(t *testing.T, c *sandbox.Sandbox, o sandbox.Options, name string) sandbox.ChatDirs {
	t.Helper()
	if o.Workspace == "" {
		return sandbox.ChatDirs{}
	}
	dir := filepath.Join(o.Workspace, "users", name)
	musttest.Do(t, os.MkdirAll(dir, 0o700))
	chat := musttest.Get(c.PrepareChat(dir, nil, false))(t)
	return chat
}

// runScriptFor runs a shell script for a chat, in its workspace if it has one.
func runScriptFor(t *testing.T, c *sandbox.Sandbox, chat sandbox.ChatDirs, script string) scriptResult {
	t.Helper()
	dir := "/"
	if chat.Dir != "" {
		dir = filepath.Dir(filepath.Dir(chat.Dir))
	}
	child, err := process.Start(c.Apply(process.Options{
		Args: []string{"/bin/sh", "-c", script}, Dir: dir, Env: slices.Concat(os.Environ(), c.UserEnviron(), chat.Environ()), Input: []byte("input"),
		StderrTail: 1 << 12, Grace: 100 * time.Millisecond,
	}, chat))
	if err != nil {
		t.Fatal(err)
	}
	defer time.AfterFunc(5*time.Minute, child.Kill).Stop()
	out, _ := io.ReadAll(child.Stdout)
	e := child.Wait()
	return scriptResult{out: strings.TrimSpace(string(out)), err: e.Stderr.String(), exit: e}
}

// openDir returns a new folder that every user may enter.
func openDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{filepath.Dir(dir), dir} {
		musttest.Do(t, os.Chmod(d, 0o755))
	}
	return dir
}

// newFolderOutsideTemp returns a folder outside the temporary folders, to which every sandbox
// grants access.
func newFolderOutsideTemp(t *testing.T) string {
	t.Helper()
	home, _ := os.UserHomeDir()
	for _, place := range []string{os.Getenv("TEST_OUTSIDE"), home, "/srv", "/var/lib", "."} {
		abs, err := filepath.Abs(place)
		if err != nil || place == "" || strings.HasPrefix(abs, "/tmp") || strings.HasPrefix(abs, "/var/tmp") {
			continue
		}
		if dir, err := os.MkdirTemp(abs, "outside-"); err == nil {
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			return dir
		}
	}
	t.Skip("there is no folder to write to but the temp folders")
	return ""
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root may become somebody else")
	}
}

func requireProgram(t *testing.T, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Skip(err)
	}
	return path
}
