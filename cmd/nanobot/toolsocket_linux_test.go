package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"nanobot/config"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// socketFile is the file of the state that names the socket.
func (b *bot) socketFile() string { return filepath.Join(filepath.Dir(b.cfg), ".nanobot", "socket") }

func TestTheSocketOfTheAgentsIsRemovedWithTheDaemon(t *testing.T) {
	b := startBot(t, `{"terminal": {"command": "echo here $NANOBOT_SOCKET"}`+anybody)
	b.net.UserWrites("1", "7", "hello")
	path := strings.TrimPrefix(b.awaitText("1", "here /").Text, "here ")
	if info, err := os.Stat(path); err != nil || info.Mode().Type() != fs.ModeSocket {
		t.Fatalf("%q: %v", path, err)
	}
	named, err := os.ReadFile(b.socketFile())
	if info, serr := os.Stat(b.socketFile()); err != nil || serr != nil || string(named) != path+"\n" || info.Mode().Perm() != 0o600 {
		t.Errorf("the state names %q: %v, %v", named, err, serr)
	}
	b.signal(syscall.SIGTERM)
	if status := b.awaitExit(); status != 0 {
		t.Errorf("status %d: %s", status, b.log())
	}
	for _, gone := range []string{path, filepath.Dir(path), b.socketFile()} {
		if _, err := os.Lstat(gone); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left: %v", gone, err)
		}
	}
}

func TestTheSocketOfAKilledDaemonIsRemovedByTheNext(t *testing.T) {
	dir := runtimeDir(t)
	b := newBot(t)
	b.configure(t, `{"terminal": {"command": "echo here $NANOBOT_SOCKET"}`+anybody)
	start := func() {
		b.program = startProgramWith(t, []string{"XDG_RUNTIME_DIR=" + dir}, "serve", "--config", b.cfg)
		b.awaitLog("ready")
	}
	start()
	b.signal(syscall.SIGKILL)
	b.awaitExit()
	left, err := filepath.Glob(filepath.Join(dir, "*", "socket"))
	if err != nil || len(left) != 1 {
		t.Fatalf("a kill left %v, %v", left, err)
	}
	start()
	now, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(now) != 1 || now[0] == filepath.Dir(left[0]) {
		t.Errorf("after the next start there is %v, %v", now, err)
	}
}

func TestASecondDaemonLeavesTheSocketOfTheFirstAlone(t *testing.T) {
	b := startBot(t, `{"terminal": {"command": "echo here $NANOBOT_SOCKET"}`+anybody)
	b.awaitLog("ready")
	before := musttest.Get(os.ReadFile(b.socketFile()))(t)
	if out, err := b.runCommand("serve"); err == nil {
		t.Fatalf("a second daemon runs: %s", out)
	}
	after, err := os.ReadFile(b.socketFile())
	if err != nil || string(after) != string(before) {
		t.Errorf("the state names %q, %v, and named %q", after, err, before)
	}
	if _, err := os.Stat(strings.TrimSpace(string(before))); err != nil {
		t.Error(err)
	}
}

func TestTheFolderOfTheSocketIsChosen(t *testing.T) {
	for name, test := range map[string]struct {
		environ map[string]string
		root    bool
		want    []string
	}{
		"systemd":  {map[string]string{"RUNTIME_DIRECTORY": "/run/a:/run/b", "XDG_RUNTIME_DIR": "/run/user/7"}, false, []string{"/run/a", "/run/user/7"}},
		"a user":   {map[string]string{"XDG_RUNTIME_DIR": "/run/user/7"}, false, []string{"/run/user/7"}},
		"root":     {nil, true, []string{"/run"}},
		"nobody":   {nil, false, nil},
		"nonsense": {map[string]string{"XDG_RUNTIME_DIR": "here"}, false, nil},
	} {
		got := socketParents(func(name string) string { return test.environ[name] }, test.root)
		wanttest.EqualSlices(t, name+":", got, append(test.want, os.TempDir()))
	}
}

func TestTheSocketIsNotOpenedInAnUnsuitableFolder(t *testing.T) {
	closed, open, workspace := runtimeDir(t), runtimeDir(t), runtimeDir(t)
	musttest.Do(t, os.Chmod(open, 0o711))
	for name, test := range map[string]struct {
		terminal config.Terminal
		parents  []string
		want     string // the folder, or ""
		says     string
	}{
		"the first":          {config.Terminal{}, []string{closed, open}, closed, ""},
		"missing":            {config.Terminal{}, []string{filepath.Join(closed, "missing"), open}, open, ""},
		"in the workspace":   {config.Terminal{}, []string{workspace, open}, open, ""},
		"closed to the user": {config.Terminal{User: "nobody"}, []string{closed, open}, open, "their own folder for temporary files"},
		"too long":           {config.Terminal{}, []string{newLongFolder(t), open}, open, ""},
		"hidden":             {config.Terminal{Sandbox: "landlock"}, []string{open}, open, "their own folder for temporary files"},
		"none":               {config.Terminal{}, []string{workspace}, "", "set XDG_RUNTIME_DIR"},
	} {
		core, said := observer.New(zap.InfoLevel)
		cfg := &config.Config{Workspace: workspace, Terminal: test.terminal}
		l := openSocket(cfg, test.parents, zap.New(core))
		got := ""
		if l != nil {
			got = filepath.Dir(filepath.Dir(l.Path()))
			closeSocket(l)
		}
		wanttest.Equal(t, name+": it is in", got, test.want)
		if all := said.All(); (test.says == "") != (len(all) == 0) || test.says != "" && (len(all) != 1 || !strings.Contains(all[0].Message, test.says)) {
			t.Errorf("%s: the log says %v", name, all)
		}
	}
}

// newLongFolder returns a folder whose path is too long for a socket in it.
func newLongFolder(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(runtimeDir(t), strings.Repeat("x", 100))
	musttest.Do(t, os.Mkdir(dir, 0o711))
	return dir
}
