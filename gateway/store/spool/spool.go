// Package spool copies files that are to be sent into a folder, so that the agent may overwrite or
// delete the originals. It does not know which copies are needed.
package spool

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/internal/dbfile"
	"nanobot/internal/diskspace"
	"nanobot/internal/nofollow"
)

var _ store.Spool = (*Spool)(nil)

// Spool is a folder with a folder for each copy, which contains the file under its own name:
// <digest of the content>-<random>/<name>.
type Spool struct {
	Dir  string
	room *diskspace.Disk
	now  func() time.Time
}

// Name is the name of the spool's folder in a state.
const Name = "spool"

// New returns the spool in a folder. The clock measures the age of copies.
func New(dir string, now func() time.Time) *Spool {
	return &Spool{Dir: dir, room: &diskspace.Disk{Dir: dir}, now: now}
}

// incompletePrefix is the prefix of the folder of a copy that is not complete.
const incompletePrefix = "new-"

// SaveCopy copies a file into the spool.
func (s *Spool) SaveCopy(ctx context.Context, file *os.File, limit int64) (string, error) {
	name, err := s.saveCopy(ctx, file, limit)
	if err != nil {
		return "", fmt.Errorf("copy %s: %w", file.Name(), markUnavailable(err))
	}
	return name, nil
}

func (s *Spool) saveCopy(ctx context.Context, src *os.File, limit int64) (string, error) {
	began := time.Now()
	before, err := src.Stat()
	if err == nil && filepath.IsAbs(src.Name()) {
		err = checkName(src.Name(), before)
	}
	switch {
	case err != nil:
		return "", err
	case before.Size() == 0: // networks refuse empty files
		return "", store.ErrChanged
	case limit > 0 && before.Size() > limit:
		return "", store.ErrTooLarge
	}
	random := rand.Text()[:16]
	folder := filepath.Join(s.Dir, incompletePrefix+random)
	if err := os.Mkdir(folder, 0o700); err != nil {
		return "", err
	}
	base := filepath.Base(src.Name())
	digest, err := s.copyAndDigest(ctx, src, before.Size(), filepath.Join(folder, base))
	if err == nil {
		err = checkUnchanged(ctx, src, before, began, digest)
	}
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(folder))
	}
	final := filepath.Join(s.Dir, digest+"-"+random)
	if err := s.publish(folder, final); err != nil {
		return "", errors.Join(err, os.RemoveAll(folder), os.RemoveAll(final))
	}
	return filepath.Base(final) + "/" + base, nil
}

// checkName returns an error if the file's path leads to another file or to none: the agent that
// removed or replaced the file does not want it sent. A symbolic link in the path, which may be
// new, gives the same error whatever its target is, because the person who reads the error must not
// learn anything about files that the agent may not see.
func checkName(name string, file fs.FileInfo) error {
	at, err := nofollow.Stat(name)
	switch {
	case err != nil:
		return err
	case !at.Mode().IsRegular():
		return errors.New("it is not a regular file")
	case !os.SameFile(at, file):
		return store.ErrChanged
	}
	return nil
}

// timestampGrain is more than the resolution of file times: a file that changes twice within it may
// have the same time after both changes.
const timestampGrain = 20 * time.Millisecond

// checkUnchanged returns store.ErrChanged if a file has changed since before. If the file was
// written within timestampGrain before the copy began, its time proves nothing, so its content is
// read again.
func checkUnchanged(ctx context.Context, src *os.File, before os.FileInfo, began time.Time, digest string) error {
	after, err := src.Stat()
	if err != nil {
		return err
	}
	if after.Size() != before.Size() || !after.ModTime().Equal(before.ModTime()) {
		return store.ErrChanged
	}
	if began.Sub(before.ModTime()) > timestampGrain {
		return nil
	}
	h := sha256.New()
	if err := diskspace.Read(ctx, src, before.Size(), h); err != nil {
		return markChanged(err)
	}
	if digestText(h) != digest {
		return store.ErrChanged
	}
	return nil
}

func digestText(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)[:16]) }

// copyAndDigest copies the first bytes of a file, syncs the copy, and returns the digest of its
// content. It writes nothing if the disk has too little room.
func (s *Spool) copyAndDigest(ctx context.Context, src *os.File, size int64, path string) (string, error) {
	dst, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	if err = s.room.Copy(ctx, dst, src, size, h); err == nil {
		err = dst.Sync()
	}
	return digestText(h), errors.Join(markChanged(err), dst.Close())
}

