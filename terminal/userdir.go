package terminal

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// maxName keeps a folder's name under the 255 bytes that file systems allow.
const maxName = 200

// UserDir creates the folder of a chat, {workspace}/users/{chat id}, and returns it.
func UserDir(workspace, chatID string) (string, error) {
	dir := filepath.Join(workspace, "users", dirName(chatID))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make user folder: %w", err)
	}
	return dir, nil
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
