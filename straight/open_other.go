//go:build !linux

package straight

import "os"

// Open opens a file for reading. It fails if the last part of the path is a link.
func Open(path string) (*os.File, error) { return plain(path) }
