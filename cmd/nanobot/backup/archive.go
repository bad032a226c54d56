package backup

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"nanobot/channels/web"
	"nanobot/channels/web/history"
	"nanobot/cmd/nanobot/format"
	"nanobot/cmd/nanobot/state"
	"nanobot/gateway/store/sqlite"
)

// archive writes and restores backups of the state in a folder.
type archive struct {
	dir     string
	version string // of nanobot
	parts   []state.Part
}

// manifest is the first file of a backup. It has the format and the version.
type manifest struct {
	Format  int       `json:"format"`
	Nanobot string    `json:"nanobot"` // the version that wrote it
	Created time.Time `json:"created"`
}

const (
	// ManifestFile is the name of the first file in a backup.
	ManifestFile   = "nanobot-backup.json"
	manifestFormat = 1
	// stagePrefix is the prefix of the temporary folders of a backup or restore.
	stagePrefix = ".staged-"
	// diskHeadroom is how many bytes of disk space a backup leaves free for the daemon.
	diskHeadroom = 64 << 20
	// stageTries is how often a folder is read again after an entry was renamed or removed
	// meanwhile.
	stageTries = 20
)

// write writes a backup. It returns how many undelivered answers lack their files.
func (a archive) write(ctx context.Context, w io.Writer) (missing int, err error) {
	stage, err := newStage(a.dir)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, stage.close()) }()
	if err := a.checkSpace(stage.path); err != nil {
		return 0, err
	}
	for _, p := range a.parts {
		if p.Copy == state.Plain {
			if err := stageTree(filepath.Join(a.dir, p.Name), filepath.Join(stage.path, p.Name)); err != nil {
				return 0, err
			}
		}
	}
	var lacking, media []string
	copyStore := func() (knows func(key string) bool, err error) {
		if lacking, err = sqlite.Snapshot(ctx, a.dir, stage.path); err != nil {
			return nil, err
		}
		keys, err := sqlite.DeliveryKeys(ctx, stage.path, web.Name)
		return func(key string) bool { return keys[key] }, err
	}
	if _, err := os.Lstat(filepath.Join(a.dir, state.Web)); err == nil {
		if err := os.Mkdir(filepath.Join(stage.path, state.Web), 0o700); err != nil {
			return 0, err
		}
		media, err = history.Snapshot(ctx, filepath.Join(a.dir, state.Web), filepath.Join(stage.path, state.Web), copyStore)
		if errors.Is(err, fs.ErrNotExist) { // the web was never used
			_, err = copyStore()
		}
		if err != nil {
			return 0, err
		}
	} else if _, err := copyStore(); err != nil {
		return 0, err
	}
	return len(lacking), a.pack(ctx, w, stage.path, media)
}

// checkSpace refuses a backup that would fill the daemon's disk.
func (a archive) checkSpace(stage string) error {
	need := int64(diskHeadroom)
	for _, path := range []string{filepath.Join(a.dir, sqlite.Database), state.WebHistory(a.dir)} {
		if info, err := os.Stat(path); err == nil {
			need += info.Size()
		}
	}
	return checkFree(stage, need)
}

// checkFree refuses to write a number of bytes into a folder whose disk has less space.
func checkFree(folder string, need int64) error {
	var s unix.Statfs_t
	if err := unix.Statfs(folder, &s); err != nil {
		return err
	}
	if free := int64(s.Bavail) * int64(s.Bsize); free < need { //nolint:unconvert // another type elsewhere
		return fmt.Errorf("%s needs %s temporarily, but only %s are free: %w", folder, format.Size(uint64(need)),
			format.Size(uint64(free)), unix.ENOSPC)
	}
	return nil
}

// pack writes the staged files and the files of the web channel to an archive.
func (a archive) pack(ctx context.Context, w io.Writer, stage string, media []string) error {
	zip, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return err
	}
	t := tar.NewWriter(zip)
	about, err := json.Marshal(manifest{manifestFormat, a.version, time.Now().UTC()})
	if err != nil {
		return err
	}
	if err := errors.Join(t.WriteHeader(&tar.Header{
		Name: ManifestFile, Mode: 0o600, Size: int64(len(about)),
		ModTime: time.Now(),
	}), writeAll(t, about)); err != nil {
		return err
	}
	err = filepath.WalkDir(stage, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(stage, path)
		if err != nil {
			return err
		}
		return packFile(ctx, t, path, rel)
	})
	for _, id := range media {
		if err != nil {
			break
		}
		rel := filepath.Join(state.Web, history.Files, filepath.Base(id))
		if err = packFile(ctx, t, filepath.Join(a.dir, rel), rel); errors.Is(err, fs.ErrNotExist) {
			err = nil // it has expired meanwhile
		}
	}
	return errors.Join(err, t.Close(), zip.Close())
}

func writeAll(w io.Writer, b []byte) error {
	_, err := w.Write(b)
	return err
}

// packFile writes one file to an archive.
func packFile(ctx context.Context, t *tar.Writer, path, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", path)
	}
	if err := t.WriteHeader(&tar.Header{
		Name: filepath.ToSlash(name), Mode: 0o600, Size: info.Size(),
		ModTime: info.ModTime(),
	}); err != nil {
		return err
	}
	if _, err := io.CopyN(t, f, info.Size()); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}
