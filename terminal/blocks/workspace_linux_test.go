package blocks_test

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"nanobot/internal/killtest"
	"nanobot/terminal/blocks"
)

// swapRepeatedly exchanges two directory entries as fast as possible until stop is called.
func (w *workspaceFixture) swapRepeatedly(one, two string) (stop func()) {
	over := make(chan struct{})
	var agent sync.WaitGroup
	agent.Go(func() {
		for {
			select {
			case <-over:
				return
			default:
				if err := unix.Renameat2(unix.AT_FDCWD, w.path(one), unix.AT_FDCWD, w.path(two), unix.RENAME_EXCHANGE); err != nil {
					w.t.Error(err)
					return
				}
			}
		}
	})
	return func() { close(over); agent.Wait() }
}

func TestALinkThatIsSwappedInIsNotFollowed(t *testing.T) {
	rounds := killtest.Rounds(t, 100, 3000)
	for name, c := range map[string]struct{ target, good, path string }{
		"a folder to outside":      {"../outside", "sub", "sub/file"},
		"a folder to another chat": {"users/7", "sub", "sub/file"},
		"a folder above":           {"../outside", "sub", "sub/deep/file"},
		"a file to outside":        {"../outside/file", "file", "file"},
		"a file to the config":     {"config.json", "file", "file"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorkspaceFixture(t)
			for _, dir := range []string{"outside", "ws/users/7"} {
				w.putFile(dir+"/file", "SECRET")
				w.putFile(dir+"/deep/file", "SECRET")
			}
			w.putFile("ws/"+c.path, "good")
			w.putLink(c.target, "ws/swapped")
			stop := w.swapRepeatedly("ws/swapped", "ws/"+c.good)
			defer stop()
			for good, refused := 0, 0; (good < rounds || refused < rounds) && !t.Failed(); {
				got, _, err := w.Read(c.path, 1<<20)
				switch {
				case errors.Is(err, blocks.ErrOutside):
					refused++
				case err != nil || string(got) != "good":
					t.Errorf("read %q, %v", got, err)
				default:
					good++
				}
			}
			for range rounds { // a new file may take the place of the link itself
				if err := w.Write(c.path, "good"); err != nil && !errors.Is(err, blocks.ErrOutside) {
					t.Errorf("write: %v", err)
				}
				if err := w.Write(c.path+".new", "new"); err != nil && !errors.Is(err, blocks.ErrOutside) {
					t.Errorf("write a new file: %v", err)
				}
				if err := w.Remove(c.path + ".new"); err != nil && !errors.Is(err, blocks.ErrOutside) && !errors.Is(err, blocks.ErrNotFound) {
					t.Errorf("remove: %v", err)
				}
			}
			for _, dir := range []string{"outside", "ws/users/7", "ws/state"} {
				for path, content := range w.readTree(dir) {
					if content != "SECRET" {
						t.Errorf("%s/%s has %q", dir, path, content)
					}
				}
			}
			if n := len(w.readTree("outside")) + len(w.readTree("ws/users/7")); n != 5 || w.readFile("ws/config.json") != "SECRET" {
				t.Errorf("%d files outside", n)
			}
		})
	}
}

func TestAFIFOThatIsSwappedInDoesNotBlock(t *testing.T) {
	w := newWorkspaceFixture(t)
	w.must(syscall.Mkfifo(w.path("ws/fifo"), 0o600))
	for path, use := range map[string]string{"ws/sub": "sub/file", "ws/file": "file"} {
		stop := w.swapRepeatedly("ws/fifo", path)
		for range 200 {
			if got, _, err := w.Read(use, 1<<20); err == nil && !strings.HasPrefix(string(got), "text") {
				t.Errorf("%s has %q", use, got)
			}
			_ = w.Write(use, "text")
		}
		stop()
		if info, err := os.Lstat(w.path("ws/fifo")); err != nil || info.Mode().Type() != os.ModeNamedPipe {
			w.must(unix.Renameat2(unix.AT_FDCWD, w.path("ws/fifo"), unix.AT_FDCWD, w.path(path), unix.RENAME_EXCHANGE))
		}
	}
}

func TestAMountLeadsToNoFileOfTheGateway(t *testing.T) {
	w := newWorkspaceFixture(t)
	for from, to := range map[string]string{"ws/state": "ws/mounted", "ws/users": "ws/sub/mounted"} {
		w.must(os.Mkdir(w.path(to), 0o700))
		if err := unix.Mount(w.path(from), w.path(to), "", unix.MS_BIND, ""); err != nil {
			t.Skip("only root can mount:", err)
		}
		t.Cleanup(func() { _ = unix.Unmount(w.path(to), unix.MNT_DETACH) })
	}
	for _, path := range []string{"mounted/db", "mounted/none", "mounted/deep/db", "mounted/new/file", "sub/mounted/8/note", "sub/mounted/7/none"} {
		w.checkRefused(path)
	}
	shown, more, err := w.List(10)
	if want := []blocks.WorkspaceFile{{Path: "file", Size: 4}, {Path: "sub/file", Size: 11}}; !slices.Equal(shown, want) || more != 0 || err != nil {
		t.Errorf("%v, %d more: %v", shown, more, err)
	}
}

