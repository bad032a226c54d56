package sqlite

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/internal/dbfile"
	"nanobot/internal/nofollow"
	"nanobot/internal/sparse"
)

// spool is a folder of folders, each with one file under its own name: <digest of the
// content>-<random>/<name>.
type spool struct {
	dir  string
	room *sparse.DiskSpace
}

func newSpool(dir string) spool { return spool{dir: dir, room: &sparse.DiskSpace{Dir: dir}} }

// fresh begins the name of a folder whose copy is not complete.
const fresh = "new-"

// SaveCopy copies a file into the spool.
func (s *Store) SaveCopy(ctx context.Context, file *os.File, most int64) (string, error) {
	kept, err := s.spool.keep(ctx, file, most, s.now())
	if err != nil {
		return "", fmt.Errorf("keep a copy of %s: %w", file.Name(), markUnavailable(err))
	}
	return kept, nil
}

func (s spool) keep(ctx context.Context, src *os.File, most int64, now time.Time) (string, error) {
	began := time.Now()
	before, err := src.Stat()
	if err == nil {
		err = named(src.Name(), before)
	}
	switch {
	case err != nil:
		return "", err
	case before.Size() == 0: // networks refuse empty files
		return "", store.ErrChanged
	case most > 0 && before.Size() > most:
		return "", store.ErrTooLarge
	}
	random := rand.Text()[:16]
	folder := filepath.Join(s.dir, fresh+random)
	if err := os.Mkdir(folder, 0o700); err != nil {
		return "", err
	}
	base := filepath.Base(src.Name())
	digest, err := s.duplicate(ctx, src, before.Size(), filepath.Join(folder, base))
	if err == nil {
		err = unchanged(ctx, src, before, began, digest)
	}
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(folder))
	}
	kept := filepath.Join(s.dir, digest+"-"+random)
	if err := s.shelve(folder, kept, now); err != nil {
		return "", errors.Join(err, os.RemoveAll(folder), os.RemoveAll(kept))
	}
	return filepath.Base(kept) + "/" + base, nil
}

// named returns an error if a file has lost its name: the agent that removed or replaced it does
// not want it sent any more. A link on the way, which may be new, gives the same error whatever it
// leads to: the person who reads the reason must not learn what the agent may not see.
func named(name string, file fs.FileInfo) error {
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

// coarse is more than the grain of the file system's clock: a file that changes again within it has
// the same time as before.
const coarse = 20 * time.Millisecond

// unchanged reports store.ErrChanged if a file is not as it was before it was copied. One that had
// only just been made when that began is read again, because its time would not tell.
func unchanged(ctx context.Context, src *os.File, before os.FileInfo, began time.Time, digest string) error {
	after, err := src.Stat()
	if err != nil {
		return err
	}
	if after.Size() != before.Size() || !after.ModTime().Equal(before.ModTime()) {
		return store.ErrChanged
	}
	if began.Sub(before.ModTime()) > coarse {
		return nil
	}
	h := sha256.New()
	if err := sparse.Copy(ctx, src, sparse.Options{Size: before.Size(), Digest: h}); err != nil {
		return changed(err)
	}
	if name(h) != digest {
		return store.ErrChanged
	}
	return nil
}

func name(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)[:16]) }

// duplicate copies the first bytes of a file so that they are on disk, and returns a digest of what
// the copy holds. Nothing is written that the disk has no room for.
func (s spool) duplicate(ctx context.Context, src *os.File, size int64, path string) (string, error) {
	dst, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	if reflink(dst, src) {
		// The file may have grown since it was looked at.
		err = errors.Join(dst.Truncate(size), sparse.Copy(ctx, dst, sparse.Options{Size: size, Digest: h}))
	} else {
		err = s.room.Copy(ctx, dst, src, size, h)
	}
	if err == nil {
		err = dst.Sync()
	}
	return name(h), errors.Join(changed(err), dst.Close())
}

