package terminal

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"nanobot/internal/nofollow"
)

var (
	errOurs  = errors.New("one of the gateway's own files")
	errOther = errors.New("it belongs to another chat")
	// errNames asks for a copy because it costs the agent one command, while a search of all files
	// costs everybody time.
	errNames = errors.New("it has several names (hard links), and there are too many private files to compare it with; send a copy of it")
)

// maxCompared bounds how many private files one with several names is compared with. That takes
// about a second.
const maxCompared = 200_000

// ChatFolders is a folder that holds one folder for each chat.
type ChatFolders struct {
	Parent string
	Own    string // the folder in it that is this chat's
}

// FileGuard refuses what no chat may be given: the gateway's own files, and the files of other
// chats. Files and folders are compared by identity, so that neither the spelling of a path nor a
// mount makes a difference.
type FileGuard struct {
	Private []string // files and folders of the gateway
	Chats   []ChatFolders
	// Limit is how many private files one with several names is compared with; 0: maxCompared.
	Limit int
}

// Path refuses a path that leads to, or through, something private, whether or not there is a file:
// what is said of it must not tell. All links are followed.
func (g FileGuard) CheckPath(path string) error {
	for at := filepath.Clean(path); ; at = filepath.Dir(at) {
		end, through, err := nofollow.Resolve(at)
		if err == nil {
			return g.passed(append(through, end))
		}
		if at == filepath.Dir(at) {
			return reason(err)
		}
	}
}

// passed refuses a way, which is a list of paths without links.
func (g FileGuard) passed(way []string) error {
	ours, others := g.ours(), g.others()
	slices.Sort(way)
	for _, at := range slices.Compact(way) {
		if g.isStray(at) {
			return errOther
		}
		info, err := os.Lstat(at)
		if err != nil {
			continue // nothing is there, or it cannot be opened either
		}
		id, _ := idOf(info)
		switch {
		case others[id]:
			return errOther
		case ours[id]:
			return errOurs
		}
	}
	return nil
}

// ours are the identities of the gateway's own files and folders.
func (g FileGuard) ours() map[fileID]bool {
	ids := map[fileID]bool{}
	for _, path := range g.Private {
		if info, err := os.Stat(path); path != "" && err == nil {
			id, _ := idOf(info)
			ids[id] = true
		}
	}
	return ids
}

// others are the identities of the folders of other chats.
func (g FileGuard) others() map[fileID]bool {
	ids := map[fileID]bool{}
	for _, c := range g.Chats {
		for _, dir := range c.others() {
			if info, err := os.Lstat(dir); err == nil {
				id, _ := idOf(info)
				ids[id] = true
			}
		}
	}
	return ids
}

// isStray reports whether a path without links is right below the parent of all chats' folders and
// not this chat's: another chat's folder that is not there yet, for instance.
func (g FileGuard) isStray(at string) bool {
	return slices.ContainsFunc(g.Chats, func(c ChatFolders) bool {
		parent, err := os.Stat(c.Parent)
		above, aerr := os.Lstat(filepath.Dir(at))
		if err != nil || aerr != nil || !os.SameFile(parent, above) || at == filepath.Dir(at) {
			return false
		}
		own, err := c.own()
		if err != nil {
			return true
		}
		info, err := os.Lstat(at)
		return err != nil || !os.SameFile(own, info)
	})
}

// own is this chat's folder. A link in its place is not: an agent may have put it there.
func (c ChatFolders) own() (fs.FileInfo, error) {
	info, err := os.Lstat(c.Own)
	if err == nil && !info.IsDir() {
		err = nofollow.ErrNotFolder
	}
	return info, err
}

// others are the folders, and whatever else there is, beside this chat's own.
func (c ChatFolders) others() []string {
	entries, err := os.ReadDir(c.Parent)
	if err != nil {
		return nil
	}
	own, ownErr := c.own()
	var out []string
	for _, e := range entries {
		path := filepath.Join(c.Parent, e.Name())
		if info, err := os.Lstat(path); err == nil && (ownErr != nil || !os.SameFile(own, info)) {
			out = append(out, path)
		}
	}
	return out
}

// File refuses an open file if one of its names is private. A file with several names is common
// (git, pnpm and cp -l make them), so it is not refused as such: what is private is searched for
// it, and it is refused if that is too much or cannot be read.
func (g FileGuard) CheckFile(info fs.FileInfo) error {
	id, names := idOf(info)
	if g.ours()[id] {
		return errOurs
	}
	if names < 2 || info.IsDir() {
		return nil
	}
	s := search{id: id, left: g.Limit}
	if s.left == 0 {
		s.left = maxCompared
	}
	for _, c := range g.Chats {
		if err := s.walk(c.others(), errOther); err != nil {
			return err
		}
	}
	return s.walk(g.Private, errOurs)
}

// outermost returns paths without links, and without those that are in others. One that cannot be
// followed stays as it is.
func outermost(paths []string) (out []string) {
	var all []string
	for _, path := range paths {
		if path == "" {
			continue
		}
		if real, err := filepath.EvalSymlinks(path); err == nil { // one of our own folders may be reached by a link
			path = real
		}
		all = append(all, path)
	}
	slices.SortFunc(all, func(a, b string) int { return strings.Compare(a+"/", b+"/") })
	for _, path := range all {
		if len(out) == 0 || !insideAny(out[len(out)-1:], path) {
			out = append(out, path)
		}
	}
	return out
}

// search looks for another name of a file.
type search struct {
	id   fileID
	left int // how many files may still be compared
}

// walk returns found if the file is in one of the trees, and errNames if that cannot be told.
func (s *search) walk(roots []string, found error) error {
	for _, root := range outermost(roots) {
		err := filepath.WalkDir(root, func(_ string, d fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil
			case err != nil:
				return errNames
			case s.left == 0:
				return errNames
			}
			s.left--
			if d.Type()&fs.ModeType != 0 {
				return nil
			}
			info, err := d.Info()
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil // it has just been removed
			case err != nil:
				return errNames
			}
			if id, _ := idOf(info); id == s.id {
				return found
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