func TestAFullDiskIsReportedBeforeAFileIsChanged(t *testing.T) {
	s := newChangesFixture(t)
	s.putFile("ws/large", strings.Repeat("x", 1<<20))
	s.putFile("ws/small", "x")
	if err := unix.Mount("tmpfs", s.copies.Name(), "tmpfs", 0, "size=64k"); err != nil {
		t.Skip("only root can mount:", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(s.copies.Name(), unix.MNT_DETACH) })
	var err error
	s.copies, err = os.OpenRoot(s.copies.Name())
	s.must(err)
	defer s.copies.Close()
	s.restart()
	for range 2 {
		if err := s.Save("large"); err == nil || blocks.Reason(err) != "no space left on device" {
			t.Errorf("save: %v", err)
		}
	}
	s.writeFile("small", "y") // what was written of the large one is gone
	s.checkUndo(blocks.Undone{Restored: []string{"small"}})
	if copies, err := os.ReadDir(s.copies.Name()); len(copies) != 1 || err != nil {
		t.Errorf("%v, %v", copies, err)
	}
}

func TestARunningProgramIsReplaced(t *testing.T) {
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Skip(err)
	}
	w := newWorkspaceFixture(t)
	program, err := os.ReadFile(sleep)
	w.must(err)
	w.putFile("ws/program", string(program))
	w.must(os.Chmod(w.path("ws/program"), 0o700))
	run := exec.Command(w.path("ws/program"), "600")
	w.must(run.Start())
	defer func() { _, _ = run.Process.Kill(), run.Wait() }()
	w.must(w.Write("program", "new"))
	if got := w.readFile("ws/program"); got != "new" {
		t.Errorf("%d bytes", len(got))
	}
}

// The gateway is root here and the agent is not.
func TestTheGatewayDoesNothingThatTheAgentsUserCouldNotDo(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can work for another user")
	}
	w := newWorkspaceFixture(t)
	const uid, gid = 1234, 4321
	w.must(os.Chown(w.path("ws"), uid, gid))
	for _, f := range []struct {
		path     string
		uid, gid int
		mode     os.FileMode
	}{
		{"roots", 0, 0, 0o600},
		{"open", 0, 0, 0o666},
		{"readable", 0, 0, 0o644},
		{"group", 0, gid, 0o660},
		{"not-group", 0, gid, 0o606},
		{"mine", uid, gid, 0o600},
		{"mine-not", uid, gid, 0o066},
		{"closed/file", 0, 0, 0o666},
		{"listed/file", 0, 0, 0o666},
		{"sticky/file", 0, 0, 0o666},
	} {
		w.putFile("ws/"+f.path, "text")
		w.must(os.Chown(w.path("ws/"+f.path), f.uid, f.gid))
		w.must(os.Chmod(w.path("ws/"+f.path), f.mode))
	}
	w.must(os.Chmod(w.path("ws/closed"), 0o700))
	w.must(os.Chmod(w.path("ws/listed"), 0o755))
	w.must(os.Chmod(w.path("ws/sticky"), 0o777|os.ModeSticky))
	w.env.User = &syscall.Credential{Uid: uid, Gid: gid}
	w.reopen()
	for path, want := range map[string]struct{ read, write, remove bool }{
		"roots": {}, "open": {true, true, true}, "readable": {true, false, true}, "group": {true, true, true}, "not-group": {}, "mine": {true, true, true}, "mine-not": {},
		"closed/file": {}, "closed/new": {}, "listed/file": {true, true, false}, "listed/new": {}, "listed/new/new": {}, "sticky/file": {true, true, false}, "new/deep/file": {true, true, true}, "sticky/new": {true, true, true},
	} {
		denied := func(what string, err error, want bool) {
			if want && err != nil || !want && (err == nil || blocks.Reason(err) != "permission denied" && !errors.Is(err, blocks.ErrNotFound)) {
				t.Errorf("%s %s: %v", what, path, err)
			}
		}
		denied("write", w.Write(path, "text"), want.write)
		_, _, err := w.Read(path, 1<<20)
		denied("read", err, want.read)
		if want.write && want.remove {
			info, err := os.Stat(w.path("ws/" + path))
			w.must(err)
			if was := info.Sys().(*syscall.Stat_t); strings.Contains(path, "new") && (was.Uid != uid || was.Gid != gid) {
				t.Errorf("%s is of %d:%d", path, was.Uid, was.Gid)
			}
		}
		if want.remove || path == "sticky/file" || path == "listed/file" || strings.HasPrefix(path, "closed") {
			denied("remove", w.Remove(path), want.remove)
		}
	}
	info, err := os.Stat(w.path("ws/new/deep"))
	w.must(err)
	if was := info.Sys().(*syscall.Stat_t); was.Uid != uid || was.Gid != gid {
		t.Errorf("a new folder is of %d:%d", was.Uid, was.Gid)
	}
}
