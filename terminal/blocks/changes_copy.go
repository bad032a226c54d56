package blocks

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"syscall"

	"nanobot/internal/atomicfile"
	"nanobot/internal/modebits"
	"nanobot/internal/nofollow"
	"nanobot/internal/words"
)

// errCopyChanged means that a saved copy differs from the saved content. The agent's commands have
// access to the copies.
var errCopyChanged = words.NewError(words.BlocksCopyChanged)

// copyName returns the name of the saved copy of a file. It depends only on the path, so the next
// attempt overwrites an incomplete copy.
func copyName(file string) string {
	sum := sha256.Sum256([]byte(file))
	return hex.EncodeToString(sum[:16])
}

// saveCopy saves the content of a file, synced to disk, and returns its SHA-256. The copy has the
// owner of the file, to restore it later; with another user for the agent, that user owns both.
func (c *changes) saveCopy(from *os.File, info fs.FileInfo, name string) (sum string, err error) {
	copies, err := nofollow.OpenRootFolder(c.copies)
	if err != nil {
		return "", err
	}
	defer func() { _ = copies.Close() }()
	err = atomicfile.ReplaceVia(copies, name, name+".tmp", func(to *os.File) (err error) {
		if err := atomicfile.CopyAccess(to, info); err != nil {
			return err
		}
		if err := c.workspace.agentUser.chown(to, copies); err != nil {
			return err
		}
		if err := to.Chmod(0o600); err != nil {
			return err
		}
		if sum, err = copyAndHash(to, from); err != nil {
			return err
		}
		return to.Sync()
	})
	if err != nil {
		return "", err
	}
	dir, err := copies.OpenFile(".", os.O_RDONLY, 0)
	if err != nil {
		return "", err
	}
	defer dir.Close()
	return sum, dir.Sync()
}

// openCopy opens the saved copy of a file. It refuses symbolic links, files that are not regular,
// and hard links to files that the agent must not read. The caller compares the content with the
// checksum of the change.
func (c *changes) openCopy(of change) (*os.File, fs.FileInfo, error) {
	copies, err := nofollow.OpenRootFolder(c.copies)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = copies.Close() }()
	f, err := copies.OpenFile(of.Copy, os.O_RDONLY, 0)
	switch {
	case errors.Is(err, syscall.EACCES):
		return nil, nil, err
	case err != nil:
		return nil, nil, errCopyChanged
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || !c.workspace.agentUser.hasPermission(info, modebits.Read) || c.workspace.guard.CheckFile(info) != nil {
		_ = f.Close()
		return nil, nil, errCopyChanged
	}
	return f, info, nil
}
