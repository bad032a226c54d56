package nofollow

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// maxLinks is how many symbolic links a path may contain, as in Linux (path_resolution(7)).
const maxLinks = 40

// Resolve follows all symbolic links of an absolute path. It returns the resulting path, which need
// not exist, and every folder in which an element was looked up. A user who can write to one of
// those folders can change the result.
func Resolve(path string) (end string, through []string, err error) {
	end, through, _, err = ResolveLinks(path)
	return end, through, err
}

// ResolveLinks is Resolve and also returns the links that were followed, each by a path that
// contains no other link.
func ResolveLinks(path string) (end string, through, links []string, err error) {
	end = "/"
	for left := strings.Split(path, "/"); len(left) > 0; {
		part := left[0]
		left = left[1:]
		if part == "" || part == "." {
			continue
		}
		through = append(through, end)
		next := filepath.Join(end, part)
		target, err := os.Readlink(next)
		switch {
		case err == nil && len(links) == maxLinks:
			return "", nil, nil, &fs.PathError{Op: "follow", Path: path, Err: syscall.ELOOP}
		case err == nil:
			links = append(links, next)
			left = append(strings.Split(target, "/"), left...)
			if filepath.IsAbs(target) {
				end = "/"
			}
		case errors.Is(err, syscall.EINVAL), errors.Is(err, fs.ErrNotExist): // not a link
			end = next
		default:
			return "", nil, nil, err
		}
	}
	return end, through, links, nil
}

// Within reports whether a path is a folder or below it, as both are written.
func Within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}