// changed says in the store's words that a file changed.
func changed(err error) error {
	if errors.Is(err, sparse.ErrChanged) {
		return store.ErrChanged
	}
	return err
}

// shelve gives a complete copy its final name, on disk. Its age is told by our clock.
func (s spool) shelve(folder, kept string, now time.Time) error {
	if err := dbfile.SyncFolder(folder); err != nil {
		return err
	}
	if err := os.Chtimes(folder, now, now); err != nil {
		return err
	}
	if err := os.Rename(folder, kept); err != nil {
		return err
	}
	return dbfile.SyncFolder(s.dir)
}

// Fetch returns the path of a copy.
func (s *Store) Fetch(_ context.Context, name string) (string, error) {
	folder, base, ok := split(name)
	if !ok {
		return "", fmt.Errorf("fetch %q: %w: it is no name of a copy", name, store.ErrState)
	}
	return filepath.Join(s.spool.dir, folder, base), nil
}

// split takes the name of a copy apart. Earlier versions stored its path, which ends in the same.
func split(name string) (folder, base string, ok bool) {
	if filepath.IsAbs(name) {
		dir, base := filepath.Split(name)
		parent, folder := filepath.Split(filepath.Clean(dir))
		if filepath.Base(parent) != spoolFolder {
			return "", "", false
		}
		name = folder + "/" + base
	}
	folder, base, ok = strings.Cut(name, "/")
	return folder, base, ok && !special(folder) && !special(base) && !strings.Contains(base, "/")
}

// special reports whether a name is not one of an entry in a folder.
func special(name string) bool { return name == "" || name == "." || name == ".." }

// content names what is in a copy, the same for every copy of it.
func content(path string) (string, bool) {
	folder, name, ok := split(path)
	if !ok {
		return "", false
	}
	digest, _, _ := strings.Cut(folder, "-")
	return "spool:" + digest + "/" + name, true
}

// folders are those that a part needs until it is settled.
func folders(o channels.Outgoing) []string {
	var needs []string
	for _, f := range o.Media {
		if folder, _, ok := split(f.Path); ok {
			needs = append(needs, folder)
		}
	}
	return needs
}

// has tells whether a copy is there, with something in it.
func (s spool) has(folder string) bool {
	files, err := os.ReadDir(filepath.Join(s.dir, folder))
	return err == nil && len(files) > 0
}

// remove deletes copies that nobody needs. What it cannot delete now, Prune will.
func (s spool) remove(folders []string) {
	for _, f := range folders {
		_ = os.RemoveAll(filepath.Join(s.dir, f))
	}
}

// need keeps copies as long as a delivery is not settled.
func (t *tx) need(folders []string, delivery int64) error {
	for _, f := range folders {
		if err := t.exec("INSERT INTO spooled (folder, delivery) VALUES (?, ?) ON CONFLICT DO NOTHING", f, delivery); err != nil {
			return err
		}
	}
	return nil
}

// release ends a delivery's need of its copies and returns those that no other delivery needs.
func (t *tx) release(delivery int64) ([]string, error) {
	var folders []string
	err := t.each("SELECT folder FROM spooled WHERE delivery = ?", []any{delivery}, func(scan func(...any) error) error {
		folders = append(folders, "")
		return scan(&folders[len(folders)-1])
	})
	if err != nil || len(folders) == 0 {
		return nil, err
	}
	if err := t.exec("DELETE FROM spooled WHERE delivery = ?", delivery); err != nil {
		return nil, err
	}
	return t.unneeded([][]string{folders})
}

// unneeded picks the folders that no delivery needs.
func (t *tx) unneeded(groups [][]string) ([]string, error) {
	var free []string
	for _, folders := range groups {
		for _, f := range folders {
			var one int
			needed, err := t.row("SELECT 1 FROM spooled WHERE folder = ? LIMIT 1", []any{f}, &one)
			if err != nil {
				return nil, err
			}
			if !needed {
				free = append(free, f)
			}
		}
	}
	return free, nil
}
