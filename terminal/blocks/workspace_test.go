package blocks_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
	"nanobot/terminal/blocks"
	"nanobot/terminal/media"
)

// workspaceFixture is a workspace with the gateway's own files in it, and files outside of it.
type workspaceFixture struct {
	blocks.Workspace
	t   *testing.T
	dir string // the folder above the workspace
	env terminal.ExecEnv
}

func newWorkspaceFixture(t *testing.T) *workspaceFixture {
	t.Helper()
	dir := musttest.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	w := &workspaceFixture{t: t, dir: dir}
	for path, content := range map[string]string{
		"outside/file": "SECRET", "ws-other/file": "SECRET", "ws/users/7/note": "SECRET", "ws/users/8/note": "SECRET", "ws/users/stray": "SECRET",
		"ws/config.json": "SECRET", "ws/state/db": "SECRET", "ws/state/deep/db": "SECRET", "ws/file": "text", "ws/sub/file": "text in sub",
	} {
		w.putFile(path, content)
	}
	users := w.path("ws/users")
	w.env = terminal.ExecEnv{
		Dir:     w.path("ws"),
		Private: []string{w.path("ws/config.json"), w.path("ws/state"), w.path("ws/secret.env"), "", w.path("ws/gone/secret")},
		Chats:   []media.ChatFolders{{Parent: users, Own: filepath.Join(users, "8")}},
	}
	w.reopen()
	return w
}

func (w *workspaceFixture) reopen() {
	w.t.Helper()
	var err error
	if w.Workspace, err = blocks.OpenWorkspace(w.env); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(w.Close)
}

func (w *workspaceFixture) path(rel string) string { return filepath.Join(w.dir, rel) }

func (w *workspaceFixture) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *workspaceFixture) putFile(path, content string) {
	w.t.Helper()
	w.must(os.MkdirAll(filepath.Dir(w.path(path)), 0o700))
	w.must(os.WriteFile(w.path(path), []byte(content), 0o600))
}

func (w *workspaceFixture) putLink(target, path string) {
	w.t.Helper()
	w.must(os.Symlink(target, w.path(path)))
}

func (w *workspaceFixture) readFile(path string) string {
	w.t.Helper()
	got, err := os.ReadFile(w.path(path))
	w.must(err)
	return string(got)
}

// readTree returns the content of each file below a folder, and the type of each other entry.
func (w *workspaceFixture) readTree(folder string) map[string]string {
	w.t.Helper()
	files := map[string]string{}
	w.must(filepath.WalkDir(w.path(folder), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(w.path(folder), path)
		files[rel] = d.Type().String()
		if d.Type().IsRegular() {
			content, err := os.ReadFile(path)
			files[rel] = string(content)
			return err
		}
		return nil
	}))
	return files
}

// checkRefused checks that every operation refuses a path, and that no file changes.
func (w *workspaceFixture) checkRefused(path string) {
	w.t.Helper()
	if got, _, err := w.Read(path, 1<<20); !errors.Is(err, blocks.ErrOutside) || got != nil {
		w.t.Errorf("read %q: %q, %v", path, got, err)
	}
	if _, err := w.Stat(path); !errors.Is(err, blocks.ErrOutside) {
		w.t.Errorf("stat %q: %v", path, err)
	}
	if err := w.Write(path, "OVERWRITTEN"); !errors.Is(err, blocks.ErrOutside) {
		w.t.Errorf("write %q: %v", path, err)
	}
	if err := w.Remove(path); !errors.Is(err, blocks.ErrOutside) {
		w.t.Errorf("remove %q: %v", path, err)
	}
}

