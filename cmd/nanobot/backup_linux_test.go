package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nanobot/cmd/nanobot/exit"
	"nanobot/cmd/nanobot/trust"
	"nanobot/internal/musttest"
)

func TestRootBacksUpAndRestoresAsTheStatesOwner(t *testing.T) {
	t.Parallel()
	for _, closed := range []bool{false, true} {
		t.Run(fmt.Sprintf("closed %v", closed), func(t *testing.T) {
			s := newOtherUsersState(t, closed)
			file := filepath.Join(t.TempDir(), "backup.tar.gz") // which the owner cannot write to
			if out, err := s.runAsRoot("backup", file); err != nil {
				t.Fatalf("backup: %v, %s", err, out)
			}
			if info, err := os.Stat(file); err != nil || trust.FileUID(info) != 0 || info.Mode().Perm() != 0o600 {
				t.Errorf("%v, %v", info, err)
			}
			musttest.Do(t, os.Truncate(filepath.Join(s.state, "nanobot.db"), 0))
			if out, err := s.runAsRoot("pair", "--list"); err == nil || !strings.Contains(out, "nanobot restore") {
				t.Errorf("pair: %v, %s", err, out)
			}
			if out, err := s.runAsRoot("restore", file); err != nil {
				t.Fatalf("restore: %v, %s", err, out)
			}
			if out, err := s.runAsRoot("pair", s.code); err != nil {
				t.Errorf("pair: %v, %s", err, out)
			}
			musttest.Do(t, filepath.WalkDir(s.state, func(path string, e fs.DirEntry, err error) error {
				musttest.Do(t, err)
				if info, err := e.Info(); err != nil || trust.FileUID(info) != stranger {
					t.Errorf("%s belongs to somebody else: %v", path, err)
				}
				return nil
			}))
		})
	}
}

// mountSmallDisk mounts a file system of a size and returns its path.
func mountSmallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("cannot mount a small disk here: %v", err)
	}
	t.Cleanup(func() { musttest.Do(t, unix.Unmount(dir, unix.MNT_DETACH)) })
	return dir
}

func TestABackupThatDoesNotFitOnTheDiskLeavesNoFile(t *testing.T) {
	t.Parallel()
	cfg, state := newStoppedBot(t)
	mustRunProgram(t, "pair", "--list", "--config", cfg) // folds the log into the database
	musttest.Do(t, os.WriteFile(filepath.Join(state, "http.out"), []byte(fmt.Sprintf(`{%q: "2000-01-01T00:00:00Z"}`, randomText(300<<10))), 0o600))
	disk := mountSmallDisk(t, "100k")
	out, status := runProgram(t, "backup", "--config", cfg, filepath.Join(disk, "b.tar.gz"))
	if status != exit.Failed || !strings.Contains(out, "no space left") {
		t.Errorf("status %d: %s", status, out)
	}
	if left, err := os.ReadDir(disk); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if left, _ := filepath.Glob(filepath.Join(state, "backups", ".staged-*")); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestABackupDoesNotFillTheDaemonsDisk(t *testing.T) {
	t.Parallel()
	disk := mountSmallDisk(t, "20m")
	musttest.Do(t, os.WriteFile(filepath.Join(disk, "config.json"), []byte(harmlessBot), 0o600))
	state := filepath.Join(disk, ".nanobot")
	b := newWebBot(t)
	file := filepath.Join(t.TempDir(), "b.tar.gz")
	mustRunProgram(t, "backup", "--config", b.cfg, file)
	musttest.Do(t, os.Mkdir(state, 0o700))
	mustRunProgram(t, "restore", "--config", filepath.Join(disk, "config.json"), file)
	out, status := runProgram(t, "backup", "--config", filepath.Join(disk, "config.json"), filepath.Join(t.TempDir(), "x"))
	if status != exit.Failed || !strings.Contains(out, "are free") {
		t.Errorf("status %d: %s", status, out)
	}
}

func TestAnotherFolderMountedOverTheStateEndsTheDaemon(t *testing.T) {
	b := newWebBot(t)
	state := filepath.Join(filepath.Dir(b.cfg), ".nanobot")
	if err := unix.Mount(t.TempDir(), state, "", unix.MS_BIND, ""); err != nil {
		t.Skipf("cannot mount here: %v", err)
	}
	t.Cleanup(func() { musttest.Do(t, unix.Unmount(state, unix.MNT_DETACH)) })
	if got := b.awaitExit(); got != exit.Lost {
		t.Errorf("status %d:\n%s", got, b.log())
	}
}

func TestASecondSignalEndsABackupThatNobodyReads(t *testing.T) {
	t.Parallel()
	cfg, state := newStoppedBot(t)
	musttest.Do(t, os.WriteFile(filepath.Join(state, "http.out"), []byte(fmt.Sprintf(`{%q: "2000-01-01T00:00:00Z"}`, randomText(1<<20))), 0o600))
	r, w, err := os.Pipe()
	musttest.Do(t, err)
	defer r.Close()
	cmd := programCommand(t, "backup", "--config", cfg, "-")
	cmd.Stdout = w
	musttest.Do(t, errors.Join(cmd.Start(), w.Close()))
	size := musttest.Get(unix.FcntlInt(r.Fd(), unix.F_GETPIPE_SZ, 0))(t)
	for deadline := time.Now().Add(waitTimeout); ; time.Sleep(5 * time.Millisecond) { // until the pipe takes no more
		n := musttest.Get(unix.IoctlGetInt(int(r.Fd()), unix.TIOCINQ))(t)
		if n > size-4096 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("only %d bytes come", n)
		}
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	hang := time.After(waitTimeout)
	for {
		musttest.Do(t, ignoreFinished(cmd.Process.Signal(os.Interrupt)))
		select {
		case <-ended:
			if cmd.ProcessState.Success() {
				t.Error("it succeeded")
			}
			return
		case <-hang:
			_ = cmd.Process.Kill()
			t.Fatal("it does not end")
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func ignoreFinished(err error) error {
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// randomText returns a text that cannot be compressed much.
func randomText(n int) string {
	b := make([]byte, n)
	x := uint32(1)
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-_"[x>>26]
	}
	return string(b)
}
