package modebits_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"nanobot/internal/modebits"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// user has a primary group and a supplementary group.
var user = &syscall.Credential{Uid: 1234, Gid: 4321, Groups: []uint32{5555}}

// openFolder returns a folder that every user can reach.
func openFolder(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can be another user")
	}
	dir := t.TempDir()
	for _, path := range []string{dir, filepath.Dir(dir)} {
		musttest.Do(t, os.Chmod(path, 0o755))
	}
	return dir
}

// runAsUser runs a shell script as the user.
func runAsUser(t *testing.T, dir, script string) string {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.Dir, cmd.SysProcAttr = dir, &syscall.SysProcAttr{Credential: user}
	out := musttest.Get(cmd.Output())(t)
	return string(out)
}

func TestAllowAgreesWithTheKernel(t *testing.T) {
	dir := openFolder(t)
	var want strings.Builder
	for i, owner := range [][2]int{{1234, 0}, {1234, 4321}, {0, 4321}, {0, 5555}, {0, 0}} {
		for mode := range os.FileMode(0o1000) {
			if mode&0o111 != 0 && mode&0o111 != 0o111 && mode%5 != 0 {
				continue // enough of them are left
			}
			path := filepath.Join(dir, fmt.Sprintf("%d-%03o", i, mode))
			musttest.Do(t, os.WriteFile(path, nil, 0o600))
			musttest.Do(t, os.Chown(path, owner[0], owner[1]))
			musttest.Do(t, os.Chmod(path, mode))
			info := musttest.Get(os.Stat(path))(t)
			fmt.Fprint(&want, filepath.Base(path))
			for _, p := range []os.FileMode{modebits.Read, modebits.Write, modebits.Search} {
				if modebits.Allow(user, info, p) {
					fmt.Fprintf(&want, " %d", p)
				}
			}
			fmt.Fprintln(&want)
			wanttest.Equal(t, path+": reading and writing are not both:", modebits.Allow(user, info, modebits.Read) && modebits.Allow(user, info, modebits.Write), modebits.Allow(user, info, modebits.Read|modebits.Write))
		}
	}
	got := runAsUser(t, dir, `for f in *; do s=; [ -r $f ] && s="$s 4"; [ -w $f ] && s="$s 2"; [ -x $f ] && s="$s 1"; echo "$f$s"; done`)
	if got != want.String() {
		wants := strings.Split(want.String(), "\n")
		for i, line := range strings.Split(got, "\n") {
			if i < len(wants) && line != wants[i] {
				t.Fatalf("the kernel says %q, and not %q", line, wants[i])
			}
		}
		t.Fatalf("the kernel tells of %d bytes, and not %d", len(got), want.Len())
	}
}

func TestAllowRemoveAgreesWithTheKernel(t *testing.T) {
	dir := openFolder(t)
	for _, folder := range []struct {
		uid, gid int
		mode     os.FileMode
	}{
		{0, 0, 0o755},
		{0, 0, 0o777},
		{0, 0, 0o777 | os.ModeSticky},
		{0, 5555, 0o775 | os.ModeSticky},
		{0, 5555, 0o775},
		{0, 4321, 0o720},
		{0, 0, 0o776},
		{1234, 0, 0o755},
		{1234, 0, 0o755 | os.ModeSticky},
		{1234, 0, 0o577},
	} {
		for _, owner := range []int{0, 1234} {
			name := fmt.Sprintf("%d-%d-%v-%d", folder.uid, folder.gid, folder.mode, owner)
			path := filepath.Join(dir, name)
			musttest.Do(t, os.Mkdir(path, 0o700))
			musttest.Do(t, os.WriteFile(filepath.Join(path, "f"), nil, 0o666))
			musttest.Do(t, os.Chown(filepath.Join(path, "f"), owner, 0))
			musttest.Do(t, os.Chown(path, folder.uid, folder.gid))
			musttest.Do(t, os.Chmod(path, folder.mode))
			in, err := os.Stat(path)
			musttest.Do(t, err)
			entry, err := os.Stat(filepath.Join(path, "f"))
			musttest.Do(t, err)
			runAsUser(t, dir, "rm -f '"+name+"/f' 2>/dev/null; true")
			_, err = os.Lstat(filepath.Join(path, "f"))
			wanttest.Equal(t, name+": the kernel says", os.IsNotExist(err), modebits.AllowRemove(user, in, entry))
		}
	}
}

func TestTheSuperuserMayDoEverything(t *testing.T) {
	dir := openFolder(t)
	musttest.Do(t, os.Chown(dir, 1234, 4321))
	musttest.Do(t, os.Chmod(dir, 0o000|os.ModeSticky))
	info := musttest.Get(os.Stat(dir))(t)
	root := &syscall.Credential{}
	if !modebits.Allow(root, info, 0o7) || !modebits.AllowRemove(root, info, info) {
		t.Error("it may not")
	}
}
