package blocks

import (
	"nanobot/internal/words"
	"nanobot/terminal"
)

// The errors of a workspace.
var (
	ErrOutside  = errOutside
	ErrNotFound = errNotFound
)

// Reason returns the text of a file error without the path.
func Reason(err error) string { return errorReason(words.Words{}, err) }

// Workspace is the folder in which an agent works.
type Workspace struct{ *workspace }

// OpenWorkspace opens a workspace.
func OpenWorkspace(p terminal.ExecEnv) (Workspace, error) {
	w, err := openWorkspace(p)
	return Workspace{w}, err
}

func (w Workspace) Close() { w.close() }

func (w Workspace) Read(path string, limit int64) ([]byte, int64, error) { return w.read(path, limit) }

func (w Workspace) Stat(path string) (int64, error) { return w.stat(path) }

func (w Workspace) Write(path, content string) error { return w.write(path, []byte(content)) }

func (w Workspace) Remove(path string) error { return w.remove(path) }

// List returns the files of the workspace that are shown, and how many are not.
func (w Workspace) List(limit int) (shown []WorkspaceFile, more int, err error) {
	l, err := w.list(limit)
	for _, f := range l.shown {
		shown = append(shown, WorkspaceFile{f.path, f.size})
	}
	return shown, l.more, err
}
