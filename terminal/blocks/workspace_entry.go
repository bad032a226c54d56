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

// entry is a file of the workspace, which need not exist: an open parent folder and a name in it.
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

// openParent opens the parent folder of a file. The path is relative to the workspace and has no
// symbolic links; a link that was created after the path was resolved is refused.
func (l *lookup) openParent(path string) (*entry, error) {
	return l.walk(path, func(in *nofollow.Folder, name string) (*nofollow.Folder, error) { return in.Sub(name) })
}

// openParentCreating is openParent that creates missing folders.
func (l *lookup) openParentCreating(path string) (*entry, error) { return l.walk(path, l.openOrCreate) }

func (l *lookup) walk(path string, sub func(*nofollow.Folder, string) (*nofollow.Folder, error)) (*entry, error) {
	parts := strings.Split(path, "/")
	e := &entry{l, l.root, parts[len(parts)-1]}
	err := l.checkFolder(l.root)
	for _, part := range parts[:len(parts)-1] {
		if err != nil {
			break
		}
		var next *nofollow.Folder
		if next, err = sub(e.folder, part); err == nil {
			e.close()
			e.folder = next
			err = l.checkFolder(next)
		} else if errors.Is(err, nofollow.ErrNotFolder) {
			err = notFolderError(e.folder, part)
		}
	}
	if err != nil {
		e.close()
		return nil, err
	}
	return e, nil
}

// notFolderError returns why an entry is not a folder: it is a file, or a symbolic link was created
// after the path was resolved.
func notFolderError(in *nofollow.Folder, name string) error {
	if info, err := in.Lstat(name); err == nil && info.Mode().IsRegular() {
		return syscall.ENOTDIR
	}
	return errOutside
}

// checkFolder refuses folders of the gateway and folders that the agent may not search.
func (l *lookup) checkFolder(folder *nofollow.Folder) error {
	info, err := folder.Stat()
	switch {
	case err != nil:
		return err
	case l.isGatewayFile(info):
		return errOutside
	case !modebits.Allow(l.user, info, modebits.Search):
		return syscall.EACCES
	}
	return nil
}

// openOrCreate opens a folder and creates it if necessary.
func (l *lookup) openOrCreate(in *nofollow.Folder, name string) (*nofollow.Folder, error) {
	folder, err := in.Sub(name)
	if !errors.Is(err, fs.ErrNotExist) {
		return folder, err
	}
	if err := l.checkChange(in, nil); err != nil {
		return nil, err
	}
	if err := in.Mkdir(name, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	} else if err != nil {
		return in.Sub(name) // created concurrently
	}
	if folder, err = in.Sub(name); err != nil {
		return nil, err
	}
	if err := l.chownFolder(folder, in); err != nil {
		_ = folder.Close()
		return nil, err
	}
	return folder, nil
}

// checkChange refuses to create or remove an entry that the agent may not create or remove.
func (l *lookup) checkChange(in *nofollow.Folder, entry fs.FileInfo) error {
	info, err := in.Stat()
	if err == nil && !modebits.AllowRemove(l.user, info, entry) {
		err = syscall.EACCES
	}
	return err
}

// stat returns the attributes of the file, which must be regular.
func (e *entry) stat() (fs.FileInfo, error) {
	info, err := e.folder.Lstat(e.name)
	switch {
	case err != nil:
		return nil, err
	case e.isGatewayFile(info), info.Mode()&fs.ModeSymlink != 0: // a link was created after the path was resolved
		return nil, errOutside
	case info.IsDir():
		return nil, syscall.EISDIR
	case !info.Mode().IsRegular():
		return nil, errNotRegular
	}
	return info, nil
}

// checkHardLinks refuses a file that is also a file of the gateway or of another chat under another
// name.
func (e *entry) checkHardLinks(info fs.FileInfo) error {
	if e.guard.CheckFile(info) != nil {
		return errOutside
	}
	return nil
}

// openChecked opens the file if it is regular and the agent has the permissions. The file is
// checked before, since opening a device may have effects, and again afterwards, since it may have
// been replaced.
func (e *entry) openChecked(flag int, permissions fs.FileMode) (*os.File, fs.FileInfo, error) {
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
	case !modebits.Allow(e.user, info, permissions):
		err = syscall.EACCES
	default:
		err = e.checkHardLinks(info)
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// replace atomically replaces the file by a new one that fill writes; old is nil if there is none.
// A file that the agent could not write to is not replaced.
func (e *entry) replace(fill func(f *os.File, old fs.FileInfo) error) error {
	old, err := e.statForReplace()
	if err != nil {
		return err
	}
	return atomicfile.ReplaceVia(e.folder, e.name, e.tempName(), func(f *os.File) error {
		if old == nil {
			if err := e.chown(f, e.folder); err != nil {
				return err
			}
		}
		if err := fill(f, old); err != nil {
			return err
		}
		return f.Sync()
	})
}

// tempName returns the name of the temporary file for replace.
func (e *entry) tempName() string { return atomicfile.TempName(e.name, e.temp) }

// statForReplace returns the attributes of the file that is to be replaced, or nil if there is
// none.
func (e *entry) statForReplace() (fs.FileInfo, error) {
	f, info, err := e.openChecked(os.O_WRONLY, modebits.Write)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, e.checkChange(e.folder, nil)
	case errors.Is(err, syscall.ETXTBSY): // a running program can be replaced
		if info, err = e.stat(); err != nil {
			return nil, err
		}
		if !modebits.Allow(e.user, info, modebits.Write) {
			return nil, syscall.EACCES
		}
		return info, e.checkHardLinks(info)
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
	if err := e.checkChange(e.folder, info); err != nil {
		return err
	}
	return e.folder.Remove(e.name)
}
