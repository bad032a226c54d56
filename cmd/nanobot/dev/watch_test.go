package dev_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"nanobot/cmd/nanobot/dev"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// folder is a folder whose files get a new time with each write.
type folder struct {
	t     *testing.T
	path  string
	clock time.Time
}

func newFolder(t *testing.T) *folder { return &folder{t, t.TempDir(), time.Unix(1e9, 0)} }

func (f *folder) write(name string) string {
	f.t.Helper()
	path := filepath.Join(f.path, name)
	musttest.Do(f.t, os.MkdirAll(filepath.Dir(path), 0o755))
	musttest.Do(f.t, os.WriteFile(path, []byte("x"), 0o644))
	f.clock = f.clock.Add(time.Second)
	musttest.Do(f.t, os.Chtimes(path, f.clock, f.clock))
	return path
}

func TestAWatchFindsWhatAPersonHasChanged(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	seen := []string{"agent.py", "lib/words.py", "prompt.txt"}
	unseen := []string{
		".git/index", "node_modules/a.js", "users/1/note", "__pycache__/a.pyc", "lib/.agent.py.swp", "state/nanobot.db",
		"tests/one.nbt.jsonl", "tests/one.files/abc",
	}
	for _, name := range slices.Concat(seen, unseen) {
		f.write(name)
	}
	w := &dev.Watch{Folders: []string{f.path}, Ignored: []string{filepath.Join(f.path, "state")}}
	check := func(what string, want ...string) {
		t.Helper()
		got, more := w.Changed()
		for i := range got {
			got[i] = musttest.Get(filepath.Rel(f.path, got[i]))(t)
		}
		slices.Sort(got)
		wanttest.Equal(t, what, fmt.Sprint(got), fmt.Sprint(want))
		wanttest.Equal(t, what+": more", more, false)
	}
	check("the first look")
	for _, name := range slices.Concat(seen, unseen) {
		f.write(name)
	}
	check("all changed", seen...)
	check("nothing changed")
	f.write("new.py")
	check("a new file")
	f.write("new.py")
	check("the new file changed", "new.py")
	// As editors replace a file.
	musttest.Do(t, os.Remove(filepath.Join(f.path, "agent.py")))
	check("the file is gone")
	musttest.Do(t, os.Rename(f.write("agent.py.new"), filepath.Join(f.path, "agent.py")))
	check("it is replaced", "agent.py")
}

func TestAWatchIsBounded(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	for i := range dev.MaxEntries {
		musttest.Do(t, os.WriteFile(filepath.Join(f.path, fmt.Sprintf("%04d", i)), nil, 0o644))
	}
	own := f.write("zz/agent.py")
	w := &dev.Watch{Files: []string{own}, Folders: []string{f.path}}
	if _, more := w.Changed(); !more {
		t.Error("it does not say that there are more")
	}
	f.write("zz/agent.py")
	if changed, _ := w.Changed(); !slices.Equal(changed, []string{own}) {
		t.Errorf("the named file is not among %q", changed)
	}
}

func TestALoopRunsOnceForSeveralSavesAndNotForTheAgentsFiles(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	own, other := f.write("agent.py"), f.write("log.txt")
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var mu sync.Mutex
		var ran, skipped [][]string
		busy := false
		w := &dev.Watch{Files: []string{own}, Folders: []string{f.path}}
		var work sync.WaitGroup
		work.Go(func() {
			w.Run(ctx, dev.Events{
				Run:      func(_ context.Context, changed []string) { mu.Lock(); ran = append(ran, changed); mu.Unlock() },
				RanSince: func(context.Context, time.Time) bool { mu.Lock(); defer mu.Unlock(); return busy },
				Skipped:  func(files []string) { mu.Lock(); skipped = append(skipped, files); mu.Unlock() },
			})
		})
		look := func() { time.Sleep(time.Second / 3); synctest.Wait() }
		check := func(what string, wantRan, wantSkipped [][]string) {
			t.Helper()
			mu.Lock()
			defer mu.Unlock()
			wanttest.Equal(t, what+": ran", fmt.Sprint(ran), fmt.Sprint(wantRan))
			wanttest.Equal(t, what+": skipped", fmt.Sprint(skipped), fmt.Sprint(wantSkipped))
			ran, skipped = nil, nil
		}
		synctest.Wait()
		f.write("agent.py")
		look()
		check("before the next look", nil, nil)
		f.write("log.txt")
		look()
		look()
		check("two saves", [][]string{{own, other}}, nil)
		mu.Lock()
		busy = true
		mu.Unlock()
		f.write("agent.py")
		f.write("log.txt")
		look()
		look()
		check("during a turn", [][]string{{own}}, [][]string{{other}})
		cancel()
		work.Wait()
	})
}
