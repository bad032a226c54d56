package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"nanobot/cmd/nanobot/exit"
	"nanobot/gateway/store/sqlite"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

func TestRootsWebInAReadOnlyFolderUsesATemporaryOne(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can become somebody else")
	}
	dir := musttest.Get(os.MkdirTemp("/tmp", "read-only-"))(t) // where others may look
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	musttest.Do(t, os.Chmod(dir, 0o755))
	self := filepath.Join(dir, "nanobot")
	linkProgram(t, self)
	testReadOnlyFolder(t, dir, func(cmd *exec.Cmd) *exec.Cmd {
		cmd.Path, cmd.Args[0] = self, self
		cmd.Env = append(cmd.Env, "TMPDIR=/tmp", "XDG_RUNTIME_DIR=")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		return cmd
	})
}

func TestRootsWebDoesNotUseTheStateOfAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	dir, precious := t.TempDir(), filepath.Join(t.TempDir(), "precious")
	musttest.Do(t, os.WriteFile(precious, []byte("precious"), 0o600))
	stateDir := filepath.Join(dir, ".nanobot", "command")
	musttest.Do(t, os.MkdirAll(stateDir, 0o700))
	musttest.Do(t, os.Symlink(precious, filepath.Join(stateDir, sqlite.LockFile)))
	musttest.Do(t, os.Chown(stateDir, nobody, nobody))
	status, said := failWeb(t, webCommand(t, dir, "--no-browser", "pwd"))
	if status != exit.Failed || !strings.Contains(said, "this is root, and the state in "+stateDir+" belongs to user") {
		t.Errorf("status %d, %s", status, said)
	}
	wanttest.Equal(t, "what the link leads to:", string(musttest.Get(os.ReadFile(precious))(t)), "precious")
}
