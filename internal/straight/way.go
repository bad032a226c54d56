package straight

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// maxLinks is how many links are followed, as the kernel would.
const maxLinks = 40

// Way follows all links of an absolute path. It returns where that leads, which need not exist, and
// the folders that a part of the way was looked up in: who can write to one of them could lead it
// elsewhere.
func Way(path string) (end string, through []string, err error) {
	end, through, _, err = Follow(path)
	return end, through, err
}

// Follow is Way, and names the links that were followed too, each by a path without links.
func Follow(path string) (end string, through, links []string, err error) {
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
		case errors.Is(err, syscall.EINVAL), errors.Is(err, fs.ErrNotExist): // it is no link
			end = next
		default:
			return "", nil, nil, err
		}
	}
	return end, through, links, nil
}
