package blocks

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"nanobot/internal/atomicfile"
	"nanobot/internal/modebits"
	"nanobot/internal/nofollow"
)

// entry is a file of the workspace, which need not exist: an open folder and a name in it.
type entry struct {
	*lookup
	folder *nofollow.Folder
	name   string
}

func (e *entry) close() {
	if e.folder != e.root {
		_ = e.folder.Close()
	}
}

// enter opens the folder of a file. The path is relative to the workspace and has no links; one
// that was put there meanwhile is refused.
func (l *lookup) enter(path string) (*entry, error) {
	return l.walk(path, func(in *nofollow.Folder, name string) (*nofollow.Folder, error) { return in.Sub(name) })
}

// enterCreating is enter, and makes the folders that do not exist.
func (l *lookup) enterCreating(path string) (*entry, error) { return l.walk(path, l.sub) }

func (l *lookup) walk(path string, sub func(*nofollow.Folder, string) (*nofollow.Folder, error)) (*entry, error) {
	parts := strings.Split(path, "/")
	e := &entry{l, l.root, parts[len(parts)-1]}
	err := l.permitFolder(l.root)
	for _, part := range parts[:len(parts)-1] {
		if err != nil {
			break
		}
		var next *nofollow.Folder
		if next, err = sub(e.folder, part); err == nil {
			e.close()
			e.folder = next
			err = l.permitFolder(next)
		} else if errors.Is(err, nofollow.ErrNotFolder) {
			err = noFolder(e.folder, part)
		}
	}
	if err != nil {
		e.close()
		return nil, err
	}
	return e, nil
}

// noFolder says why an entry is no folder: there is a file, or a link was put there meanwhile.
func noFolder(in *nofollow.Folder, name string) error {
	if info, err := in.Lstat(name); err == nil && info.Mode().IsRegular() {
		return syscall.ENOTDIR
	}
	return errOutside
}

// permitFolder refuses a folder of the gateway, and one that the agent may not search.
func (l *lookup) permitFolder(folder *nofollow.Folder) error {
	info, err := folder.Stat()
	switch {
	case err != nil:
		return err
	case l.isOwn(info):
		return errOutside
	case !l.user.may(info, modebits.Search):
		return syscall.EACCES
	}
	return nil
}

// sub opens a folder in another one, and makes it if it does not exist.
func (l *lookup) sub(in *nofollow.Folder, name string) (*nofollow.Folder, error) {
	folder, err := in.Sub(name)
	if !errors.Is(err, fs.ErrNotExist) {
		return folder, err
	}
	if err := l.permitChange(in, nil); err != nil {
		return nil, err
	}
	if err := in.Mkdir(name, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	} else if err != nil {
		return in.Sub(name) // somebody else made it meanwhile
	}
	if folder, err = in.Sub(name); err != nil {
		return nil, err
	}
	if err := l.user.give(folder, in); err != nil {
		_ = folder.Close()
		return nil, err
	}
	return folder, nil
}

// permitChange refuses to make an entry in a folder, or to remove one, where the agent may not.
func (l *lookup) permitChange(in *nofollow.Folder, entry fs.FileInfo) error {
	info, err := in.Stat()
	if err == nil && !l.user.mayChange(info, entry) {
		err = syscall.EACCES
	}
	return err
}

// stat describes the file, which is a regular one.
func (e *entry) stat() (fs.FileInfo, error) {
	info, err := e.folder.Lstat(e.name)
	switch {
	case err != nil:
		return nil, err
	case e.isOwn(info), info.Mode()&fs.ModeSymlink != 0: // a link was put there meanwhile
		return nil, errOutside
	case info.IsDir():
		return nil, syscall.EISDIR
	case !info.Mode().IsRegular():
		return nil, errNotRegular
	}
	return info, nil
}

// check refuses a file if it, or another name of it, is one of the gateway or of another chat.
func (e *entry) check(info fs.FileInfo) error {
	if e.guard.CheckFile(info) != nil {
		return errOutside
	}
	return nil
}

// open opens the file, which is a regular one, for reading.
func (e *entry) open() (*os.File, fs.FileInfo, error) {
	f, info, err := e.openAs(os.O_RDONLY, modebits.Read)
	return f, info, notFound(err)
}

// openAs opens the file if it is a regular one and the agent has the permissions. It is looked at
// before, since opening a device may have effects, and afterwards, since it may be another one.
func (e *entry) openAs(flag int, permissions fs.FileMode) (*os.File, fs.FileInfo, error) {
	if _, err := e.stat(); err != nil {
		return nil, nil, err
	}
	f, err := e.folder.OpenFile(e.name, flag, 0)
	switch {
	case errors.Is(err, syscall.ELOOP):
		return nil, nil, errOutside
	case errors.Is(err, syscall.ENXIO):
		return nil, nil, errNotRegular
	case err != nil:
		return nil, nil, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = errNotRegular
	case !e.user.may(info, permissions):
		err = syscall.EACCES
	default:
		err = e.check(info)
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// replace has fill write a new file, which takes the place of the old one, nil if there is none. A
// file that the agent could not write to is not replaced.
func (e *entry) replace(fill func(f *os.File, old fs.FileInfo) error) error {
	old, err := e.writable()
	if err != nil {
		return err
	}
	return atomicfile.ReplaceVia(e.folder, e.name, e.tempName(), func(f *os.File) error {
		if old == nil {
			if err := e.user.own(f, e.folder); err != nil {
				return err
			}
		}
		if err := fill(f, old); err != nil {
			return err
		}
		return f.Sync()
	})
}

// tempName names the temporary file through which the entry is replaced.
func (e *entry) tempName() string { return atomicfile.TempName(e.name, e.temp) }

// writable describes the file that is to be replaced, nil if there is none.
func (e *entry) writable() (fs.FileInfo, error) {
	f, info, err := e.openAs(os.O_WRONLY, modebits.Write)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, e.permitChange(e.folder, nil)
	case errors.Is(err, syscall.ETXTBSY): // a program that runs can be replaced
		if info, err = e.stat(); err != nil {
			return nil, err
		}
		if !e.user.may(info, modebits.Write) {
			return nil, syscall.EACCES
		}
		return info, e.check(info)
	case err != nil:
		return nil, err
	}
	_ = f.Close()
	return info, nil
}

// remove removes a file or a symbolic link.
func (e *entry) remove() error {
	info, err := e.folder.Lstat(e.name)
	if err != nil {
		return err
	}
	if err := e.permitChange(e.folder, info); err != nil {
		return err
	}
	return e.folder.Remove(e.name)
}
