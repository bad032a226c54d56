//go:build !linux

package media

import (
	"io/fs"
	"time"
)

// changedAt returns the modification time.
func changedAt(info fs.FileInfo) time.Time { return info.ModTime() }
