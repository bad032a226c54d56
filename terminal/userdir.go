package terminal

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"nanobot/internal/nofollow"
)

// maxName keeps a folder's name under the 255 bytes that file systems allow.
const maxName = 200

// usersFolder is the folder of all chats' folders in the workspace.
const usersFolder = "users"

// UserDir creates the folder of a chat, {workspace}/users/{chat id}, and returns it.
func UserDir(workspace, chatID string) (string, error) {
	// Most chats have theirs, and trying to create it once more would cost more than all the rest.
	if within := filepath.Join(usersFolder, dirName(chatID)); nofollow.HasFolder(workspace, within) {
		return filepath.Join(workspace, within), nil
	}
	root, err := UserRoot(workspace, chatID)
	if err != nil {
		return "", err
	}
	return root.Name(), root.Close()
}

// UserRoot creates the folder of a chat and opens it. Agents can write to the workspace, so a link
// that stands in the folder's place may lead anywhere, and is refused; what is done in the folder
// once it is open stays in it.
func UserRoot(workspace, chatID string) (*os.Root, error) {
	if err := os.MkdirAll(workspace, 0o700); err != nil {
		return nil, fmt.Errorf("make user folder: %w", err)
	}
	root, err := os.OpenRoot(workspace)
	for _, name := range []string{usersFolder, dirName(chatID)} {
		if err != nil {
			break
		}
		parent := root
		root, err = realDir(parent, name)
		_ = parent.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("make user folder: %w", err)
	}
	return root, nil
}

// realDir opens a folder, which is created unless it is there.
func realDir(parent *os.Root, name string) (*os.Root, error) {
	if err := parent.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	root, err := nofollow.OpenSubfolder(parent, name)
	if errors.Is(err, nofollow.ErrNotFolder) {
		err = fmt.Errorf("%w, which an agent may have put there; move it away", err)
	}
	return root, err
}

// dirName turns a chat id into one folder name that stays within its parent, different for
// different ids. Usual ids stay as they are; other bytes become %XX.
func dirName(id string) string {
	var b strings.Builder
	for i := range len(id) {
		c := id[i]
		safe := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-_@+=.", c) >= 0
		if !safe || c == '.' && i == 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	name := b.String()
	if name == "" {
		return "%"
	}
	if len(name) > maxName {
		sum := sha256.Sum256([]byte(id))
		return name[:maxName-65] + "%" + hex.EncodeToString(sum[:])
	}
	return name
}
