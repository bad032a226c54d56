package storetest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/internal/nofollow"
)

var spoolTests = []test{
	{"overwriting or deleting the original changes nothing", func(b *bench) {
		path := filepath.Join(b.TempDir(), "a b.png")
		b.must(os.WriteFile(path, []byte("first"), 0o600))
		kept, err := SaveCopy(ctx, b, path, 0)
		b.must(err)
		b.equal("the name", filepath.Base(kept), "a b.png")
		b.must(os.WriteFile(path, []byte("other"), 0o600))
		b.holds(kept, "first")
		b.must(os.Remove(path))
		b.reopen()
		b.holds(kept, "first")
	}},
	{"a name is good on every handle, and nothing else is a name", func(b *bench) {
		kept := b.keep("x.png", "1")
		b.beside().holds(kept, "1")
		for _, name := range []string{"", "x", "/etc/passwd", kept + "/..", "../" + kept, filepath.Dir(kept) + "/..", "./x", "a/b/c"} {
			if path, err := b.Fetch(ctx, name); !errors.Is(err, store.ErrState) {
				b.Errorf("%q is fetched as %s: %v", name, path, err)
			}
		}
	}},
	{"files of the same name and content are both kept", func(b *bench) {
		one, two, three := b.keep("x.png", "1"), b.keep("x.png", "2"), b.keep("x.png", "2")
		b.holds(one, "1")
		b.holds(two, "2")
		if two == three {
			b.Fatal("two copies are one file")
		}
	}},
	{"a big file is kept whole", func(b *bench) {
		content := strings.Repeat("0123456789abcdef", 1<<20)
		b.holds(b.keep("big.bin", content), content)
	}},
	{"only the owner can read a copy", func(b *bench) {
		info, err := os.Stat(b.path(b.keep("x.png", "1")))
		b.must(err)
		b.equal("the mode", info.Mode().Perm()&0o077, os.FileMode(0))
	}},
	{"what is not a regular file is refused and leaves nothing behind", func(b *bench) {
		dir := b.TempDir()
		file, link, pipe := filepath.Join(dir, "file"), filepath.Join(dir, "link"), filepath.Join(dir, "pipe")
		b.must(os.WriteFile(file, []byte("x"), 0o600))
		b.must(os.Symlink(file, link))
		b.must(syscall.Mkfifo(pipe, 0o600))
		for _, path := range []string{link, pipe, dir, filepath.Join(dir, "missing"), "/dev/null"} {
			if kept, err := SaveCopy(ctx, b, path, 0); err == nil {
				b.Errorf("%s was kept as %s", path, kept)
			}
		}
		b.equal("copies", b.copies(), 0)
	}},
	{"another file than was checked is refused and leaves nothing behind", func(b *bench) {
		dir := b.TempDir()
		file, private := filepath.Join(dir, "file"), filepath.Join(dir, "private")
		b.must(os.WriteFile(file, []byte("x"), 0o600))
		b.must(os.WriteFile(private, []byte("y"), 0o600))
		checked, err := nofollow.Open(file)
		b.must(err)
		defer checked.Close()
		b.must(os.Remove(file))
		b.must(os.Link(private, file))
		if kept, err := b.SaveCopy(ctx, checked, 0); !errors.Is(err, store.ErrChanged) {
			b.Errorf("it was kept as %s: %v", kept, err)
		}
		b.equal("copies", b.copies(), 0)
		kept, err := SaveCopy(ctx, b, file, 0)
		b.must(err)
		b.holds(kept, "y")
	}},
	{"a copy that is not wanted any more is not made", func(b *bench) {
		path := filepath.Join(b.TempDir(), "x")
		b.must(os.WriteFile(path, []byte("x"), 0o600))
		ended, end := context.WithCancel(ctx)
		end()
		if _, err := SaveCopy(ended, b, path, 0); err == nil {
			b.Fatal("it was kept")
		}
		b.equal("copies", b.copies(), 0)
	}},
	{"a file that is too large is refused before anything is copied", func(b *bench) {
		path := filepath.Join(b.TempDir(), "big")
		b.must(os.WriteFile(path, []byte("12345"), 0o600))
		if kept, err := SaveCopy(ctx, b, path, 4); !errors.Is(err, store.ErrTooLarge) {
			b.Errorf("it was kept as %s: %v", kept, err)
		}
		b.equal("copies", b.copies(), 0)
		kept, err := SaveCopy(ctx, b, path, 5)
		b.must(err)
		b.holds(kept, "12345")
	}},
	{"a hole costs nothing", func(b *bench) {
		const size = 100 << 30
		path := filepath.Join(b.TempDir(), "sparse")
		b.must(os.WriteFile(path, []byte("x"), 0o600))
		b.must(os.Truncate(path, size))
		info, err := os.Stat(path)
		b.must(err)
		if blocks := info.Sys().(*syscall.Stat_t).Blocks; blocks > 1<<11 {
			b.Skip("this file system has no holes")
		}
		kept, err := SaveCopy(ctx, b, path, 0)
		b.must(err)
		got, err := os.Stat(b.path(kept))
		b.must(err)
		b.equal("the size", got.Size(), int64(size))
		if used := got.Sys().(*syscall.Stat_t).Blocks * 512; used > 1<<20 {
			b.Errorf("the copy takes %d bytes", used)
		}
		b.must(os.RemoveAll(filepath.Dir(b.path(kept))))
	}},
	{"a copy lives as long as a delivery needs it", func(b *bench) {
		for _, end := range []store.State{store.Sent, store.Failed, store.Unknown} {
			kept := b.keep("x.png", "1")
			b.enqueue(store.Outbound{Parts: files(ann, kept)})
			b.enqueue(store.Outbound{Parts: files(ann, kept, kept)})
			b.settle(b.next(ann).ID, store.Pending)
			b.pass(100 * time.Hour)
			b.must(b.Prune(ctx, store.Retention{Age: time.Second, Count: 1}))
			b.reopen()
			b.settle(b.next(ann).ID, end)
			b.holds(kept, "1")
			b.settle(b.next(ann).ID, end)
			b.gone(kept)
		}
		b.equal("copies", b.copies(), 0)
	}},
	{"a question's file goes with its delivery", func(b *bench) {
		kept := b.keep("x.png", "1")
		b.must(b.Ask(ctx, store.Question{ID: "q", Chat: ann}, store.Outbound{Parts: files(ann, kept)}))
		b.settle(b.next(ann).ID, store.Sent)
		b.gone(kept)
	}},
	{"a file that is not in the spool is never touched", func(b *bench) {
		path := filepath.Join(b.TempDir(), "mine.png")
		b.must(os.WriteFile(path, []byte("x"), 0o600))
		kept := b.keep("x.png", "1")
		climb := filepath.Dir(kept) + "/../../../mine.png"
		b.enqueue(store.Outbound{Parts: files(ann, path, climb)})
		b.settle(b.next(ann).ID, store.Sent)
		b.pass(100 * time.Hour)
		b.must(b.Prune(ctx, store.Retention{Age: time.Second}))
		got, err := os.ReadFile(path)
		b.must(err)
		b.equal("the file", string(got), "x")
	}},
	{"a copy that no delivery ever needed goes when it is an hour old", func(b *bench) {
		kept := b.keep("x.png", "1")
		b.pass(time.Hour - time.Second)
		b.must(b.Prune(ctx, store.Retention{}))
		b.holds(kept, "1")
		b.pass(2 * time.Second)
		b.must(b.Prune(ctx, store.Retention{}))
		b.gone(kept)
	}},
}

// SaveCopy opens a file without following symbolic links, as it is opened to be checked, and copies
// it into a spool.
func SaveCopy(ctx context.Context, s store.Spool, path string, most int64) (string, error) {
	file, err := nofollow.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	return s.SaveCopy(ctx, file, most)
}

// files is one network call with files.
func files(chat channels.Chat, paths ...string) []channels.Outgoing {
	o := channels.Outgoing{Chat: chat}
	for _, p := range paths {
		o.Media = append(o.Media, channels.File{Path: p, Name: filepath.Base(p)})
	}
	return []channels.Outgoing{o}
}

// copies counts what lies in the spool, by the folder that a fresh copy is put into.
func (b *bench) copies() int {
	b.Helper()
	kept := b.path(b.keep("probe", "probe"))
	entries, err := os.ReadDir(filepath.Dir(filepath.Dir(kept)))
	b.must(err)
	b.must(os.RemoveAll(filepath.Dir(kept)))
	return len(entries) - 1
}
