package confine

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/landlock-lsm/go-landlock/landlock"
)

// rules are the grants of Landlock.
type rules struct {
	*files
	secret                                     []os.FileInfo // what is hidden or fixed, to know it by another name
	moves                                      bool
	readDirs, readFiles, writeDirs, writeFiles []string
}

func newRules(f *files) *rules {
	r := &rules{files: f, moves: version() >= moves}
	for _, path := range slices.Concat(f.Hide, f.Fix) {
		if info, err := os.Lstat(path); err == nil {
			r.secret = append(r.secret, info)
		}
	}
	return r
}

// writable is a rule for folders in which files can be moved too.
func (r *rules) writable(rule landlock.FSRule) landlock.FSRule {
	if r.moves { // without it a rule that asks for it would undo all
		rule = rule.WithRefer()
	}
	return rule.IgnoreIfMissing()
}

// grant grants a path that was named, with ":ro" behind it if only to read.
func (r *rules) grant(path string) {
	path, readOnly := strings.CutSuffix(path, ":ro")
	r.add(path, readOnly)
}

// add grants a path but for what is hidden or fixed in it. A folder that holds such is granted
// entry by entry. Links are not granted: what they lead to is, if it is in there, by its own name.
func (r *rules) add(path string, readOnly bool) {
	info, err := os.Lstat(path)
	own := slices.Contains(r.Own, path)
	switch {
	case err != nil: // there is nothing to grant
	case !own && withinAny(r.Hide, path):
	case slices.Contains(r.Fix, path):
		r.put(path, info, true)
	case !own && slices.ContainsFunc(r.secret, func(s os.FileInfo) bool { return os.SameFile(s, info) }):
	case info.Mode().Type() == os.ModeSymlink:
	case !info.IsDir() || own || !r.holdsPrivate(path):
		r.put(path, info, readOnly)
	default:
		entries, _ := os.ReadDir(path)
		for _, e := range entries {
			r.add(filepath.Join(path, e.Name()), readOnly)
		}
	}
}

func (r *rules) holdsPrivate(dir string) bool {
	return slices.ContainsFunc(slices.Concat(r.Hide, r.Fix), func(path string) bool { return within(dir, path) })
}

func (r *rules) put(path string, info os.FileInfo, readOnly bool) {
	switch {
	case readOnly && info.IsDir():
		r.readDirs = append(r.readDirs, path)
	case readOnly:
		r.readFiles = append(r.readFiles, path)
	case info.IsDir():
		r.writeDirs = append(r.writeDirs, path)
	default:
		r.writeFiles = append(r.writeFiles, path)
	}
}
