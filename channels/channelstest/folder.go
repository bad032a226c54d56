package channelstest

import (
	"os"
	"path/filepath"
)

// ChatFolders is what channels are given to find the folder of a chat with: one below a folder, and
// below that one more, if it is named.
func ChatFolders(dir string, below ...string) func(chat string) (*os.Root, error) {
	return func(chat string) (*os.Root, error) {
		path := filepath.Join(append([]string{dir, chat}, below...)...)
		if err := os.MkdirAll(path, 0o700); err != nil {
			return nil, err
		}
		return os.OpenRoot(path)
	}
}
