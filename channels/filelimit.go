package channels

import (
	"strconv"

	"nanobot/internal/words"
)

// DropOversized returns the files up to a size, and a notice about each other one, for which phrase
// describes the limit.
func DropOversized(files []File, limit int64, phrase string, w words.Words) (good []File, notices []string) {
	for _, f := range files {
		if f.Size > limit {
			notices = append(notices, w.Text(words.FileNotSentSize, strconv.Quote(f.Name), HumanSize(f.Size), phrase))
		} else {
			good = append(good, f)
		}
	}
	return good, notices
}

// GroupFiles distributes files over groups that have at most a number of files and of bytes. A
// larger file has a group of its own.
func GroupFiles(files []File, most int, maxBytes int64) (groups [][]File) {
	var size int64
	for _, f := range files {
		last := len(groups) - 1
		if last < 0 || len(groups[last]) == most || size+f.Size > maxBytes {
			groups, size = append(groups, []File{f}), f.Size
			continue
		}
		groups[last], size = append(groups[last], f), size+f.Size
	}
	return groups
}
