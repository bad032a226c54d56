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
)

// errCopy says that a saved copy is not what was saved. The commands of the agent can reach it.
var errCopy = errors.New("the saved copy was changed or removed")

// copyName is the name of the saved copy of a file. It depends on the file alone, so a copy whose
// making was interrupted is overwritten by the next one.
func copyName(file string) string {
	sum := sha256.Sum256([]byte(file))
	return hex.EncodeToString(sum[:16])
}

// saveCopy saves the content of a file and returns its SHA-256. The copy is on disk when it
// returns. It has the owner of the file, which is given back to him if the file is restored. A copy
// for an agent that is another user is this user's, as the file is then if it is restored.
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
		if err := c.w.user.own(to, copies); err != nil {
			return err
		}
		if err := to.Chmod(0o600); err != nil {
			return err
		}
		if sum, err = sumOf(to, from); err != nil {
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

// openCopy opens the saved copy of a file. A link, something else than a regular file, and another
// name of a file that is the gateway's, another chat's or closed to the agent are refused. Its
// content must be compared with the checksum of the change.
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
		return nil, nil, errCopy
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || !c.w.user.may(info, modebits.Read) || c.w.guard.CheckFile(info) != nil {
		_ = f.Close()
		return nil, nil, errCopy
	}
	return f, info, nil
}
