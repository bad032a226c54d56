// Package dev is the loop of nanobot dev: it watches the files of an agent, and serves the last
// recorded turn to the page. It knows nothing of the gateway.
package dev

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	// pollInterval is how often files are looked at. A change is acted on when the next look finds
	// no further one, since editors and formatters write several files.
	pollInterval = 300 * time.Millisecond
	// MaxEntries is how many files and folders are looked at: each look takes some milliseconds.
	MaxEntries = 2000
)

// cassetteSuffixes are those of recorded turns and of the folders with their files.
var cassetteSuffixes = []string{".nbt.jsonl", ".files"}

// ignoredFolders have what programs write. So do those whose names begin with a dot.
var ignoredFolders = []string{"node_modules", "users", "__pycache__"}

// Watch finds changes of files by their size and time.
type Watch struct {
	// Files are watched even where folders are ignored.
	Files []string
	// Folders are watched with their subfolders, except those in Ignored.
	Folders, Ignored []string

	known map[string]stamp
}

type stamp struct{ modified, size int64 }

// Changed returns the files that have changed since the last call, without new ones: an editor adds
// its own files, and a new file of the agent is of no use before another one names it. more says
// that there are more files than can be watched.
func (w *Watch) Changed() (changed []string, more bool) {
	if w.known == nil {
		w.known = map[string]stamp{}
	}
	look := func(path string) {
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() {
			return // an editor may be replacing it
		}
		now := stamp{info.ModTime().UnixNano(), info.Size()}
		if was, ok := w.known[path]; ok && was != now {
			changed = append(changed, path)
		}
		w.known[path] = now
	}
	for _, path := range w.Files {
		look(path)
	}
	left := MaxEntries
	for _, folder := range w.Folders {
		_ = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			left--
			switch {
			case left < 0:
				more = true
				return fs.SkipAll
			case path != folder && w.ignores(path, entry):
				if entry.IsDir() {
					return fs.SkipDir
				}
			case err == nil && !entry.IsDir() && !slices.Contains(w.Files, path):
				look(path)
			}
			return nil
		})
	}
	return changed, more
}

func (w *Watch) ignores(path string, entry fs.DirEntry) bool {
	name := entry.Name()
	return slices.Contains(w.Ignored, path) || strings.HasPrefix(name, ".") ||
		entry.IsDir() && slices.Contains(ignoredFolders, name) ||
		slices.ContainsFunc(cassetteSuffixes, func(suffix string) bool { return strings.HasSuffix(name, suffix) })
}

// Events are what a Loop calls.
type Events struct {
	// Run runs the last message again because of some files, with their current content.
	Run func(ctx context.Context, changed []string)
	// RanSince reports whether a turn runs or has ended after a time.
	RanSince func(ctx context.Context, t time.Time) bool
	// Skipped is called with files that changed while a turn ran: the agent may have written them,
	// and running it again would never end.
	Skipped func(files []string)
	// TooMany is called once if some files are not watched.
	TooMany func()
}

// settleTime is how long after a turn changes count as those of its agent, whose processes may
// still write.
const settleTime = time.Second

// Run watches until ctx ends.
func (w *Watch) Run(ctx context.Context, on Events) {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	var pending []string
	for saidMore := false; ; {
		changed, more := w.Changed()
		if more && !saidMore {
			saidMore = true
			on.TooMany()
		}
		if len(changed) > 0 && on.RanSince(ctx, time.Now().Add(-pollInterval-settleTime)) {
			named := func(path string) bool { return slices.Contains(w.Files, path) }
			if others := slices.DeleteFunc(slices.Clone(changed), named); len(others) > 0 {
				on.Skipped(others)
			}
			changed = slices.DeleteFunc(changed, func(path string) bool { return !named(path) })
		}
		if len(changed) == 0 && len(pending) > 0 {
			on.Run(ctx, pending)
			pending = nil
		}
		pending = append(pending, changed...)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
