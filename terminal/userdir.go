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
)

// maxName keeps a folder's name under the 255 bytes that file systems allow.
const maxName = 200

// UserDir creates the folder of a chat, {workspace}/users/{chat id}, and returns it. Agents can write to the workspace, so a link that
// stands in its place may lead anywhere, and is refused.
func UserDir(workspace, chatID string) (string, error) {
	users := filepath.Join(workspace, "users")
	dir := filepath.Join(users, dirName(chatID))
	for _, d := range []string{users, dir} {
		if err := realDir(d); err != nil {
			return "", fmt.Errorf("make user folder: %w", err)
		}
	}
	return dir, nil
}

// realDir creates a folder, unless it is there.
func realDir(dir string) error {
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
			return err
		}
		if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		info, err = os.Lstat(dir)
	}
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a folder but a link or a file, which an agent may have put there; move it away", dir)
	}
	return nil
}

// dirName turns a chat id into one folder name that stays within its parent, different for different ids. Usual ids stay as
// they are; other bytes become %XX.
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
