package sqlite

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
	"strings"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/internal/dbfile"
	"nanobot/internal/diskspace"
	"nanobot/internal/nofollow"
)

// spool is a folder with a folder for each copy, which contains the file under its own name:
// <digest of the content>-<random>/<name>.
type spool struct {
	dir  string
	room *diskspace.Disk
}

func newSpool(dir string) spool { return spool{dir: dir, room: &diskspace.Disk{Dir: dir}} }

// incompletePrefix is the prefix of the folder of a copy that is not complete.
const incompletePrefix = "new-"

// SaveCopy copies a file into the spool.
func (s outbox) SaveCopy(ctx context.Context, file *os.File, limit int64) (string, error) {
	name, err := s.spool.saveCopy(ctx, file, limit, s.now())
	if err != nil {
		return "", fmt.Errorf("copy %s: %w", file.Name(), markUnavailable(err))
	}
	return name, nil
}

func (s spool) saveCopy(ctx context.Context, src *os.File, limit int64, now time.Time) (string, error) {
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
	folder := filepath.Join(s.dir, incompletePrefix+random)
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
	final := filepath.Join(s.dir, digest+"-"+random)
	if err := s.publish(folder, final, now); err != nil {
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
func (s spool) copyAndDigest(ctx context.Context, src *os.File, size int64, path string) (string, error) {
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
func (s spool) publish(folder, final string, now time.Time) error {
	if err := dbfile.SyncFolder(folder); err != nil {
		return err
	}
	if err := os.Chtimes(folder, now, now); err != nil {
		return err
	}
	if err := os.Rename(folder, final); err != nil {
		return err
	}
	return dbfile.SyncFolder(s.dir)
}

// Fetch returns the path of a copy.
func (s outbox) Fetch(_ context.Context, name string) (string, error) {
	folder, base, ok := splitCopyName(name)
	if !ok {
		return "", fmt.Errorf("fetch %q: %w: it is not the name of a copy", name, store.ErrState)
	}
	return filepath.Join(s.spool.dir, folder, base), nil
}

// splitCopyName splits the name of a copy into folder and file. Earlier versions stored its path,
// which ends with the name.
func splitCopyName(name string) (folder, base string, ok bool) {
	if filepath.IsAbs(name) {
		dir, base := filepath.Split(name)
		parent, folder := filepath.Split(filepath.Clean(dir))
		if filepath.Base(parent) != spoolFolder {
			return "", "", false
		}
		name = folder + "/" + base
	}
	folder, base, ok = strings.Cut(name, "/")
	return folder, base, ok && !isSpecialName(folder) && !isSpecialName(base) && !strings.Contains(base, "/")
}

// isSpecialName reports whether a name cannot be that of a folder's entry.
func isSpecialName(name string) bool { return name == "" || name == "." || name == ".." }

// contentName returns a name that is the same for all copies of the same content.
func contentName(path string) (string, bool) {
	folder, name, ok := splitCopyName(path)
	if !ok {
		return "", false
	}
	digest, _, _ := strings.Cut(folder, "-")
	return "spool:" + digest + "/" + name, true
}

// copyFolders returns the folders of the copies among the files of a part. The part needs them
// until it is settled.
func copyFolders(files []channels.File) []string {
	var needs []string
	for _, f := range files {
		if folder, _, ok := splitCopyName(f.Path); ok {
			needs = append(needs, folder)
		}
	}
	return needs
}

// hasCopy reports whether a copy exists.
func (s spool) hasCopy(folder string) bool {
	files, err := os.ReadDir(filepath.Join(s.dir, folder))
	return err == nil && len(files) > 0
}

// removeCopies deletes copies. Prune deletes those that cannot be deleted now.
func (s spool) removeCopies(folders []string) {
	for _, f := range folders {
		_ = os.RemoveAll(filepath.Join(s.dir, f))
	}
}

// referenceCopies stores that a delivery needs copies until it is settled.
func referenceCopies(t *tx, folders []string, delivery int64) {
	for _, f := range folders {
		t.exec("INSERT INTO spooled (folder, delivery) VALUES (?, ?) ON CONFLICT DO NOTHING", f, delivery)
	}
}

// dereferenceCopies removes the references of a delivery to its copies, and returns the copies that
// no other delivery needs.
func dereferenceCopies(t *tx, delivery int64) []string {
	folders := queryAllTx(t, column[string], "SELECT folder FROM spooled WHERE delivery = ?", delivery)
	t.exec("DELETE FROM spooled WHERE delivery = ?", delivery)
	return unreferencedCopies(t, folders)
}

// unreferencedCopies returns the copies that no delivery needs.
func unreferencedCopies(t *tx, folders []string) (free []string) {
	for _, f := range folders {
		if !t.exists("SELECT 1 FROM spooled WHERE folder = ? LIMIT 1", f) {
			free = append(free, f)
		}
	}
	return free
}
