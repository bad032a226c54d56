package backup

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"nanobot/channels/web/history"
	"nanobot/cmd/nanobot/exit"
	"nanobot/cmd/nanobot/state"
	"nanobot/cmd/nanobot/systemd"
	"nanobot/cmd/nanobot/trust"
	"nanobot/gateway/store"
	"nanobot/gateway/store/sqlite"
	"nanobot/internal/dbfile"
)

// Restore replaces the state by a backup. The file is opened before root becomes the owner of the
// state.
func Restore(ctx context.Context, o Options, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read the backup: %w", err)
	}
	defer f.Close()
	owner, err := trust.StateOwner(o.Config)
	if err != nil {
		return err
	}
	if b, ok := systemd.FindBot(o.Config.File()); ok && b.IsService() && !owner.Exists && os.Geteuid() == 0 {
		return fmt.Errorf("there is no %s yet, which systemd creates: start %s once, stop it, and restore again",
			o.Config.Gateway.StateDir, b.Unit())
	}
	if err := trust.BecomeOwner(o.Config, owner, o.Stderr); err != nil {
		return err
	}
	oldState, err := archive{o.Config.Gateway.StateDir, o.Version, o.Parts}.restore(ctx, f)
	switch {
	case errors.Is(err, store.ErrLocked):
		return fmt.Errorf("nothing was restored: %w", err)
	case errors.Is(err, dbfile.ErrDamaged), errors.Is(err, dbfile.ErrNewer):
		return exit.Error{
			Status: exit.Config,
			Err:    fmt.Errorf("%s was not restored, and the state is unchanged: %w", path, err),
		}
	case err != nil:
		return fmt.Errorf("restore %s: %w", path, err)
	}
	fmt.Fprintf(o.Stderr,
		"Restored. The old state is in %s; remove it when everything works. Now start the daemon again.\n", oldState)
	return nil
}

// restore replaces the state by a backup. It returns the folder that the old state was moved to.
func (a archive) restore(ctx context.Context, from io.Reader) (oldState string, err error) {
	if err := os.MkdirAll(a.dir, 0o700); err != nil {
		return "", err
	}
	unlock, err := sqlite.Lock(a.dir)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	stage, err := newStage(a.dir)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, stage.close()) }()
	whole, err := a.unpack(ctx, from, stage.path)
	if err != nil {
		return "", err
	}
	err = sqlite.CheckCopy(ctx, filepath.Join(stage.path, sqlite.Database))
	if errors.Is(err, fs.ErrNotExist) {
		return "", dbfile.Damaged("the backup has no %s", sqlite.Database)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", sqlite.Database, err)
	}
	err = history.CheckCopy(ctx, state.WebHistory(stage.path))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s: %w", filepath.Join(state.Web, history.Database), err)
	}
	return a.replaceState(stage.path, whole)
}

// replaceState moves the staged files into the state. A marker file exists meanwhile, so that no
// daemon uses a half-replaced state.
func (a archive) replaceState(from string, whole bool) (oldState string, err error) {
	mark := filepath.Join(a.dir, sqlite.Unfinished)
	if err := ignore(fs.ErrExist, storeFile(mark, strings.NewReader("run nanobot restore again\n"))); err != nil {
		return "", err
	}
	oldState = filepath.Join(a.dir, sqlite.Copies, "replaced-"+time.Now().UTC().Format("20060102T150405.000000Z"))
	if err := errors.Join(dbfile.SyncFolder(a.dir), os.Mkdir(oldState, 0o700)); err != nil {
		return "", err
	}
	for _, p := range a.parts {
		if whole && p.Replaced() || strings.HasPrefix(p.Name, sqlite.Database) && p.Replaced() {
			if err := ignore(fs.ErrNotExist, os.Rename(filepath.Join(a.dir, p.Name),
				filepath.Join(oldState, p.Name))); err != nil {
				return "", err
			}
		}
	}
	for _, p := range a.parts {
		if err := ignore(fs.ErrNotExist, os.Rename(filepath.Join(from, p.Name), filepath.Join(a.dir, p.Name))); err != nil {
			return "", err
		}
	}
	return oldState, errors.Join(dbfile.SyncFolder(oldState), dbfile.SyncFolder(a.dir), os.Remove(mark),
		dbfile.SyncFolder(a.dir))
}

// unpack extracts a backup. It also accepts a single database, which is not a whole state.
func (a archive) unpack(ctx context.Context, from io.Reader, to string) (whole bool, err error) {
	r := bufio.NewReader(from)
	if header, _ := r.Peek(16); bytes.Equal(header, []byte("SQLite format 3\x00")) {
		return false, storeFile(filepath.Join(to, sqlite.Database), r)
	}
	zip, err := gzip.NewReader(r)
	if errors.Is(err, gzip.ErrHeader) || errors.Is(err, io.EOF) {
		return false, dbfile.Damaged("it is not a file made by nanobot backup")
	}
	if err != nil {
		return false, dbfile.Damaged("it is not a file made by nanobot backup: %w", err)
	}
	t := tar.NewReader(zip)
	if err := readManifest(t); err != nil {
		return false, err
	}
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return false, dbfile.Damaged("the backup is cut short or damaged: %w", err)
		}
		if err := errors.Join(ctx.Err(), a.unpackFile(t, h, to)); err != nil {
			return false, err
		}
	}
	if _, err := io.Copy(io.Discard, zip); err != nil { // checks the gzip checksum
		return false, dbfile.Damaged("the backup is cut short or damaged: %w", err)
	}
	return true, nil
}

func readManifest(t *tar.Reader) error {
	h, err := t.Next()
	if err != nil || h.Name != ManifestFile {
		return dbfile.Damaged("it is not a file made by nanobot backup")
	}
	var m manifest
	if err := json.NewDecoder(io.LimitReader(t, 1<<16)).Decode(&m); err != nil {
		return dbfile.Damaged("the backup is cut short or damaged: %w", err)
	}
	if m.Format > manifestFormat {
		return fmt.Errorf("%w (%s)", dbfile.ErrNewer, m.Nanobot)
	}
	return nil
}

// unpackFile extracts one file. It refuses every name that does not belong to a backup.
func (a archive) unpackFile(t *tar.Reader, h *tar.Header, to string) error {
	name := filepath.FromSlash(h.Name)
	first, _, _ := strings.Cut(name, string(filepath.Separator))
	if h.Typeflag != tar.TypeReg || !filepath.IsLocal(name) || filepath.Clean(name) != name || !a.contains(first) {
		return dbfile.Damaged("the backup contains %q, which does not belong there", h.Name)
	}
	// A large file of zeros is small in an archive and large on disk.
	if err := checkFree(to, h.Size); err != nil {
		return err
	}
	path := filepath.Join(to, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	content := &errorRecorder{Reader: t}
	err := storeFile(path, content)
	if content.err != nil {
		return dbfile.Damaged("the backup is cut short or damaged: %w", content.err)
	}
	return err
}

// errorRecorder records the error of a reader, to tell a damaged backup from a full disk.
type errorRecorder struct {
	io.Reader
	err error
}

func (s *errorRecorder) Read(b []byte) (int, error) {
	n, err := s.Reader.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// contains reports whether a backup may contain the part of the state with this name.
func (a archive) contains(name string) bool {
	for _, p := range a.parts {
		if p.Name == name {
			return p.Copy == state.Plain || p.Copy == state.Snapshot
		}
	}
	return false
}
