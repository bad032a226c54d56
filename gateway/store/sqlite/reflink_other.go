//go:build !linux

package sqlite

import "os"

// reflink makes one file share the content of another, which is not done here.
func reflink(*os.File, *os.File) bool { return false }
