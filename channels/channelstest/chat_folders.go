package channelstest

import (
	"os"
	"path/filepath"
)

// ChatFolders returns a function that opens the folder of a chat, for the constructors of channels.
// The folder is dir/chat, or a subfolder of it, and is created if needed.
func ChatFolders(dir string, below ...string) func(chat string) (*os.Root, error) {
	return func(chat string) (*os.Root, error) {
		path := filepath.Join(append([]string{dir, chat}, below...)...)
		if err := os.MkdirAll(path, 0o700); err != nil {
			return nil, err
		}
		return os.OpenRoot(path)
	}
}
