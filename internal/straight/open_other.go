//go:build !linux

package straight

import "os"

// Open opens a file for reading. It fails if any part of the path, which is absolute, is a link;
// one that only just came there may be missed, but for the last part.
func Open(path string) (*os.File, error) { return plain(path) }

// Stat describes what is at a path. It fails if any part of the path is a link; one that only just
// came there may be missed, but for the last part.
func Stat(path string) (os.FileInfo, error) { return plainStat(path) }

// HasFolder is always false: there is no single look at a whole path.
func HasFolder(string, string) bool { return false }
