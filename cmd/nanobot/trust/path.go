// Package trust decides which files root may rely on, by their owners and modes, and lets root give
// up its rights to work as the owner of a state. It changes no file.
package trust

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"nanobot/cmd/nanobot/format"
)

// Owner is the user and group that own a path.
type Owner struct {
	UID, GID int
	Exists   bool // false: the path does not exist, and they own the nearest folder above it
}

// maxLinks is how many symbolic links Linux follows in one path.
const maxLinks = 40

// OwnerOf returns the owner of a path, if root may rely on it. Whoever owns a folder or a symbolic
// link on the way to the path, or can write to one of root's, can replace the path by anything. So
// each of them must be root's and writable by nobody else, or belong to the owner of the path.
func OwnerOf(path string) (Owner, error) {
	owners := map[int]string{} // of what is on the way
	_, h, err := walk(path, func(at string, h Owner, _ bool) error {
		owners[h.UID] = at
		return nil
	})
	if err != nil {
		return Owner{}, err
	}
	for uid, at := range owners {
		if uid != 0 && uid != h.UID {
			return Owner{}, fmt.Errorf("%s belongs to user %d, but lies beyond %s of user %d, who could put anything there; give both to the user that the daemon runs as", path, h.UID, at, uid)
		}
	}
	return h, nil
}

// ResolveLinks returns a path without symbolic links. It refuses links that another user than root
// has made.
func ResolveLinks(path string) (string, error) {
	end, _, err := walk(path, func(at string, h Owner, link bool) error {
		if link && h.UID != 0 {
			return fmt.Errorf("%s is a link that user %d has made", at, h.UID)
		}
		return nil
	})
	return end, err
}

// walk resolves a path as the kernel does. It calls see for each folder and symbolic link on the
// way, and returns where the path ends and the owner of that. It refuses folders of root's that
// others can write to.
func walk(path string, see func(at string, h Owner, link bool) error) (at string, h Owner, err error) {
	at, rest := "/", SplitPath(path)
	if !filepath.IsAbs(path) {
		here, err := os.Getwd()
		if err != nil {
			return "", h, err
		}
		rest = append(SplitPath(here), rest...)
	}
	for links := 0; ; {
		now, to, err := look(at, len(rest) == 0)
		if errors.Is(err, fs.ErrNotExist) {
			h, _, err = look(filepath.Dir(at), true)
			h.Exists = false
			return at, h, err
		}
		if err == nil {
			err = see(at, now, to != "")
		}
		if err != nil {
			return "", h, err
		}
		if to != "" {
			if links++; links > maxLinks {
				return "", h, &fs.PathError{Op: "follow", Path: path, Err: syscall.ELOOP}
			}
			rest = append(SplitPath(to), rest...)
			if at = filepath.Dir(at); filepath.IsAbs(to) {
				at = "/"
			}
			continue
		}
		if h = now; len(rest) == 0 {
			return at, h, nil
		}
		at, rest = filepath.Join(at, rest[0]), rest[1:] // a ".." means what it says, since no link is in front of it
	}
}

// look returns the owner of a path, and the target if the path is a symbolic link. end says that it
// is the last of its path.
func look(at string, end bool) (h Owner, to string, err error) {
	info, err := os.Lstat(at)
	if err != nil {
		return h, "", err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return h, "", fmt.Errorf("whose %s is cannot be told", at)
	}
	h = Owner{int(stat.Uid), int(stat.Gid), true}
	if info.Mode().Type() == fs.ModeSymlink {
		to, err = os.Readlink(at)
		return h, to, err
	}
	// In a sticky folder everybody can put something beside what is there, and nobody into its
	// place.
	if open := info.Mode().Perm()&0o022 != 0; open && h.UID == 0 && (end || info.Mode()&fs.ModeSticky == 0) {
		return h, "", fmt.Errorf("others than root can write to %s, and could put anything there; chmod go-w %s", at, format.ShellWord(at))
	}
	return h, "", nil
}

// SplitPath returns the elements of a path.
func SplitPath(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
}

// FileUID returns the user who owns a file, or -1.
func FileUID(info fs.FileInfo) int {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(s.Uid)
	}
	return -1
}
