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
	"nanobot/terminal"
)

var spoolTests = []contractTest{
	{"overwriting or deleting the original does not change the copy", func(b *fixture) {
		path := filepath.Join(b.TempDir(), "a b.png")
		b.noError(os.WriteFile(path, []byte("first"), 0o600))
		kept, err := SaveCopy(ctx, b, path, 0)
		b.noError(err)
		b.equal("the name", filepath.Base(kept), "a b.png")
		b.noError(os.WriteFile(path, []byte("other"), 0o600))
		b.checkCopy(kept, "first")
		b.noError(os.Remove(path))
		b.reopen()
		b.checkCopy(kept, "first")
	}},
	{"the name of a copy is valid on every handle, and other names are refused", func(b *fixture) {
		kept := b.saveCopy("x.png", "1")
		b.openSecond().checkCopy(kept, "1")
		for _, name := range []string{"", "x", "/etc/passwd", kept + "/..", "../" + kept, filepath.Dir(kept) + "/..", "./x", "a/b/c"} {
			if path, err := b.Fetch(ctx, name); !errors.Is(err, store.ErrState) {
				b.Errorf("%q is fetched as %s: %v", name, path, err)
			}
		}
	}},
	{"files of the same name and content have separate copies", func(b *fixture) {
		one, two, three := b.saveCopy("x.png", "1"), b.saveCopy("x.png", "2"), b.saveCopy("x.png", "2")
		b.checkCopy(one, "1")
		b.checkCopy(two, "2")
		if two == three {
			b.Fatal("two copies are one file")
		}
	}},
	{"a big file is copied completely", func(b *fixture) {
		content := strings.Repeat("0123456789abcdef", 1<<20)
		b.checkCopy(b.saveCopy("big.bin", content), content)
	}},
	{"only the owner can read a copy", func(b *fixture) {
		info, err := os.Stat(b.fetchPath(b.saveCopy("x.png", "1")))
		b.noError(err)
		b.equal("the mode", info.Mode().Perm()&0o077, os.FileMode(0))
	}},
	{"only regular files are copied, and a refused one leaves nothing behind", func(b *fixture) {
		dir := b.TempDir()
		file, link, pipe := filepath.Join(dir, "file"), filepath.Join(dir, "link"), filepath.Join(dir, "pipe")
		b.noError(os.WriteFile(file, []byte("x"), 0o600))
		b.noError(os.Symlink(file, link))
		b.noError(syscall.Mkfifo(pipe, 0o600))
		for _, path := range []string{link, pipe, dir, filepath.Join(dir, "missing"), "/dev/null"} {
			if kept, err := SaveCopy(ctx, b, path, 0); err == nil {
				b.Errorf("%s was kept as %s", path, kept)
			}
		}
		b.equal("copies", b.countCopies(), 0)
	}},
	{"a file that was replaced after its check is refused and leaves nothing behind", func(b *fixture) {
		dir := b.TempDir()
		file, private := filepath.Join(dir, "file"), filepath.Join(dir, "private")
		b.noError(os.WriteFile(file, []byte("x"), 0o600))
		b.noError(os.WriteFile(private, []byte("y"), 0o600))
		checked, err := nofollow.Open(file)
		b.noError(err)
		defer checked.Close()
		b.noError(os.Remove(file))
		b.noError(os.Link(private, file))
		if kept, err := b.SaveCopy(ctx, checked, 0); !errors.Is(err, store.ErrChanged) {
			b.Errorf("it was kept as %s: %v", kept, err)
		}
		b.equal("copies", b.countCopies(), 0)
		kept, err := SaveCopy(ctx, b, file, 0)
		b.noError(err)
		b.checkCopy(kept, "y")
	}},
	{"a cancelled copy leaves nothing behind", func(b *fixture) {
		path := filepath.Join(b.TempDir(), "x")
		b.noError(os.WriteFile(path, []byte("x"), 0o600))
		ended, end := context.WithCancel(ctx)
		end()
		if _, err := SaveCopy(ended, b, path, 0); err == nil {
			b.Fatal("it was kept")
		}
		b.equal("copies", b.countCopies(), 0)
	}},
	{"a file that is too large is refused before anything is copied", func(b *fixture) {
		path := filepath.Join(b.TempDir(), "big")
		b.noError(os.WriteFile(path, []byte("12345"), 0o600))
		if kept, err := SaveCopy(ctx, b, path, 4); !errors.Is(err, store.ErrTooLarge) {
			b.Errorf("it was kept as %s: %v", kept, err)
		}
		b.equal("copies", b.countCopies(), 0)
		kept, err := SaveCopy(ctx, b, path, 5)
		b.noError(err)
		b.checkCopy(kept, "12345")
	}},
	{"a file for which the disk has no room is refused before it is copied", func(b *fixture) {
		path := filepath.Join(b.TempDir(), "huge")
		b.noError(os.WriteFile(path, []byte("x"), 0o600))
		if err := os.Truncate(path, 8<<40); err != nil {
			b.Skip("this file system has no holes")
		}
		if kept, err := SaveCopy(ctx, b, path, 0); !errors.Is(err, store.ErrNoRoom) {
			b.Errorf("it was kept as %s: %v", kept, err)
		}
		b.equal("copies", b.countCopies(), 0)
	}},
	{"a copy is kept as long as a delivery needs it", func(b *fixture) {
		for _, end := range []store.State{store.Sent, store.Failed, store.Unknown} {
			kept := b.saveCopy("x.png", "1")
			b.enqueue(store.Outbound{Parts: outgoingFiles(ann, kept)})
			b.enqueue(store.Outbound{Parts: outgoingFiles(ann, kept, kept)})
			b.settle(b.nextDelivery(ann).ID, store.Pending)
			b.advance(100 * time.Hour)
			b.noError(b.Prune(ctx, store.Retention{Age: time.Second, Count: 1}))
			b.reopen()
			b.settle(b.nextDelivery(ann).ID, end)
			b.checkCopy(kept, "1")
			b.settle(b.nextDelivery(ann).ID, end)
			b.checkRemoved(kept)
		}
		b.equal("copies", b.countCopies(), 0)
	}},
	{"the copy of a question's file is removed with its delivery", func(b *fixture) {
		kept := b.saveCopy("x.png", "1")
		b.noError(b.Ask(ctx, store.Question{Question: terminal.Question{ID: "q"}, Chat: ann}, store.Outbound{Parts: outgoingFiles(ann, kept)}))
		b.settle(b.nextDelivery(ann).ID, store.Sent)
		b.checkRemoved(kept)
	}},
	{"a file that is not in the spool is never touched", func(b *fixture) {
		path := filepath.Join(b.TempDir(), "mine.png")
		b.noError(os.WriteFile(path, []byte("x"), 0o600))
		kept := b.saveCopy("x.png", "1")
		climb := filepath.Dir(kept) + "/../../../mine.png"
		b.enqueue(store.Outbound{Parts: outgoingFiles(ann, path, climb)})
		b.settle(b.nextDelivery(ann).ID, store.Sent)
		b.advance(100 * time.Hour)
		b.noError(b.Prune(ctx, store.Retention{Age: time.Second}))
		got, err := os.ReadFile(path)
		b.noError(err)
		b.equal("the file", string(got), "x")
	}},
	{"a copy without a delivery is removed when it is an hour old", func(b *fixture) {
		kept := b.saveCopy("x.png", "1")
		b.advance(time.Hour - time.Second)
		b.noError(b.Prune(ctx, store.Retention{}))
		b.checkCopy(kept, "1")
		b.advance(2 * time.Second)
		b.noError(b.Prune(ctx, store.Retention{}))
		b.checkRemoved(kept)
	}},
}

// SaveCopy opens a file without following symbolic links, as the check of media does, and copies
// it into a spool.
func SaveCopy(ctx context.Context, s store.Spool, path string, limit int64) (string, error) {
	file, err := nofollow.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	return s.SaveCopy(ctx, file, limit)
}

// outgoingFiles returns one network call with files.
func outgoingFiles(chat channels.Chat, paths ...string) []channels.Outgoing {
	o := channels.Outgoing{Chat: chat}
	for _, p := range paths {
		o.Media = append(o.Media, channels.File{Path: p, Name: filepath.Base(p)})
	}
	return []channels.Outgoing{o}
}

// countCopies counts the copies in the spool, whose folder it finds by making a copy.
func (b *fixture) countCopies() int {
	b.Helper()
	kept := b.fetchPath(b.saveCopy("probe", "probe"))
	entries, err := os.ReadDir(filepath.Dir(filepath.Dir(kept)))
	b.noError(err)
	b.noError(os.RemoveAll(filepath.Dir(kept)))
	return len(entries) - 1
}
