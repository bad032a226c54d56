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
	// gatewayPaths and gatewayFiles are files and folders of the gateway. They are refused by path,
	// because some may not exist yet, and by identity, because of mounts and hard links.
	gatewayPaths []string
	gatewayFiles []fs.FileInfo
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
		l.gatewayPaths = append(l.gatewayPaths, path)
		if real, _, err := nofollow.Resolve(path); err == nil && real != path {
			l.gatewayPaths = append(l.gatewayPaths, real)
		}
		if info, err := os.Stat(path); err == nil {
			l.gatewayFiles = append(l.gatewayFiles, info)
		}
	}
	return l
}

// isGatewayPath reports whether a path without symbolic links is a file of the gateway or inside
// one of its folders.
func (l *lookup) isGatewayPath(path string) bool {
	return slices.ContainsFunc(l.gatewayPaths, func(own string) bool { return isWithin(own, path) })
}

// isGatewayFile reports whether a file or folder belongs to the gateway.
func (l *lookup) isGatewayFile(info fs.FileInfo) bool {
	return slices.ContainsFunc(l.gatewayFiles, func(own fs.FileInfo) bool { return os.SameFile(own, info) })
}

// isWithin reports whether path is folder or below it.
func isWithin(folder, path string) bool {
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}

// destination is the result of resolving a path. Both paths are relative to the workspace.
type destination struct {
	real     string   // without links
	linkPath string   // the same, but with a link in the last element not followed; not set for folders
	isFolder bool     // the path ends with a slash, . or ..
	links    []string // the links that were followed, absolute
}

// resolve resolves a path as the kernel does; for example, a link before ".." is followed first.
// Neither the path nor a link in it may leave the workspace. Elements that do not exist are kept.
func (l *lookup) resolve(path string) (destination, error) {
	if filepath.IsAbs(path) || strings.ContainsRune(path, 0) {
		return destination{}, errOutside
	}
	at, named, folder := l.dir, l.dir, false
	var links []string
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
			end, through, err := l.follow(named)
			if err != nil {
				return destination{}, err
			}
			at, links = end, append(links, through...)
		}
	}
	if at == l.dir { // such as an empty path
		return destination{}, errOutside
	}
	return destination{real: l.relative(at), linkPath: l.relative(named), isFolder: folder, links: links}, nil
}

// follow returns the target of an entry, or the entry itself if it is not a symbolic link, and the
// links that were followed.
func (l *lookup) follow(path string) (end string, links []string, err error) {
	if l.isGatewayPath(path) {
		return "", nil, errOutside
	}
	_, err = os.Readlink(path)
	switch {
	case errors.Is(err, syscall.EINVAL), errors.Is(err, fs.ErrNotExist): // not a link
		return path, nil, nil
	case err != nil:
		return "", nil, err
	}
	end, through, links, err := nofollow.ResolveLinks(path)
	if err != nil || !isWithin(l.dir, end) || slices.ContainsFunc(append(through, end), l.isGatewayPath) {
		return "", nil, errOutside // another error would reveal files outside
	}
	return end, links, nil
}

func (l *lookup) relative(path string) string {
	return strings.TrimPrefix(strings.TrimPrefix(path, l.dir), "/")
}
