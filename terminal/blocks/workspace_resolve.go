package blocks

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"nanobot/internal/nofollow"
)

// lookup resolves paths of a workspace for one operation.
type lookup struct {
	*workspace
	// paths and files are the gateway's own files and folders, which are refused by path, because
	// some may not exist yet, and by identity, because of mounts and hard links.
	paths []string
	files []fs.FileInfo
}

func (w *workspace) newLookup() *lookup {
	l := &lookup{workspace: w}
	for _, path := range w.private {
		if path == "" {
			continue
		}
		path, err := filepath.Abs(path)
		if err != nil {
			continue
		}
		l.paths = append(l.paths, path)
		if real, _, err := nofollow.Resolve(path); err == nil && real != path {
			l.paths = append(l.paths, real)
		}
		if info, err := os.Stat(path); err == nil {
			l.files = append(l.files, info)
		}
	}
	return l
}

// isPrivate reports whether a path without links is, or is in, one of the gateway's own.
func (l *lookup) isPrivate(path string) bool {
	return slices.ContainsFunc(l.paths, func(own string) bool { return within(own, path) })
}

// isOwn reports whether a file or folder is one of the gateway's own.
func (l *lookup) isOwn(info fs.FileInfo) bool {
	return slices.ContainsFunc(l.files, func(own fs.FileInfo) bool { return os.SameFile(own, info) })
}

// within reports whether a path is a folder or below it.
func within(folder, path string) bool {
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}

// destination is where a path leads. Both names are relative to the workspace.
type destination struct {
	real   string // without links
	named  string // the same, but a link at the end of the path is not followed; not for folders
	folder bool   // the path ends like one of a folder: with a slash, . or ..
}

// resolve follows a path as the kernel does: a link before "..", for instance, is followed first.
// Neither the path nor a link in it may leave the workspace; what does not exist is not followed.
func (l *lookup) resolve(path string) (destination, error) {
	if filepath.IsAbs(path) || strings.ContainsRune(path, 0) {
		return destination{}, errOutside
	}
	at, named, folder := l.dir, l.dir, false
	for part := range strings.SplitSeq(path, "/") {
		folder = part == "" || part == "." || part == ".."
		switch {
		case part == "..":
			if at == l.dir {
				return destination{}, errOutside
			}
			at = filepath.Dir(at)
		case !folder:
			named = filepath.Join(at, part)
			end, err := l.follow(named)
			if err != nil {
				return destination{}, err
			}
			at = end
		}
	}
	if at == l.dir { // the path is empty, for instance
		return destination{}, errOutside
	}
	return destination{real: l.relative(at), named: l.relative(named), folder: folder}, nil
}

// follow returns where an entry of a folder without links leads: to itself unless it is a link.
func (l *lookup) follow(path string) (string, error) {
	if l.isPrivate(path) {
		return "", errOutside
	}
	_, err := os.Readlink(path)
	switch {
	case errors.Is(err, syscall.EINVAL), errors.Is(err, fs.ErrNotExist): // it is no link
		return path, nil
	case err != nil:
		return "", err
	}
	end, through, err := nofollow.Resolve(path)
	if err != nil || !within(l.dir, end) || slices.ContainsFunc(append(through, end), l.isPrivate) {
		return "", errOutside // an error would tell of files outside
	}
	return end, nil
}

func (l *lookup) relative(path string) string {
	return strings.TrimPrefix(strings.TrimPrefix(path, l.dir), "/")
}
