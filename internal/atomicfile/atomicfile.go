// Package atomicfile replaces files in one step: a reader sees the old content or the new one. It
// does not interpret the content and does not sync it to disk.
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

// Folder is the folder of the file; *os.Root implements it.
type Folder interface {
	OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error)
	Rename(from, to string) error
	Remove(name string) error
}

// Replace calls fill to write a temporary file and renames that file to name. The file has the mode
// 0666 less the umask unless fill changes it. If fill fails, the old file is unchanged.
func Replace(in Folder, name string, fill func(*os.File) error) error {
	return ReplaceVia(in, name, TempName(name, rand.Text()), fill)
}

// TempName returns the name of a hidden temporary file beside a file. It has at most 100 bytes of
// the file's name, since file systems allow names of 255 bytes.
func TempName(name, suffix string) string {
	dir, base := filepath.Split(name)
	return filepath.Join(dir, "."+strings.ToValidUTF8(base[:min(len(base), 100)], "")+"."+suffix+".tmp")
}

// ReplaceVia is Replace with a given name of the temporary file, for callers that clean up after a
// crash. It overwrites a file of that name, so two callers must not use the same name at a time.
func ReplaceVia(in Folder, name, temp string, fill func(*os.File) error) error {
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

// CopyAccess sets the owner and the permissions of a new file to those of the file that it
// replaces. The set-user-ID bit is dropped, as by any write.
func CopyAccess(f *os.File, old fs.FileInfo) error {
	if was, ok := old.Sys().(*syscall.Stat_t); ok {
		_ = f.Chown(int(was.Uid), int(was.Gid)) // only the superuser can change the owner
	}
	return f.Chmod(old.Mode().Perm())
}