// markChanged turns the error of a file that was truncated into store.ErrChanged.
func markChanged(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return store.ErrChanged
	}
	return err
}

// publish gives a complete copy its final name and syncs it. The time of its folder is set by the
// store's clock, which also measures its age.
func (s *Spool) publish(folder, final string) error {
	now := s.now()
	if err := dbfile.SyncFolder(folder); err != nil {
		return err
	}
	if err := os.Chtimes(folder, now, now); err != nil {
		return err
	}
	if err := os.Rename(folder, final); err != nil {
		return err
	}
	return dbfile.SyncFolder(s.Dir)
}

// Fetch returns the path of a copy.
func (s *Spool) Fetch(_ context.Context, name string) (string, error) {
	folder, base, ok := splitCopyName(name)
	if !ok {
		return "", fmt.Errorf("fetch %q: %w: it is not the name of a copy", name, store.ErrState)
	}
	return filepath.Join(s.Dir, folder, base), nil
}

// splitCopyName splits the name of a copy into folder and file. Earlier versions stored its path,
// which ends with the name.
func splitCopyName(name string) (folder, base string, ok bool) {
	if filepath.IsAbs(name) {
		dir, base := filepath.Split(name)
		parent, folder := filepath.Split(filepath.Clean(dir))
		if filepath.Base(parent) != Name {
			return "", "", false
		}
		name = folder + "/" + base
	}
	folder, base, ok = strings.Cut(name, "/")
	return folder, base, ok && !isSpecialName(folder) && !isSpecialName(base) && !strings.Contains(base, "/")
}

// isSpecialName reports whether a name cannot be that of a folder's entry.
func isSpecialName(name string) bool { return name == "" || name == "." || name == ".." }

// ContentName returns a name that is the same for all copies of the same content.
func ContentName(path string) (string, bool) {
	folder, name, ok := splitCopyName(path)
	if !ok {
		return "", false
	}
	digest, _, _ := strings.Cut(folder, "-")
	return "spool:" + digest + "/" + name, true
}

// Folders returns the folders of the copies among the files of a part. The part needs them
// until it is settled.
func Folders(files []channels.File) []string {
	var needs []string
	for _, f := range files {
		if folder, _, ok := splitCopyName(f.Path); ok {
			needs = append(needs, folder)
		}
	}
	return needs
}

// Has reports whether a copy exists.
func (s *Spool) Has(folder string) bool {
	files, err := os.ReadDir(filepath.Join(s.Dir, folder))
	return err == nil && len(files) > 0
}

// Remove deletes copies. RemoveUnused deletes those that cannot be deleted now.
func (s *Spool) Remove(folders []string) {
	for _, f := range folders {
		_ = os.RemoveAll(filepath.Join(s.Dir, f))
	}
}

// unusedCopyAge is the age at which a copy without a delivery is deleted. Younger copies may belong
// to an outbound message that is about to be stored.
const unusedCopyAge = time.Hour

// RemoveUnused deletes old copies that no delivery needs.
func (s *Spool) RemoveUnused(isNeeded func(folder string) (bool, error)) error {
	before := s.now().Add(-unusedCopyAge)
	d, err := os.Open(s.Dir)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	for {
		entries, err := d.ReadDir(100)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, e := range entries {
			info, err := e.Info()
			if err != nil || !info.ModTime().Before(before) {
				continue // already deleted, or too young
			}
			needed, err := isNeeded(e.Name())
			if err != nil {
				return err
			}
			if !needed {
				s.Remove([]string{e.Name()})
			}
		}
	}
}

// temporaryErrnos are the errors of a disk that cannot be written to at the moment, or of exhausted
// resources.
var temporaryErrnos = []syscall.Errno{
	syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EIO,
	syscall.EMFILE, syscall.ENFILE, syscall.EAGAIN, syscall.ENOMEM, syscall.ETXTBSY,
}

// markUnavailable marks an error of a copy as store.ErrUnavailable if the copy may succeed later.
func markUnavailable(err error) error {
	is := func(errno syscall.Errno) bool { return errors.Is(err, errno) }
	if !errors.Is(err, store.ErrNoRoom) && slices.ContainsFunc(temporaryErrnos, is) {
		return store.Mark(err, store.ErrUnavailable)
	}
	return err
}
