package blocks

import (
	"container/heap"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"nanobot/internal/modebits"
	"nanobot/internal/nofollow"
)

const (
	// maxDepth bounds how deep folders are listed, because each of them is open meanwhile. Deeper
	// paths hardly fit into the 4096 bytes that Linux allows.
	maxDepth = 256
	// listBatch is how many entries of a folder are read at once.
	listBatch = 1024
	// spare is how many more paths are collected than are shown, in place of files that are gone
	// when their size is looked up.
	spare = 16
)

// list returns the files of the workspace, sorted by path, and at most as many as most says. It
// omits .git, the gateway's own files, links that do not lead to a file of the workspace, and
// folders that cannot be read. Its memory does not depend on the number of files.
func (w *workspace) list(most int) (fileListing, error) {
	l := &lister{lookup: w.newLookup(), most: most + spare, private: map[string]bool{}}
	for _, path := range l.paths {
		if within(w.dir, path) {
			l.private[l.relative(path)] = true
		}
	}
	if err := l.folder(w.root, nil, 0); err != nil {
		return fileListing{}, err
	}
	slices.Sort(l.smallest)
	var out fileListing
	for _, path := range l.smallest {
		if len(out.shown) == most {
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

// lister collects the smallest paths of all files.
type lister struct {
	*lookup
	private  map[string]bool // by relative path
	most     int
	smallest paths
	count    int
}

// folder collects the files of a folder. The prefix is its path with a slash at the end.
func (l *lister) folder(folder *nofollow.Folder, prefix []byte, depth int) error {
	info, err := folder.Stat()
	if err != nil || l.isOwn(info) || !l.user.may(info, modebits.Read|modebits.Search) || depth > maxDepth {
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
			l.entry(folder, e, append(prefix, e.Name()...), depth)
		}
		if err != nil || len(entries) == 0 {
			return nil // what can be read is listed
		}
	}
}

func (l *lister) entry(in *nofollow.Folder, e fs.DirEntry, path []byte, depth int) {
	switch {
	case e.Name() == ".git", l.private[string(path)]:
	case e.IsDir():
		if sub, err := in.Sub(e.Name()); err == nil {
			_ = l.folder(sub, append(path, '/'), depth+1) // one that cannot be read is left out
			_ = sub.Close()
		}
	case e.Type().IsRegular(), e.Type() == fs.ModeSymlink && l.leadsToFile(string(path)):
		l.count++
		l.collect(path)
	}
}

// leadsToFile reports whether a link leads to a regular file of the workspace. Most that do not are
// found by a single call.
func (l *lister) leadsToFile(path string) bool {
	info, err := os.Stat(filepath.Join(l.dir, path))
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	_, err = l.size(path)
	return err == nil
}

func (l *lister) collect(path []byte) {
	switch {
	case len(l.smallest) < l.most:
		heap.Push(&l.smallest, string(path))
	case string(path) < l.smallest[0]:
		l.smallest[0] = string(path)
		heap.Fix(&l.smallest, 0)
	}
}

// size returns the size of a file. It does not search for other names of the file, which takes long
// and is done when the content is read.
func (l *lookup) size(path string) (int64, error) {
	at, err := l.resolve(path)
	if err != nil {
		return 0, err
	}
	e, err := l.enter(at.real)
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

// paths is a heap with the largest path on top.
type paths []string

func (p paths) Len() int           { return len(p) }
func (p paths) Less(i, j int) bool { return p[i] > p[j] }
func (p paths) Swap(i, j int)      { p[i], p[j] = p[j], p[i] }
func (p *paths) Push(path any)     { *p = append(*p, path.(string)) }
func (p *paths) Pop() any {
	last := (*p)[len(*p)-1]
	*p = (*p)[:len(*p)-1]
	return last
}
