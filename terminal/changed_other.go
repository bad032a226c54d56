//go:build !linux

package terminal

import (
	"io/fs"
	"time"
)

// changedAt is when a file was last written.
func changedAt(info fs.FileInfo) time.Time { return info.ModTime() }
