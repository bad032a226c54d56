package confine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"nanobot/internal/straight"
)

// tempName is the folder for temporary files in a chat's own, which keeps it from other chats as it
// does all in there.
const tempName = ".tmp"

// Prepare makes what the agent of a chat needs beside its folder, which is there. Empty says that
// no agent of the chat runs, so that what an earlier one has left of temporary files can go.
func (c *Confinement) Prepare(dir string, files []string, empty bool) (Chat, error) {
	if c == nil || !c.apart() {
		return Chat{}, nil
	}
	if err := c.Own(dir, files); err != nil {
		return Chat{}, err
	}
	if err := c.makeState(); err != nil {
		return Chat{}, err
	}
	// What is mounted has to be named without links.
	above, err := filepath.EvalSymlinks(filepath.Dir(dir))
	if err != nil {
		return Chat{}, err
	}
	chat := Chat{Dir: filepath.Join(above, filepath.Base(dir))}
	chat.Temp = filepath.Join(chat.Dir, tempName)
	if err := makeTemp(chat.Dir, empty); err != nil {
		return Chat{}, fmt.Errorf("make the chat's folder for temporary files: %w", err)
	}
	return chat, c.Own(dir, []string{filepath.Join(dir, tempName)})
}

// makeTemp makes the folder for temporary files. What else the agent has put in its place goes.
func makeTemp(dir string, empty bool) error {
	users, err := os.OpenRoot(filepath.Dir(dir))
	if err != nil {
		return err
	}
	defer func() { _ = users.Close() }()
	chat, err := straight.Sub(users, filepath.Base(dir))
	if err != nil {
		return err
	}
	defer func() { _ = chat.Close() }()
	if info, err := chat.Lstat(tempName); err == nil && (empty || !info.IsDir()) {
		if err := chat.RemoveAll(tempName); err != nil {
			return err
		}
	}
	if err := chat.Mkdir(tempName, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// makeState makes the folder of the state where the agent could else make one for us to use. It
// belongs to whom the workspace belongs to.
func (c *Confinement) makeState() error {
	if c.o.State == "" || c.o.Sandbox != Landlock || !c.grants().writes(c.o.State) {
		return nil
	}
	if _, err := os.Lstat(c.o.State); err == nil {
		return nil
	}
	if err := os.MkdirAll(c.o.State, 0o700); err != nil {
		return fmt.Errorf("make gateway.stateDir: %w", err)
	}
	info, err := os.Stat(c.o.Workspace)
	if err != nil || os.Geteuid() != 0 {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	return os.Lchown(c.o.State, int(stat.Uid), int(stat.Gid))
}
