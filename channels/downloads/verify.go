package downloads

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"nanobot/channels"
	"nanobot/internal/nofollow"
)

// The errors of a saved file that is not as it was saved: agents and people can do with it what
// they like.
var (
	ErrGone    = errors.New("the file is gone")
	ErrChanged = errors.New("the file has changed")
)

// fileStamp changes with every change of a file, even if somebody sets the times back.
type fileStamp struct {
	dev, inode       uint64
	size             int64
	modified, status unix.Timespec
}

const (
	// maxVerified bounds the files whose content is known to be unchanged.
	maxVerified = 1000
	// timestampGrain is more than the resolution of file times: a file that changes twice within it
	// may have the same stamp after both changes.
	timestampGrain = 20 * time.Millisecond
)

func stampOf(f *os.File) (fileStamp, error) {
	var s unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &s); err != nil {
		return fileStamp{}, err
	}
	if s.Mode&unix.S_IFMT != unix.S_IFREG {
		return fileStamp{}, ErrGone
	}
	return fileStamp{uint64(s.Dev), s.Ino, s.Size, s.Mtim, s.Ctim}, nil //nolint:unconvert // types differ by system
}

// isSettled reports whether a later change gives the file another stamp.
func (s fileStamp) isSettled(now time.Time) bool {
	return now.Sub(time.Unix(s.status.Unix())) > timestampGrain
}

// OpenSaved opens a file that was saved in this folder, wherever the folder is now. It returns
// ErrGone or ErrChanged if the file is not as it was saved.
func (f *Folder) OpenSaved(saved File) (*os.File, error) {
	file, err := openNoFollow(f.root, filepath.Base(saved.Path))
	if err != nil {
		return nil, err
	}
	if err := f.all.verify(file, saved); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// Check is OpenSaved without the file. It reads the content only if the size is right and the time
// of the last change is not.
func (f *Folder) Check(saved File) error {
	info, err := f.root.Lstat(filepath.Base(saved.Path))
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && !info.Mode().IsRegular():
		return ErrGone
	case err != nil:
		return err
	case info.Size() != saved.Size:
		return ErrChanged
	case info.ModTime().UnixNano() == saved.Modified:
		return nil
	}
	file, err := f.OpenSaved(saved)
	if err != nil {
		return err
	}
	return file.Close()
}

// verify returns ErrChanged unless a file has the content that was saved. The content is read once
// as long as the file does not change.
func (a *Folders) verify(f *os.File, saved File) error {
	stamp, err := stampOf(f)
	if err != nil {
		return err
	}
	a.mu.Lock()
	known := a.verified[saved] == stamp
	a.mu.Unlock()
	if known {
		return nil
	}
	settled := stamp.isSettled(time.Now())
	if err := verifyContent(f, saved.Size, saved.SHA256); err != nil {
		return err
	}
	if settled {
		a.mu.Lock()
		defer a.mu.Unlock()
		if len(a.verified) >= maxVerified {
			clear(a.verified)
		}
		a.verified[saved] = stamp
	}
	return nil
}

// verifyContent returns ErrChanged unless a file has a size and a digest. It leaves the file at its
// start.
func verifyContent(f *os.File, size int64, digest string) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() != size {
		return ErrChanged
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, size+1)); err != nil {
		return err
	}
	if hex.EncodeToString(h.Sum(nil)) != digest {
		return ErrChanged
	}
	_, err = f.Seek(0, io.SeekStart)
	return err
}

// openNoFollow opens a regular file of a folder. It returns ErrGone for anything else.
func openNoFollow(root *os.Root, name string) (*os.File, error) {
	folder, err := nofollow.OpenRootFolder(root)
	if err != nil {
		return nil, err
	}
	defer folder.Close() //nolint:errcheck // it was only read
	f, err := folder.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ELOOP):
		return nil, ErrGone
	case err != nil:
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(ErrGone, err, f.Close())
	}
	return f, nil
}

// Prune removes the received files of all chats that were recorded before a time, oldest first, if
// they are unchanged: never one that an agent or a person has changed or moved. open opens the
// folder of a chat and does not create it.
func Prune(ctx context.Context, open func(chat string) (*os.Root, error), records channels.FileRecords,
	before time.Time,
) (removed int, err error) {
	values, err := records.ListRecords(ctx, recordPrefix)
	if err != nil {
		return 0, err
	}
	var old []record
	var failures []error
	for key, value := range values {
		r, err := parseRecord(key, value)
		if err != nil {
			failures = append(failures, err)
		} else if r.At < before.Unix() {
			old = append(old, r)
		}
	}
	slices.SortFunc(old, func(a, b record) int { return int(a.At - b.At) })
	for _, r := range old {
		if err := ctx.Err(); err != nil {
			return removed, err
		}
		switch err := removeUnchanged(open, r); {
		case err == nil:
			removed++
		case !errors.Is(err, ErrGone) && !errors.Is(err, ErrChanged):
			failures = append(failures, err)
			continue // the next call tries again
		}
		// A file that is no longer as it was received is not ours any more.
		failures = append(failures, records.SaveRecords(ctx, map[string]string{r.key: ""}))
	}
	return removed, errors.Join(failures...)
}

// removeUnchanged removes a file if it is as it was recorded.
func removeUnchanged(open func(chat string) (*os.Root, error), r record) error {
	root, err := open(r.chat)
	if errors.Is(err, fs.ErrNotExist) {
		return ErrGone
	}
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // it was only read
	f, err := openNoFollow(root, r.name)
	if err != nil {
		return err
	}
	defer f.Close()
	before, err := stampOf(f)
	if err != nil {
		return err
	}
	if err := verifyContent(f, r.Size, r.SHA256); err != nil {
		return err
	}
	// Reading takes time: the file must still be this one, and unchanged.
	after, err := stampOf(f)
	if err != nil {
		return err
	}
	at, err := root.Lstat(r.name)
	if err != nil {
		return err
	}
	if is, err := f.Stat(); err != nil || !os.SameFile(is, at) || after != before {
		return errors.Join(ErrChanged, err)
	}
	return root.Remove(r.name)
}
