package blocks

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"nanobot/internal/modebits"
	"nanobot/internal/nofollow"
)

const (
	// maxDepth limits the depth of the listing, because every folder on the way is open. Deeper
	// paths hardly fit into the 4096 bytes that Linux allows.
	maxDepth = 256
	// listBatch is how many entries of a folder are read per call.
	listBatch = 1024
	// spareEntries is how many more paths are collected than shown, to replace files that disappear
	// before their size is read.
	spareEntries = 16
)

// list returns the first limit files of the workspace, sorted by path. It omits .git, files of the
// gateway, symbolic links that do not lead to a file of the workspace, and unreadable folders. Its
// memory does not depend on the number of files.
func (w *workspace) list(limit int) (fileListing, error) {
	l := &lister{lookup: w.newLookup(), limit: limit + spareEntries, private: map[string]bool{}}
	for _, path := range l.gatewayPaths {
		if isWithin(w.dir, path) {
			l.private[l.relative(path)] = true
		}
	}
	if err := l.addFolder(w.root, nil, 0); err != nil {
		return fileListing{}, err
	}
	l.dropLast()
	var out fileListing
	for _, path := range l.smallest {
		if len(out.shown) == limit {
			break
		}
		if size, err := l.size(path); err == nil {
			out.shown = append(out.shown, workspaceFile{path, size})
		} else {
			l.count--
		}
	}
	out.more = l.count - len(out.shown)
	return out, nil
}

// lister collects the first paths in sort order.
type lister struct {
	*lookup
	private  map[string]bool // by relative path
	limit    int
	smallest []string // the first paths, and some more
	last     string   // later paths are not needed; "": all are
	count    int
}

// addFolder adds the files of a folder. prefix is its path with a trailing slash.
func (l *lister) addFolder(folder *nofollow.Folder, prefix []byte, depth int) error {
	info, err := folder.Stat()
	if err != nil || l.isGatewayFile(info) || !modebits.Allow(l.user, info, modebits.Read|modebits.Search) ||
		depth > maxDepth {
		return err
	}
	f, err := folder.OpenFile(".", os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		entries, err := f.ReadDir(listBatch)
		for _, e := range entries {
			l.addEntry(folder, e, append(prefix, e.Name()...), depth)
		}
		if err != nil || len(entries) == 0 {
			return nil // everything readable is listed
		}
	}
}

func (l *lister) addEntry(in *nofollow.Folder, e fs.DirEntry, path []byte, depth int) {
	switch {
	case e.Name() == ".git", l.private[string(path)]:
	case e.IsDir():
		if sub, err := in.Sub(e.Name()); err == nil {
			_ = l.addFolder(sub, append(path, '/'), depth+1) // unreadable folders are omitted
			_ = sub.Close()
		}
	case e.Type().IsRegular(), e.Type() == fs.ModeSymlink && l.leadsToFile(string(path)):
		l.count++
		l.addPath(path)
	}
}

// leadsToFile reports whether a symbolic link leads to a regular file of the workspace. The first
// check rejects most others with a single system call.
func (l *lister) leadsToFile(path string) bool {
	info, err := os.Stat(filepath.Join(l.dir, path))
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	_, err = l.size(path)
	return err == nil
}

// addPath collects a path. It drops the last ones when there are twice as many as needed, which
// takes less time per path than dropping each one.
func (l *lister) addPath(path []byte) {
	if l.last != "" && string(path) > l.last {
		return
	}
	l.smallest = append(l.smallest, string(path))
	if len(l.smallest) >= 2*l.limit {
		l.dropLast()
	}
}

// dropLast sorts the paths and keeps the first of them.
func (l *lister) dropLast() {
	slices.Sort(l.smallest)
	if len(l.smallest) >= l.limit {
		l.smallest = l.smallest[:l.limit]
		l.last = l.smallest[l.limit-1]
	}
}

// size returns the size of a file. It does not search for hard links, which is slow and happens
// when the content is read.
func (l *lookup) size(path string) (int64, error) {
	at, err := l.resolve(path)
	if err != nil {
		return 0, err
	}
	e, err := l.openParent(at.real)
	if err != nil {
		return 0, err
	}
	defer e.close()
	info, err := e.stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