func TestNoPathLeadsOutOfTheWorkspace(t *testing.T) {
	w := newWorkspaceFixture(t)
	for path, target := range map[string]string{
		"out": "../outside", "out-file": "../outside/file", "out-abs": w.path("outside/file"), "out-none": "../outside/none", "out-far": "../none/none",
		"out-not": "../outside/file/x", "out-loop": "../loop", "self": ".", "sub/up": "..", "sub/above": "../..", "loop": "loop", "to-other": "../ws-other/file",
		"to-config": "config.json", "to-users": "users", "to-note": "users/8/note", "to-secret": "secret.env", "users/8/back": "../../file", "by-users": "users/8/back",
	} {
		w.putLink(target, "ws/"+path)
	}
	w.putLink("loop", "loop")
	w.must(os.Link(w.path("ws/state/deep/db"), w.path("ws/hard-state")))
	w.must(os.Link(w.path("ws/config.json"), w.path("ws/hard-config")))
	w.must(os.Link(w.path("ws/users/7/note"), w.path("ws/hard-note")))
	before := w.readTree(".")
	for _, path := range []string{
		"", ".", "./", "sub/..", "sub/../", "..", "../", "self", "self/", "self/.", "sub/up", "sub/up/.",
		"../outside/file", "../outside/none", "../outside/file/x", "../none/x", "sub/../../outside/file", "../ws/file", "sub/up/../outside/file", "sub/above/outside/file",
		"../ws-other/file", "../ws-other/none", "../../../../../../../../etc/passwd", "..\x00", "file\x00", "\x00",
		"/", "/etc/passwd", "/none", w.path("ws/file"), w.path("ws"), "//file",
		"out", "out/file", "out/none", "out/../ws/file", "out-file", "out-abs", "out-none", "out-far", "out-not", "out-loop", "loop", "to-other",
		"config.json", "./config.json", "sub/../config.json", "to-config", "state", "state/db", "state/none", "state/deep/db", "state/deep/none/x", "to-secret",
		"secret.env", "gone/secret", "gone/secret/x", "sub/up/config.json",
		"users", "users/", "users/stray", "users/7", "users/7/note", "users/7/none", "users/8", "users/8/note", "users/9/none", "to-users", "to-users/8/note", "to-note",
		"users/../file", "users/8/back", "by-users", "hard-state", "hard-config", "hard-note",
	} {
		w.checkRefused(path)
	}
	after := w.readTree(".")
	for path, content := range before {
		wanttest.Equal(t, path+": has … now:", after[path], content)
	}
	if len(before) != len(after) {
		t.Errorf("%d files became %d", len(before), len(after))
	}
}

func TestFilesAreReadByAnyPathWithinTheWorkspace(t *testing.T) {
	w := newWorkspaceFixture(t)
	w.putFile(`ws/back\slash..`, "text")
	w.putFile("ws/..dots", "text")
	for path, target := range map[string]string{
		"link": "file", "sub/link": "../file", "abs": w.path("ws/file"), "folder": "sub", "sub/deep": "..", "over": "../ws/file", "twice": "link", "abs-folder": w.path("ws/sub"),
	} {
		w.putLink(target, "ws/"+path)
	}
	w.must(os.Link(w.path("ws/file"), w.path("ws/hard"))) // as git and pnpm make many
	for path, want := range map[string]string{
		"file": "text", "./file": "text", "sub//..//file": "text", "sub/../file": "text", "link": "text", "sub/link": "text", "abs": "text", "over": "text", "twice": "text",
		"sub/file": "text in sub", "folder/file": "text in sub", "folder/../file": "text", "sub/deep/file": "text", "sub/deep/sub/file": "text in sub", "none/../file": "text",
		"abs-folder/file": "text in sub", `back\slash..`: "text", "..dots": "text", "hard": "text",
	} {
		got, size, err := w.Read(path, 1<<20)
		if err != nil || string(got) != want || size != int64(len(want)) {
			t.Errorf("%q has %q, %d bytes: %v", path, got, size, err)
		}
		if size, err := w.Stat(path); size != int64(len(want)) || err != nil {
			t.Errorf("%q: %d bytes, %v", path, size, err)
		}
	}
	for most, want := range map[int64]string{0: "", 3: "tex", 4: "text", 5: "text"} {
		if got, size, err := w.Read("file", most); string(got) != want || size != 4 || err != nil {
			t.Errorf("at most %d: %q, %d, %v", most, got, size, err)
		}
	}
}

func TestOnlyRegularFilesAreFound(t *testing.T) {
	w := newWorkspaceFixture(t)
	w.must(syscall.Mkfifo(w.path("ws/fifo"), 0o600))
	w.putLink("none", "ws/dangling")
	w.putLink("sub", "ws/folder")
	for _, path := range []string{"none", "sub", "sub/", "none/x", "file/x", "file/", "file/.", "sub/file/..", "folder", "folder/", "fifo", "dangling", "../ws", `sub\file`} {
		want := blocks.ErrNotFound
		if path == "../ws" {
			want = blocks.ErrOutside
		}
		if got, _, err := w.Read(path, 1<<20); !errors.Is(err, want) {
			t.Errorf("read %q: %q, %v", path, got, err)
		}
		if _, err := w.Stat(path); !errors.Is(err, want) {
			t.Errorf("stat %q: %v", path, err)
		}
		if err := w.Remove(path); !errors.Is(err, want) {
			t.Errorf("remove %q: %v", path, err)
		}
	}
	for path, want := range map[string]string{
		"sub": "is a directory", "sub/": "is a directory", "new/": "is a directory", "folder": "is a directory", "file/x": "not a directory", "fifo": "not a regular file",
		strings.Repeat("n", 256): "file name too long", "a/" + strings.Repeat("n", 256): "file name too long",
	} {
		if err := w.Write(path, "x"); err == nil || blocks.Reason(err) != want {
			t.Errorf("write %q: %v", path, err)
		}
	}
}

