package sandbox_test

import (
	"errors"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"nanobot/internal/musttest"
	"nanobot/terminal/process"
	"nanobot/terminal/sandbox"
)

func TestTheAgentIsAnotherUser(t *testing.T) {
	needRoot(t)
	dir := openDir(t)
	nobody, err := user.Lookup("nobody")
	if err != nil {
		t.Skip(err)
	}
	for _, name := range []string{"nobody", nobody.Uid} {
		for _, kind := range []string{"none", sandbox.Landlock} {
			o := sandbox.Options{User: name, Dirs: []string{dir}, Sandbox: kind}
			r := runScript(t, o, "id -un; id -u; echo $HOME $USER $LOGNAME; cat /etc/shadow 2>/dev/null; cat /proc/self/status | grep -i capeff")
			want := "nobody\n" + nobody.Uid + "\n" + nobody.HomeDir + " nobody nobody\nCapEff:\t0000000000000000"
			if r.out != want {
				t.Errorf("%s, %s: %q, %q", name, kind, r.out, r.err)
			}
		}
	}
}

func TestTheAgentHasTheGroupsOfItsUser(t *testing.T) {
	needRoot(t)
	out, err := exec.Command("sh", "-c", "getent group | awk -F: '$4 != \"\" {split($4, m, \",\"); print m[1]}' | grep -v root | head -n 1").Output()
	name := strings.TrimSpace(string(out))
	if err != nil || name == "" {
		t.Skip("nobody here has more groups than one", err)
	}
	want, err := exec.Command("id", "-G", name).Output()
	if err != nil || len(strings.Fields(string(want))) < 2 {
		t.Skip(err, string(want))
	}
	r := runScript(t, sandbox.Options{User: name}, "id -G")
	if got := strings.Fields(r.out); !sameSet(got, strings.Fields(string(want))) {
		t.Errorf("%s: %v, want %s", name, got, want)
	}
}

func sameSet(a, b []string) bool {
	set := map[string]int{}
	for _, s := range a {
		set[s] |= 1
	}
	for _, s := range b {
		set[s] |= 2
	}
	for _, n := range set {
		if n != 3 {
			return false
		}
	}
	return true
}

func TestAnUnusableUserIsAnError(t *testing.T) {
	if _, err := sandbox.New(sandbox.Options{User: "no-such-user"}); err == nil || !strings.Contains(err.Error(), "useradd") {
		t.Error(err)
	}
	needRoot(t)
	closed := openDir(t)
	musttest.Do(t, os.Chmod(closed, 0o700))
	_, err := sandbox.New(sandbox.Options{User: "nobody", Dirs: []string{filepath.Join(closed)}})
	if err == nil || !strings.Contains(err.Error(), "chmod o+x "+closed) {
		t.Error(err)
	}
}

func TestOnlyRootRunsAgentsAsOthers(t *testing.T) {
	needRoot(t)
	// The test binary runs as nobody and has to refuse to become root.
	c, err := process.Start(process.Options{
		Path: "/proc/self/exe", Args: []string{"test", "-test.run=TestAnUnprivilegedUserCannotRunAgentsAsRoot"}, Dir: "/", Env: append(os.Environ(), "AS_NOBODY=1"),
		User: &syscall.Credential{Uid: 65534, Gid: 65534}, StderrTail: 1 << 10,
	})
	if err != nil {
		t.Skip(err)
	}
	out := new(strings.Builder)
	buf := make([]byte, 4096)
	for {
		n, err := c.Stdout.Read(buf)
		out.Write(buf[:n])
		if err != nil {
			break
		}
	}
	if e := c.Wait(); !e.OK() {
		t.Errorf("%s %+v", out, e)
	}
}

func TestAnUnprivilegedUserCannotRunAgentsAsRoot(t *testing.T) {
	if os.Getenv("AS_NOBODY") == "" {
		t.Skip("it is run by another test")
	}
	if _, err := sandbox.New(sandbox.Options{User: "root"}); err == nil || !strings.Contains(err.Error(), "only root may run an agent as root") {
		t.Error(err)
	}
	if c, err := sandbox.New(sandbox.Options{User: "65534"}); err != nil || c.UserEnviron() != nil {
		t.Errorf("ourselves: %v", err)
	}
}

