package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"nanobot/internal/modebits"
)

// agentUser is the Unix user that agents run as; nil: the user of this process.
type agentUser struct {
	syscall.Credential
	name, home string
}

// lookupUser looks a user up by name or ID. It returns nil for the user of this process.
func lookupUser(name string) (*agentUser, error) {
	if name == "" {
		return nil, nil //nolint:nilnil // a nil agentUser is the user of this process
	}
	u, err := user.Lookup(name)
	if err != nil {
		if u, err = user.LookupId(name); err != nil {
			return nil, fmt.Errorf("there is no user %q on this machine; create it with useradd --system %[1]s", name)
		}
	}
	if u.Uid == strconv.Itoa(os.Geteuid()) {
		return nil, nil //nolint:nilnil // as above
	}
	if os.Geteuid() != 0 {
		return nil,
			fmt.Errorf("only root may run an agent as %s, and this runs as user %d; start it as root, or as %[1]s and without "+
				"terminal.user", u.Username, os.Geteuid())
	}
	ids, err := u.GroupIds()
	if err != nil {
		return nil, fmt.Errorf("find the groups of %s: %w", u.Username, err)
	}
	w := &agentUser{name: u.Username, home: u.HomeDir}
	for _, id := range append([]string{u.Uid, u.Gid}, ids...) {
		n, err := strconv.ParseUint(id, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("id %q of %s: %w", id, u.Username, err)
		}
		w.Groups = append(w.Groups, uint32(n))
	}
	w.Uid, w.Gid, w.Groups = w.Groups[0], w.Groups[1], w.Groups[2:]
	return w, nil
}

func (u *agentUser) credential() *syscall.Credential {
	if u == nil {
		return nil
	}
	return &u.Credential
}

// checkCanEnter checks that the user may search the agent's working folders and all their parents.
func (u *agentUser) checkCanEnter(dirs []string) error {
	if u == nil {
		return nil
	}
	for _, dir := range dirs {
		at, info, err := u.firstClosedDir(dir)
		if err != nil {
			return fmt.Errorf("%s cannot work in %s: %w", u.name, dir, err)
		}
		if at != "" {
			return fmt.Errorf("%s cannot work in %s: %s is closed to it (%v); chmod o+x %[3]s", u.name, dir, at, info.Mode())
		}
	}
	return nil
}

// firstClosedDir returns the first of a folder and its parents that the user may not search; "":
// there is none.
func (u *agentUser) firstClosedDir(dir string) (string, fs.FileInfo, error) {
	for at := dir; ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if err != nil || !u.hasPermission(info, modebits.Search) {
			return at, info, err
		}
		if at == filepath.Dir(at) {
			return "", nil, nil
		}
	}
}

// hasPermission reports whether the mode of a file gives the user permissions.
func (u *agentUser) hasPermission(info fs.FileInfo, permissions fs.FileMode) bool {
	return modebits.Allow(u.credential(), info, permissions)
}

// UserEnviron returns the environment variables that name the agent's user, if that is another
// user.
func (s *Sandbox) UserEnviron() []string {
	if s == nil || s.user == nil {
		return nil
	}
	w := s.user
	return []string{"HOME=" + w.home, "USER=" + w.name, "LOGNAME=" + w.name}
}

// ChownToAgent makes the agent's user the owner of a chat's folder and of files in it that this
// process has created. The parent folder gets search permission for the user. The agent may have
// created symbolic links in the folder, so none is followed out of it.
func (s *Sandbox) ChownToAgent(dir string, files []string) error {
	if s == nil || s.user == nil {
		return nil
	}
	root, err := s.user.openChatDir(dir)
	if err != nil {
		return fmt.Errorf("give the user folder to %s: %w", s.user.name, err)
	}
	defer func() { _ = root.Close() }()
	for _, file := range files {
		rel, err := filepath.Rel(dir, file)
		if err != nil || !filepath.IsLocal(rel) {
			continue // it is not in the chat's folder
		}
		if err := s.user.chownPath(root, rel); err != nil {
			return fmt.Errorf("give %s to %s: %w", file, s.user.name, err)
		}
	}
	return nil
}

// ChownFolder makes the agent's user the owner of a folder that this process has created.
func (s *Sandbox) ChownFolder(root *os.Root) error {
	if s == nil || s.user == nil {
		return nil
	}
	return withOpenDir(root, func(f *os.File, _ fs.FileInfo) error { return s.user.chownFile(f) })
}

// chownPath changes the owner of a file and of the folders on the way to it. A file with several
// hard links stays as it is, since another of them may belong to anybody.
func (u *agentUser) chownPath(root *os.Root, rel string) error {
	parts := strings.Split(rel, string(filepath.Separator))
	for i := range parts {
		// a FIFO without a writer would block
		f, err := root.OpenFile(filepath.Join(parts[:i+1]...), os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the turn reports a missing file where it matters
		}
		if err != nil {
			return err
		}
		err = u.chownFile(f)
		f.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

func (u *agentUser) chownFile(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || stat.Uid != uint32(os.Geteuid()) || !info.IsDir() && (!info.Mode().IsRegular() || stat.Nlink > 1) {
		return nil
	}
	return f.Chown(int(u.Uid), int(u.Gid))
}
