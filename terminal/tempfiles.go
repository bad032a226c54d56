package terminal

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// TempFiles are files that nanobot itself has written to send them, until they are removed. They
// are in a folder of their own: the chat's folder is not safe, because the agent may have created
// symbolic links in it. The zero value has no files.
type TempFiles struct {
	dir   string
	files []File
}

// Dir returns the folder of the files, for Frame.ProtocolDir; "": there are none.
func (t *TempFiles) Dir() string { return t.dir }

// Add writes a file, with a number behind its name if the name is taken, and opens it. It is open
// until Remove.
func (t *TempFiles) Add(name string, content []byte) (File, error) {
	if t.dir == "" {
		parent, err := filepath.EvalSymlinks(os.TempDir()) // no symbolic link to the files is followed
		if err != nil {
			return File{}, err
		}
		if t.dir, err = os.MkdirTemp(parent, "nanobot-"); err != nil {
			return File{}, err
		}
	}
	path := filepath.Join(t.dir, filepath.Base(name))
	if _, err := os.Lstat(path); err == nil {
		ext := filepath.Ext(path)
		path = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(path, ext), len(t.files)+1, ext)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		_ = os.Remove(path)
		return File{}, err
	}
	open, err := os.Open(path)
	if err != nil {
		return File{}, err
	}
	file := File{Path: path, Size: int64(len(content)), Open: open}
	t.files = append(t.files, file)
	return file, nil
}

// Remove closes and deletes the files.
func (t *TempFiles) Remove() {
	CloseMedia(t.files) // who has sent a file may have closed it
	if t.dir != "" {
		_ = os.RemoveAll(t.dir) // a folder that stays is removed with the temporary files
	}
	*t = TempFiles{}
}
