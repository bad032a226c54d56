// Package trust decides by owners and modes which files root may trust, and drops root's privileges
// to work as the owner of a state. It changes no file.
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
	Exists   bool // false if the path does not exist; then UID and GID own its parent folder
}

// maxLinks is how many symbolic links Linux follows in one path.
const maxLinks = 40

// OwnerOf returns the owner of a path, if root may trust the path. A user who owns a folder or
// symbolic link in the path, or can write to one of root's folders, can replace the target. So each
// of them must belong to the target's owner, or to root and be writable by root only.
func OwnerOf(path string) (Owner, error) {
	owners := map[int]string{} // of the folders and links in the path
	_, owner, err := walkPath(path, func(at string, owner Owner, _ bool) error {
		owners[owner.UID] = at
		return nil
	})
	if err != nil {
		return Owner{}, err
	}
	for uid, at := range owners {
		if uid != 0 && uid != owner.UID {
			return Owner{},
				fmt.Errorf("%s belongs to user %d, but %s in its path belongs to user %d, who could replace it; give both to the "+
					"user that the daemon runs as", path, owner.UID, at, uid)
		}
	}
	return owner, nil
}

// ResolveLinks returns a path without symbolic links. It refuses links that do not belong to root.
func ResolveLinks(path string) (string, error) {
	end, _, err := walkPath(path, func(at string, owner Owner, link bool) error {
		if link && owner.UID != 0 {
			return fmt.Errorf("%s is a link of user %d", at, owner.UID)
		}
		return nil
	})
	return end, err
}

// walkPath resolves a path as the kernel does. It calls visit for each folder and symbolic link in
// the path, and returns the resolved path and its owner. It refuses folders of root that other
// users can write to.
func walkPath(path string, visit func(at string, owner Owner, link bool) error) (at string, owner Owner, err error) {
	at, rest := "/", SplitPath(path)
	if !filepath.IsAbs(path) {
		here, err := os.Getwd()
		if err != nil {
			return "", owner, err
		}
		rest = append(SplitPath(here), rest...)
	}
	for links := 0; ; {
		now, to, err := inspect(at, len(rest) == 0)
		if errors.Is(err, fs.ErrNotExist) {
			owner, _, err = inspect(filepath.Dir(at), true)
			owner.Exists = false
			return at, owner, err
		}
		if err == nil {
			err = visit(at, now, to != "")
		}
		if err != nil {
			return "", owner, err
		}
		if to != "" {
			if links++; links > maxLinks {
				return "", owner, &fs.PathError{Op: "follow", Path: path, Err: syscall.ELOOP}
			}
			rest = append(SplitPath(to), rest...)
			if at = filepath.Dir(at); filepath.IsAbs(to) {
				at = "/"
			}
			continue
		}
		if owner = now; len(rest) == 0 {
			return at, owner, nil
		}
		at, rest = filepath.Join(at, rest[0]), rest[1:] // ".." is the parent, since at has no links
	}
}

// inspect returns the owner of a path, and the target if the path is a symbolic link. end says that
// the path is complete.
func inspect(at string, end bool) (owner Owner, to string, err error) {
	info, err := os.Lstat(at)
	if err != nil {
		return owner, "", err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return owner, "", fmt.Errorf("the owner of %s is unknown", at)
	}
	owner = Owner{int(stat.Uid), int(stat.Gid), true}
	if info.Mode().Type() == fs.ModeSymlink {
		to, err = os.Readlink(at)
		return owner, to, err
	}
	// In a sticky folder other users can add entries but not replace those of root.
	if open := info.Mode().Perm()&0o022 != 0; open && owner.UID == 0 && (end || info.Mode()&fs.ModeSticky == 0) {
		return owner, "", fmt.Errorf("other users than root can write to %s and replace files in it; chmod go-w %s", at,
			format.ShellWord(at))
	}
	return owner, "", nil
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
