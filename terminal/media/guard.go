package media

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"nanobot/internal/nofollow"
	"nanobot/internal/words"
)

var (
	errGatewayFile = words.NewError(words.FileOfGateway)
	errOtherChat   = words.NewError(words.FileOfOtherChat)
	// errHardLinks asks for a copy, which costs the agent one command, while searching all files
	// would cost everybody time.
	errHardLinks = words.NewError(words.FileHasHardLinks)
)

// maxCompared bounds how many private files a file with several hard links is compared with, which
// takes about a second.
const maxCompared = 200_000

// ChatFolders is a folder that contains one folder for each chat.
type ChatFolders struct {
	Parent string
	Own    string // the folder in it that is this chat's
}

// Guard refuses files that no chat may get: the gateway's own, and those of other chats. Files
// are compared by device and inode, so that neither the spelling of a path nor a mount makes a
// difference.
type Guard struct {
	Private []string // files and folders of the gateway
	Chats   []ChatFolders
	// Limit is how many private files a file with several hard links is compared with; 0:
	// maxCompared.
	Limit int
}

// CheckPath refuses a path to, or through, a private file or folder, whether or not the file
// exists, because the refusal must not reveal that. It follows all symbolic links.
func (g Guard) CheckPath(path string) error {
	for at := filepath.Clean(path); ; at = filepath.Dir(at) {
		end, through, err := nofollow.Resolve(at)
		if err == nil {
			return g.checkResolved(append(through, end))
		}
		if at == filepath.Dir(at) {
			return shortFileError(err)
		}
	}
}

// checkResolved checks a file and its parent folders. None of the paths has a symbolic link.
func (g Guard) checkResolved(way []string) error {
	ours, others := g.gatewayFiles(), g.otherChatDirs()
	slices.Sort(way)
	for _, at := range slices.Compact(way) {
		if g.isUnknownChatDir(at) {
			return errOtherChat
		}
		info, err := os.Lstat(at)
		if err != nil {
			continue // missing, or it cannot be opened either
		}
		id, _ := idOf(info)
		switch {
		case others[id]:
			return errOtherChat
		case ours[id]:
			return errGatewayFile
		}
	}
	return nil
}

// gatewayFiles returns the IDs of the gateway's own files and folders.
func (g Guard) gatewayFiles() map[fileID]bool {
	ids := map[fileID]bool{}
	for _, path := range g.Private {
		if info, err := os.Stat(path); path != "" && err == nil {
			id, _ := idOf(info)
			ids[id] = true
		}
	}
	return ids
}

// otherChatDirs returns the IDs of the folders of other chats.
func (g Guard) otherChatDirs() map[fileID]bool {
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

// isUnknownChatDir reports whether a path is directly below the parent of the chat folders and not
// the folder of this chat. Another chat may get this folder later, even if it does not exist yet.
func (g Guard) isUnknownChatDir(at string) bool {
	return slices.ContainsFunc(g.Chats, func(c ChatFolders) bool {
		parent, err := os.Stat(c.Parent)
		above, aerr := os.Lstat(filepath.Dir(at))
		if err != nil || aerr != nil || !os.SameFile(parent, above) || at == filepath.Dir(at) {
			return false
		}
		own, err := c.ownInfo()
		if err != nil {
			return true
		}
		info, err := os.Lstat(at)
		return err != nil || !os.SameFile(own, info)
	})
}

// ownInfo returns the info of this chat's folder. A symbolic link in its place is refused: an agent
// may have created it.
func (c ChatFolders) ownInfo() (fs.FileInfo, error) {
	info, err := os.Lstat(c.Own)
	if err == nil && !info.IsDir() {
		err = nofollow.ErrNotFolder
	}
	return info, err
}

// others returns everything in Parent except for this chat's own folder.
func (c ChatFolders) others() []string {
	entries, err := os.ReadDir(c.Parent)
	if err != nil {
		return nil
	}
	own, ownErr := c.ownInfo()
	var out []string
	for _, e := range entries {
		path := filepath.Join(c.Parent, e.Name())
		if info, err := os.Lstat(path); err == nil && (ownErr != nil || !os.SameFile(own, info)) {
			out = append(out, path)
		}
	}
	return out
}

// CheckFile refuses an open file that has a private hard link. Several hard links are common (git,
// pnpm and cp -l create them) and no reason to refuse: the private folders are searched for the
// file, and it is refused if that takes too long or a folder cannot be read.
func (g Guard) CheckFile(info fs.FileInfo) error {
	id, names := idOf(info)
	if g.gatewayFiles()[id] {
		return errGatewayFile
	}
	if names < 2 || info.IsDir() {
		return nil
	}
	s := hardLinkSearch{id: id, left: g.Limit}
	if s.left == 0 {
		s.left = maxCompared
	}
	for _, c := range g.Chats {
		if err := s.walk(c.others(), errOtherChat); err != nil {
			return err
		}
	}
	return s.walk(g.Private, errGatewayFile)
}

// removeNested resolves paths and removes those inside others. A path that cannot be resolved stays
// as it is.
func removeNested(paths []string) (out []string) {
	var all []string
	for _, path := range paths {
		if path == "" {
			continue
		}
		if real, err := filepath.EvalSymlinks(path); err == nil { // our own folders may be symbolic links
			path = real
		}
		all = append(all, path)
	}
	slices.SortFunc(all, func(a, b string) int { return strings.Compare(a+"/", b+"/") })
	for _, path := range all {
		if len(out) == 0 || !nofollow.Within(out[len(out)-1], path) {
			out = append(out, path)
		}
	}
	return out
}

// hardLinkSearch searches for another hard link of a file.
type hardLinkSearch struct {
	id   fileID
	left int // files that may still be compared
}

// walk returns found if the file is below one of the roots, and errHardLinks if that cannot be
// determined.
func (s *hardLinkSearch) walk(roots []string, found error) error {
	for _, root := range removeNested(roots) {
		err := filepath.WalkDir(root, func(_ string, d fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil
			case err != nil:
				return errHardLinks
			case s.left == 0:
				return errHardLinks
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
				return errHardLinks
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
