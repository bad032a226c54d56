package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"nanobot/internal/nofollow"
)

// tempDirName is the temporary folder inside a chat's folder, which other chats cannot reach.
const tempDirName = ".tmp"

// PrepareChat prepares the folders that an agent of a chat needs in addition to dir, which exists.
// empty says that no agent of the chat is running, so that the temporary files of earlier agents
// can be removed.
func (s *Sandbox) PrepareChat(dir string, files []string, empty bool) (ChatDirs, error) {
	if s == nil || !s.separatesChats() {
		return ChatDirs{}, nil
	}
	if err := s.ChownToAgent(dir, files); err != nil {
		return ChatDirs{}, err
	}
	if err := s.createStateDir(); err != nil {
		return ChatDirs{}, err
	}
	// Paths of mounts must not contain symbolic links.
	above, err := filepath.EvalSymlinks(filepath.Dir(dir))
	if err != nil {
		return ChatDirs{}, err
	}
	chat := ChatDirs{Dir: filepath.Join(above, filepath.Base(dir))}
	chat.Temp = filepath.Join(chat.Dir, tempDirName)
	if err := createTempDir(chat.Dir, empty); err != nil {
		return ChatDirs{}, fmt.Errorf("make the chat's folder for temporary files: %w", err)
	}
	return chat, s.ChownToAgent(dir, []string{filepath.Join(dir, tempDirName)})
}

// createTempDir creates the temporary folder. Anything else of that name is removed, since the
// agent may have created it.
func createTempDir(dir string, empty bool) error {
	users, err := os.OpenRoot(filepath.Dir(dir))
	if err != nil {
		return err
	}
	defer func() { _ = users.Close() }()
	chat, err := nofollow.OpenSubfolder(users, filepath.Base(dir))
	if err != nil {
		return err
	}
	defer func() { _ = chat.Close() }()
	if info, err := chat.Lstat(tempDirName); err == nil && (empty || !info.IsDir()) {
		if err := chat.RemoveAll(tempDirName); err != nil {
			return err
		}
	}
	if err := chat.Mkdir(tempDirName, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// createStateDir creates the state folder if the agent could otherwise create it first and control
// its content. The owner of the workspace becomes its owner.
func (s *Sandbox) createStateDir() error {
	if s.o.State == "" || s.o.Sandbox != Landlock || !s.grants().writes(s.o.State) {
		return nil
	}
	if _, err := os.Lstat(s.o.State); err == nil {
		return nil
	}
	if err := os.MkdirAll(s.o.State, 0o700); err != nil {
		return fmt.Errorf("make gateway.stateDir: %w", err)
	}
	info, err := os.Stat(s.o.Workspace)
	if err != nil || os.Geteuid() != 0 {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	return os.Lchown(s.o.State, int(stat.Uid), int(stat.Gid))
}