func TestTheChatsFolderAndItsFilesAreGivenToTheUser(t *testing.T) {
	needRoot(t)
	dir := openDir(t)
	chat := filepath.Join(dir, "users", "1")
	musttest.Do(t, os.MkdirAll(filepath.Join(chat, "media"), 0o700))
	for name, link := range map[string]string{"media/photo.jpg": "", "hard": dir + "/ours", "soft": ""} {
		path := filepath.Join(chat, name)
		musttest.Do(t, os.WriteFile(dir+"/ours", []byte("x"), 0o600))
		var err error
		switch {
		case name == "soft":
			err = os.Symlink(dir+"/ours", path)
		case link != "":
			err = os.Link(link, path)
		default:
			err = os.WriteFile(path, []byte("photo"), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	musttest.Do(t, syscall.Mkfifo(filepath.Join(chat, "pipe"), 0o600))
	o := sandbox.Options{User: "nobody", Dirs: []string{dir}, Shell: "/bin/sh"}
	c := musttest.Get(sandbox.New(o))(t)
	files := []string{chat + "/media/photo.jpg", chat + "/hard", chat + "/pipe", chat + "/gone", dir + "/ours", "/etc/shadow"}
	musttest.Do(t, c.ChownToAgent(chat, files))
	if err := c.ChownToAgent(chat, []string{chat + "/soft"}); err == nil {
		t.Error("a link out of the folder was followed")
	}
	r := runScript(t, o, "cd "+chat+" && cat media/photo.jpg && echo made > new && ls ..; cat "+dir+"/ours hard")
	if r.out != "photo" || r.exit.OK() {
		t.Errorf("%+v", r)
	}
	if b, err := os.ReadFile(chat + "/new"); string(b) != "made\n" {
		t.Errorf("we cannot read what it wrote: %q, %v", b, err)
	}
	for _, ours := range []string{dir + "/ours", "/etc/shadow"} {
		info, err := os.Stat(ours)
		if err != nil || info.Sys().(*syscall.Stat_t).Uid != 0 {
			t.Errorf("%s was given away: %v", ours, err)
		}
	}
}

func TestAUserWhoCouldReplaceTheWorkspaceIsRefused(t *testing.T) {
	needRoot(t)
	const nobody = 65534
	for name, tc := range map[string]struct {
		path  string // below the test's folder
		owner int
		mode  os.FileMode
		is    bool // refused
	}{
		"ours":                         {"above/work", 0, 0o755, false},
		"its own workspace":            {"above/work", nobody, 0o755, true},
		"its own, with a sticky bit":   {"above/work", nobody, 0o755 | os.ModeSticky, true},
		"open to all":                  {"above/work", 0, 0o777, true},
		"open to all, but sticky":      {"above/work", 0, 0o777 | os.ModeSticky, false},
		"the one above is its own":     {"above", nobody, 0o755, true},
		"the one above is open to all": {"above", 0, 0o777, true},
		"the chats are its own":        {"above/work/users", nobody, 0o755, true},
	} {
		dir := openDir(t)
		work := filepath.Join(dir, "above", "work")
		musttest.Do(t, os.MkdirAll(filepath.Join(work, "users"), 0o755))
		path := filepath.Join(dir, tc.path)
		musttest.Do(t, errors.Join(os.Chmod(path, tc.mode), os.Lchown(path, tc.owner, 0)))
		_, err := sandbox.New(sandbox.Options{User: "nobody", Workspace: work, Dirs: []string{work}})
		if (err != nil) != tc.is || err != nil && !strings.Contains(err.Error(), "chown root "+path) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestALinkedWorkspaceIsRefusedIfEitherEndCouldBeReplaced(t *testing.T) {
	needRoot(t)
	for _, open := range []string{"", "links", "above", "above/work"} {
		dir := openDir(t)
		work, link := filepath.Join(dir, "above", "work"), filepath.Join(dir, "links", "work")
		for _, d := range []string{work, filepath.Dir(link)} {
			musttest.Do(t, os.MkdirAll(d, 0o755))
		}
		musttest.Do(t, os.Symlink(work, link))
		at := filepath.Join(dir, open)
		if open != "" {
			musttest.Do(t, os.Chmod(at, 0o777))
		}
		_, err := sandbox.New(sandbox.Options{User: "nobody", Workspace: link})
		if (err != nil) != (open != "") || err != nil && open != "above/work" && !strings.Contains(err.Error(), "chown root "+at) {
			t.Errorf("%q is open: %v", open, err)
		}
	}
}

// If a symbolic link replaces the folder of all chats or of one chat, the owner of its target must
// not change, even within the workspace.
func TestNoLinkIsFollowedToAChatsFolder(t *testing.T) {
	needRoot(t)
	for _, link := range []string{"users", "users/1"} {
		for _, to := range []string{"within", "outside"} {
			dir := openDir(t)
			work := filepath.Join(dir, "work")
			target := map[string]string{"within": filepath.Join(work, "target"), "outside": filepath.Join(dir, "target")}[to]
			musttest.Do(t, os.MkdirAll(filepath.Join(target, "1"), 0o700))
			at := filepath.Join(work, link)
			musttest.Do(t, os.MkdirAll(filepath.Dir(at), 0o755))
			rel, err := filepath.Rel(filepath.Dir(at), target) // an os.Root follows relative links that stay within it
			if err != nil {
				t.Fatal(err)
			}
			musttest.Do(t, os.Symlink(rel, at))
			c := musttest.Get(sandbox.New(sandbox.Options{User: "nobody"}))(t)
			if err := c.ChownToAgent(filepath.Join(work, "users", "1"), nil); err == nil {
				t.Errorf("%s to %s: it was followed", link, to)
			}
			for _, path := range []string{target, target + "/1"} {
				info, err := os.Stat(path)
				if err != nil || info.Mode().Perm() != 0o700 || info.Sys().(*syscall.Stat_t).Uid != 0 {
					t.Errorf("%s to %s: %s is %v now, %v", link, to, path, info.Mode(), err)
				}
			}
		}
	}
}
