package peersocket_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"nanobot/internal/musttest"
	"nanobot/internal/peersocket"
	"nanobot/internal/procfs"
)

// TestMain can turn the test binary into a program that connects to a socket.
func TestMain(m *testing.M) {
	if path := os.Getenv("TEST_CONNECT"); path != "" {
		connect(path)
		return
	}
	goleak.VerifyTestMain(m)
}

// connect connects and waits for the end of stdin.
func connect(path string) {
	if _, err := peersocket.Dial(context.Background(), path); err != nil {
		panic(err)
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func listen(t *testing.T) *peersocket.Listener {
	t.Helper()
	l := musttest.Get(peersocket.Listen(t.TempDir()))(t)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// startClient starts a process that connects, and returns a function that ends it.
func startClient(t *testing.T, program, path string, user *syscall.Credential) (pid int, end func()) {
	t.Helper()
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), "TEST_CONNECT="+path, "GORACE=atexit_sleep_ms=0")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: user}
	cmd.Stderr = os.Stderr
	in := musttest.Get(cmd.StdinPipe())(t)
	musttest.Do(t, cmd.Start())
	return cmd.Process.Pid, func() {
		_ = in.Close()
		_ = cmd.Wait()
	}
}

func ownProgram(t *testing.T) string {
	t.Helper()
	path := musttest.Get(os.Executable())(t)
	return path
}

func openFiles(t *testing.T) int {
	t.Helper()
	n := musttest.Get(procfs.OpenFiles())(t)
	return n
}

func TestTheConnectingProcessIsKnown(t *testing.T) {
	before := openFiles(t)
	l := listen(t)
	pid, end := startClient(t, ownProgram(t), l.Path(), nil)
	c := musttest.Get(l.Accept())(t)
	peer, err := c.Peer()
	if err != nil || peer.Pid != pid || peer.UID != os.Getuid() {
		t.Errorf("the peer is %+v, %v, want process %d", peer, err, pid)
	}
	if !c.PeerAlive() {
		t.Error("PeerAlive is false for a running process")
	}
	end()
	if c.PeerAlive() {
		t.Error("PeerAlive is true after the process has exited")
	}
	if err := errors.Join(c.Close(), l.Close()); err != nil {
		t.Error(err)
	}
	if after := openFiles(t); after != before {
		t.Errorf("%d files are open, and %d were before", after, before)
	}
}

func TestAnotherUserMayConnectAndIsKnown(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can start a process of another user")
	}
	parent := musttest.Get(os.MkdirTemp("", "peersocket"))(t)
	t.Cleanup(func() { _ = os.RemoveAll(parent) })
	musttest.Do(t, os.Chmod(parent, 0o755))
	l := musttest.Get(peersocket.Listen(parent))(t)
	t.Cleanup(func() { _ = l.Close() })
	b := musttest.Get(os.ReadFile(ownProgram(t)))(t)
	program := filepath.Join(parent, "client") // a folder that the user may enter
	musttest.Do(t, os.WriteFile(program, b, 0o755))
	pid, end := startClient(t, program, l.Path(), &syscall.Credential{Uid: 65534, Gid: 65534})
	defer end()
	c := musttest.Get(l.Accept())(t)
	defer func() { _ = c.Close() }()
	if peer, err := c.Peer(); err != nil || peer.Pid != pid || peer.UID != 65534 {
		t.Errorf("the peer is %+v, %v", peer, err)
	}
}

func TestOtherUsersMayConnectButNeitherListNorReplaceTheSocket(t *testing.T) {
	l := listen(t)
	dir := filepath.Dir(l.Path())
	for path, want := range map[string]fs.FileMode{dir: 0o711, l.Path(): 0o666} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has the mode %v, %v", path, info.Mode(), err)
		}
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
}

func TestAPathThatIsTooLongIsRefusedWithItsLength(t *testing.T) {
	parent := filepath.Join(t.TempDir(), strings.Repeat("x", 100))
	musttest.Do(t, os.Mkdir(parent, 0o700))
	_, err := peersocket.Listen(parent)
	if !errors.Is(err, peersocket.ErrTooLong) || !strings.Contains(err.Error(), parent) || !strings.Contains(err.Error(), "the limit is 107") {
		t.Errorf("it says %v", err)
	}
	if left, _ := os.ReadDir(parent); len(left) != 0 {
		t.Errorf("it left %v", left)
	}
}

func TestRemoveCleansUpAfterAKilledProgramAndRemovesNothingElse(t *testing.T) {
	parent := t.TempDir()
	l := musttest.Get(peersocket.Listen(parent))(t)
	left := l.Path() + ".left"
	musttest.Do(t, os.Rename(l.Path(), left))
	_ = l.Close() // which finds no socket to remove, and the folder not empty
	musttest.Do(t, os.Rename(left, l.Path()))
	if err := peersocket.Remove(l.Path()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Dir(l.Path())); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
	if err := peersocket.Remove(l.Path()); err != nil {
		t.Errorf("again: %v", err)
	}
	precious := filepath.Join(parent, "nanobot-precious", "socket")
	musttest.Do(t, os.Mkdir(filepath.Dir(precious), 0o700))
	musttest.Do(t, os.WriteFile(precious, []byte("a file"), 0o600))
	for _, path := range []string{precious, filepath.Join(parent, "socket"), "socket", "", filepath.Join(parent, "nanobot-x", "..", "socket")} {
		if peersocket.Remove(path) == nil {
			t.Errorf("%q is said to be removed", path)
		}
	}
	if _, err := os.Stat(precious); err != nil {
		t.Error(err)
	}
}
