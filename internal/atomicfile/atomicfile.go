// Package atomicfile replaces files in one step: a reader sees the old content or the new one. It
// knows nothing of what is in them.
package atomicfile

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Folder is where a file is replaced. *os.Root is one.
type Folder interface {
	OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error)
	Rename(from, to string) error
	Remove(name string) error
}

// Replace has fill write a temporary file, which then takes the place of the named one. The file
// has the mode 0666 less the umask unless fill changes it. If fill fails, nothing has changed.
func Replace(in Folder, name string, fill func(*os.File) error) error {
	return ReplaceBy(in, name, TempName(name, rand.Text()), fill)
}

// TempName names a temporary file for a file, beside it and hidden. Only a part of the file's name
// fits into it: file systems allow 255 bytes.
func TempName(name, suffix string) string {
	dir, base := filepath.Split(name)
	return filepath.Join(dir, "."+strings.ToValidUTF8(base[:min(len(base), 100)], "")+"."+suffix+".tmp")
}

// ReplaceBy is Replace with the name of the temporary file, for callers that remove one which a
// crash has left. Such a file is overwritten, so no two callers may use the same name at a time.
func ReplaceBy(in Folder, name, temp string, fill func(*os.File) error) error {
	_ = in.Remove(temp)
	f, err := in.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	if err := errors.Join(fill(f), f.Close()); err != nil {
		_ = in.Remove(temp)
		return err
	}
	if err := in.Rename(temp, name); err != nil {
		_ = in.Remove(temp)
		return err
	}
	return nil
}

// KeepAccess gives a file the owner and the permissions of the one that it is to replace. As with
// any other writing, set-user-ID does not stay. Only the superuser can change the owner.
func KeepAccess(f *os.File, old fs.FileInfo) error {
	if was, ok := old.Sys().(*syscall.Stat_t); ok {
		_ = f.Chown(int(was.Uid), int(was.Gid)) // only for the superuser can it differ
	}
	return f.Chmod(old.Mode().Perm())
}
