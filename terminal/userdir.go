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

// maxDirName keeps a folder's name below the 255 bytes that file systems allow.
const maxDirName = 200

// usersFolder contains the folders of all chats, in the workspace.
const usersFolder = "users"

// UserDir creates the folder of a chat and returns its path: {workspace}/users/{chat id}, or
// {workspace}/users/{account}@{chat id} if the channel is an account with a name.
func UserDir(workspace, channel, chatID string) (string, error) {
	// Most chats have one already, and checking that is much cheaper than trying to create it.
	if within := userFolder(channel, chatID); nofollow.HasFolder(workspace, within) {
		return filepath.Join(workspace, within), nil
	}
	root, err := UserRoot(workspace, channel, chatID)
	if err != nil {
		return "", err
	}
	return root.Name(), root.Close()
}

// UserRoot creates and opens the folder of a chat. Agents can write to the workspace, so a symbolic
// link in the folder's place is refused. Operations on the returned root stay inside the folder.
func UserRoot(workspace, channel, chatID string) (*os.Root, error) {
	err := os.MkdirAll(workspace, 0o700)
	var root *os.Root
	if err == nil {
		root, err = openBelow(workspace, userFolder(channel, chatID), openOrCreateDir)
	}
	if err != nil {
		return nil, fmt.Errorf("make user folder: %w", err)
	}
	return root, nil
}

// ExistingUserRoot is UserRoot if the folder exists. Otherwise it returns fs.ErrNotExist.
func ExistingUserRoot(workspace, channel, chatID string) (*os.Root, error) {
	return openBelow(workspace, userFolder(channel, chatID), nofollow.OpenSubfolder)
}

func userFolder(channel, chatID string) string {
	return filepath.Join(usersFolder, chatDirName(channel, chatID))
}

// openBelow opens a folder below the workspace. open opens each element of its path.
func openBelow(workspace, path string, open func(*os.Root, string) (*os.Root, error)) (*os.Root, error) {
	root, err := os.OpenRoot(workspace)
	for name := range strings.SplitSeq(path, string(filepath.Separator)) {
		if err != nil {
			break
		}
		parent := root
		root, err = open(parent, name)
		_ = parent.Close()
	}
	return root, err
}

// openOrCreateDir opens a folder and creates it if it does not exist.
func openOrCreateDir(parent *os.Root, name string) (*os.Root, error) {
	if err := parent.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	root, err := nofollow.OpenSubfolder(parent, name)
	if errors.Is(err, nofollow.ErrNotFolder) {
		err = fmt.Errorf("%w, which an agent may have put there; move it away", err)
	}
	return root, err
}

// splitChannel splits the name of a channel into the network and the account, which may be "".
func splitChannel(channel string) (network, account string) {
	network, account, _ = strings.Cut(channel, ".")
	return network, account
}

// chatDirName encodes a chat as one folder name that cannot leave its parent and is unique. Usual
// IDs stay as they are; other bytes become %XX.
func chatDirName(channel, id string) string {
	if _, account := splitChannel(channel); account != "" {
		id = account + "@" + id
	}
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
	return limitName(name, id)
}

// limitName replaces the end of a name that is too long by a hash of what it names.
func limitName(name, of string) string {
	if len(name) <= maxDirName {
		return name
	}
	sum := sha256.Sum256([]byte(of))
	return name[:maxDirName-65] + "%" + hex.EncodeToString(sum[:])
}

// ChatFolders returns the paths below the workspace of the folders that only one chat has: that of
// its files and its worktree. They may not exist.
func ChatFolders(channel, chatID string) []string {
	return []string{userFolder(channel, chatID), Place{Worktree: "."}.folder(channel, chatID)}
}

// RemoveChatFolders removes the folders of ChatFolders, and reports whether there were any. Agents
// can write to the workspace, so a symbolic link on the way is refused.
func RemoveChatFolders(workspace, channel, chatID string) (removed bool, err error) {
	for _, path := range ChatFolders(channel, chatID) {
		parent, err := openBelow(workspace, filepath.Dir(path), nofollow.OpenSubfolder)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return removed, fmt.Errorf("remove the folder of a chat: %w", err)
		}
		_, missing := parent.Lstat(filepath.Base(path))
		removed = removed || missing == nil
		if err := errors.Join(parent.RemoveAll(filepath.Base(path)), parent.Close()); err != nil {
			return removed, fmt.Errorf("remove the folder of a chat: %w", err)
		}
	}
	return removed, nil
}
