package confine

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

// who is the user that agents run as.
type who struct {
	name, home string
	uid, gid   uint32
	groups     []uint32
}

// findUser looks a user up by name or number; nil: nobody else than we are.
func findUser(name string) (*who, error) {
	if name == "" {
		return nil, nil //nolint:nilnil // nil is how every method of it means ourselves
	}
	u, err := user.Lookup(name)
	if err != nil {
		if u, err = user.LookupId(name); err != nil {
			return nil, fmt.Errorf("there is no user %q on this machine; useradd --system %[1]s makes one", name)
		}
	}
	if u.Uid == strconv.Itoa(os.Geteuid()) {
		return nil, nil //nolint:nilnil // as above
	}
	if os.Geteuid() != 0 {
		return nil, fmt.Errorf("only root may run an agent as %s, and this runs as user %d; start it as root, or as %[1]s and without terminal.user", u.Username, os.Geteuid())
	}
	ids, err := u.GroupIds()
	if err != nil {
		return nil, fmt.Errorf("find the groups of %s: %w", u.Username, err)
	}
	w := &who{name: u.Username, home: u.HomeDir}
	for _, id := range append([]string{u.Uid, u.Gid}, ids...) {
		n, err := strconv.ParseUint(id, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("id %q of %s: %w", id, u.Username, err)
		}
		w.groups = append(w.groups, uint32(n))
	}
	w.uid, w.gid, w.groups = w.groups[0], w.groups[1], w.groups[2:]
	return w, nil
}

func (w *who) credential() *syscall.Credential {
	if w == nil {
		return nil
	}
	return &syscall.Credential{Uid: w.uid, Gid: w.gid, Groups: w.groups}
}

// ids are what the helper needs to become the user.
func (w *who) ids() *ids {
	id := &ids{UID: int(w.uid), GID: int(w.gid)}
	for _, group := range w.groups {
		id.Groups = append(id.Groups, int(group))
	}
	return id
}

// canEnter checks that the user may go where the agent works: no folder on the way may be closed to
// it.
func (w *who) canEnter(dirs []string) error {
	if w == nil {
		return nil
	}
	for _, dir := range dirs {
		at, info, err := w.closed(dir)
		if err != nil {
			return fmt.Errorf("%s cannot work in %s: %w", w.name, dir, err)
		}
		if at != "" {
			return fmt.Errorf("%s cannot work in %s: %s is closed to it (%v); chmod o+x %[3]s", w.name, dir, at, info.Mode())
		}
	}
	return nil
}

// closed returns the folder that the user may not enter, of one and those above it; "": there is
// none.
func (w *who) closed(dir string) (string, fs.FileInfo, error) {
	for at := dir; ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if err != nil || !w.may(info, modebits.Search) {
			return at, info, err
		}
		if at == filepath.Dir(at) {
			return "", nil, nil
		}
	}
}

// may reports whether the mode of a file gives the user permissions.
func (w *who) may(info fs.FileInfo, permissions fs.FileMode) bool {
	return modebits.Allow(w.credential(), info, permissions)
}

// Environ is what another user's environment says of it.
func (c *Confinement) Environ() []string {
	if c == nil || c.who == nil {
		return nil
	}
	w := c.who
	return []string{"HOME=" + w.home, "USER=" + w.name, "LOGNAME=" + w.name}
}

// Own makes a chat's folder, which we have made, and files in it that we have put there, the
// agent's own. The folder above is opened just so far that the agent comes through. The folder is
// the agent's, who may have put links into it, so none is followed out of it.
func (c *Confinement) Own(dir string, files []string) error {
	if c == nil || c.who == nil {
		return nil
	}
	root, err := c.who.open(dir)
	if err != nil {
		return fmt.Errorf("give the user folder to %s: %w", c.who.name, err)
	}
	defer func() { _ = root.Close() }()
	for _, file := range files {
		rel, err := filepath.Rel(dir, file)
		if err != nil || !filepath.IsLocal(rel) {
			continue // it is not ours to give
		}
		if err := c.who.own(root, rel); err != nil {
			return fmt.Errorf("give %s to %s: %w", file, c.who.name, err)
		}
	}
	return nil
}

// own gives a file and the folders on the way to it to the user. A file with a second name is left
// as it is, since that may be anybody's.
func (w *who) own(root *os.Root, rel string) error {
	parts := strings.Split(rel, string(filepath.Separator))
	for i := range parts {
		f, err := root.OpenFile(filepath.Join(parts[:i+1]...), os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may be a pipe that nobody writes to
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the turn will say so where it matters
		}
		if err != nil {
			return err
		}
		err = w.give(f)
		f.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *who) give(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || stat.Uid != uint32(os.Geteuid()) || !info.IsDir() && (!info.Mode().IsRegular() || stat.Nlink > 1) {
		return nil
	}
	return f.Chown(int(w.uid), int(w.gid))
}

// within reports whether a path is a folder or below it.
func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}