func TestAFileIsWrittenWithItsFoldersAndKeepsItsMode(t *testing.T) {
	w := newWorkspaceFixture(t)
	umask := syscall.Umask(0o027)
	defer syscall.Umask(umask)
	w.must(os.Chmod(w.path("ws/file"), 0o751))
	w.putLink("sub", "ws/folder")
	w.putLink("file", "ws/link")
	w.putLink("new/by-link", "ws/dangling")
	for path, content := range map[string]string{
		"link": "größer\x00\r\n", "sub/file": "", "a/b/c/" + strings.Repeat("n", 255): "deep", "folder/new/file": "by folder", "dangling": "by link", `b\c`: "x",
	} {
		w.must(w.Write(path, content))
		wanttest.Equal(t, path+": has", w.readFile("ws/"+path), content)
	}
	for path, want := range map[string]os.FileMode{
		"link": os.ModeSymlink, "file": 0o751, "dangling": os.ModeSymlink, "new/by-link": 0o640, "new": os.ModeDir | 0o750, "sub/new": os.ModeDir | 0o750, "sub/new/file": 0o640, `b\c`: 0o640,
	} {
		info, err := os.Lstat(w.path("ws/" + path))
		if err != nil || info.Mode()&^os.ModePerm != want&^os.ModePerm || want.Perm() != 0 && info.Mode() != want {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
	if os.Geteuid() == 0 {
		w.must(os.Chown(w.path("ws/file"), 1234, 4321))
		w.must(w.Write("file", "x"))
		if info, _ := os.Stat(w.path("ws/file")); info.Sys().(*syscall.Stat_t).Uid != 1234 || info.Sys().(*syscall.Stat_t).Gid != 4321 {
			t.Errorf("%+v", info.Sys())
		}
	} else {
		w.must(os.Chmod(w.path("ws/file"), 0o444))
		if err := w.Write("file", "x"); err == nil || blocks.Reason(err) != "permission denied" {
			t.Errorf("a file that is read-only: %v", err)
		}
	}
	for path := range w.readTree("ws") {
		if strings.HasSuffix(path, ".tmp") {
			t.Errorf("left behind: %s", path)
		}
	}
}

func TestRemovingALinkLeavesItsFile(t *testing.T) {
	w := newWorkspaceFixture(t)
	w.putLink("../file", "ws/sub/link")
	w.putLink("sub", "ws/folder")
	w.must(w.Remove("folder/link"))
	w.must(w.Remove("folder/../sub/file"))
	want := []string{"config.json", "file", "folder", "state/db", "state/deep/db", "users/7/note", "users/8/note", "users/stray"}
	var got []string
	for path := range w.readTree("ws") {
		got = append(got, path)
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("there is %q", got)
	}
}

func TestAWorkspaceMayBeReachedByALink(t *testing.T) {
	w := newWorkspaceFixture(t)
	w.putLink("ws", "linked")
	w.putLink("linked/users", "linked-users")
	w.putLink("linked/config.json", "linked-config")
	w.env.Dir = w.path("linked")
	w.env.Private = []string{w.path("linked-config"), w.path("linked/state"), w.path("linked/secret.env")}
	w.env.Chats = []media.ChatFolders{{Parent: w.path("linked-users"), Own: w.path("linked-users/8")}}
	w.reopen()
	if got, _, err := w.Read("sub/../file", 1<<20); string(got) != "text" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	for _, path := range []string{"config.json", "state/db", "secret.env", "users/8/note", "users/7/none", "../linked/file"} {
		w.checkRefused(path)
	}
	for name, dir := range map[string]string{"of another chat": "ws/users/7", "of the gateway": "ws/state/deep", "missing": "none", "a file": "ws/file"} {
		w.env.Dir = w.path(dir)
		if _, err := blocks.OpenWorkspace(w.env); err == nil {
			t.Errorf("a workspace that is %s was opened", name)
		}
	}
}

func TestAReasonContainsNoPath(t *testing.T) {
	for want, err := range map[string]error{
		"permission denied":       &os.PathError{Op: "open", Path: "/x", Err: syscall.EACCES},
		"no space left on device": errors.Join(&os.LinkError{Op: "rename", Old: "/x", New: "/y", Err: syscall.ENOSPC}, os.ErrClosed),
		"file already closed":     &os.PathError{Op: "close", Path: "/x", Err: os.ErrClosed},
		"outside workspace":       blocks.ErrOutside,
	} {
		if got := blocks.Reason(err); got != want {
			t.Errorf("%v: %q", err, got)
		}
	}
}
