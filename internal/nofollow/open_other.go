//go:build !linux

package nofollow

import "os"

// Open opens a file for reading. It fails with ELOOP if any element of the absolute path is a
// symbolic link. A link that appears during the call is refused only as the last element.
func Open(path string) (*os.File, error) { return openChecked(path) }

// Stat describes the file at a path. It fails, as Open does, if any element of the path is a
// symbolic link.
func Stat(path string) (os.FileInfo, error) { return statChecked(path) }

// HasFolder is always false: only Linux can check a whole path by one system call.
func HasFolder(string, string) bool { return false }
