package main

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
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"nanobot/channels/web/history"
	"nanobot/cmd/nanobot/exit"
	"nanobot/cmd/nanobot/state"
	"nanobot/cmd/nanobot/systemd"
	"nanobot/cmd/nanobot/trust"
	"nanobot/config"
	"nanobot/gateway/store"
	"nanobot/gateway/store/sqlite"
	"nanobot/internal/dbfile"
)

func newRestore(std stdio) *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use:   "restore [flags] FILE",
		Short: "Put a backup into the place of the state, while the daemon does not run",
		Long: `Restore reads a file of "nanobot backup", checks all of it, and puts it into the place of the state. What was there is moved into a folder of
stateDir/backups, and nothing is deleted. It also takes one of the copies in stateDir/backups that were made before the database's schema
changed, for who goes back to the nanobot before: then only the messages are replaced. Stop the daemon first.

What was sent since the backup may be sent again; what was received since is not in it.

Exit status: 0 restored, 1 not restored, 78 bad config, or a file that is damaged or of a newer nanobot.`,
		Example: "  systemctl stop nanobot@mybot; nanobot restore --config /etc/nanobot/mybot/config.json mybot.tar.gz; systemctl start nanobot@mybot",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			context.AfterFunc(ctx, stop) // a second signal ends what a pipe that nobody writes holds up
			cfg, err := loadBesideDaemon(path)
			if err != nil {
				return err
			}
			return restoreFile(ctx, cfg, args[0], std)
		},
	}
	cmd.Flags().StringVarP(&path, "config", "c", "", "config file (default: $NANOBOT_CONFIG, else config.json here)")
	_ = cmd.MarkFlagFilename("config", "json")
	return cmd
}

// restoreFile restores a file, which is opened before root becomes the user whom the state belongs to.
func restoreFile(ctx context.Context, cfg *config.Config, path string, std stdio) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read the backup: %w", err)
	}
	defer f.Close()
	h, err := trust.StateOwner(cfg)
	if err != nil {
		return err
	}
	if b, ok := systemd.FindBot(cfg.File()); ok && b.IsService() && !h.Exists && os.Geteuid() == 0 {
		return fmt.Errorf("there is no %s, which systemd makes: start %s once, stop it, and restore again", cfg.Gateway.StateDir, b.Unit())
	}
	if err := trust.BecomeOwner(cfg, h, std.err); err != nil {
		return err
	}
	aside, err := archive{dir: cfg.Gateway.StateDir}.restore(ctx, f)
	switch {
	case errors.Is(err, store.ErrLocked):
		return fmt.Errorf("stop the daemon first: %w", err)
	case errors.Is(err, dbfile.ErrDamaged), errors.Is(err, dbfile.ErrNewer):
		return exit.Error{Status: exit.Config, Err: fmt.Errorf("%s is not restored, and the state is as it was: %w", path, err)}
	case err != nil:
		return fmt.Errorf("restore %s: %w", path, err)
	}
	fmt.Fprintf(std.err, "Restored. What was there before is in %s; remove it when all is well. Start the daemon again.\n", aside)
	return nil
}

// restore puts a backup into the place of the state. It returns where the state went.
func (a archive) restore(ctx context.Context, from io.Reader) (aside string, err error) {
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
	whole, err := unpack(ctx, from, stage.path)
	if err != nil {
		return "", err
	}
	if err := sqlite.CheckCopy(ctx, filepath.Join(stage.path, sqlite.Database)); err != nil {
		return "", fmt.Errorf("%s: %w", sqlite.Database, err)
	}
	err = history.CheckCopy(ctx, state.WebHistory(stage.path))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s: %w", filepath.Join(state.Web, history.Database), err)
	}
	return a.swap(stage.path, whole)
}

// swap puts what is staged into the place of the state. While it does, a file says so, which keeps everybody from taking what is there for
// a state.
func (a archive) swap(from string, whole bool) (aside string, err error) {
	mark := filepath.Join(a.dir, sqlite.Unfinished)
	if err := ignoreExisting(storeFile(mark, strings.NewReader("run nanobot restore again\n"))); err != nil {
		return "", err
	}
	aside = filepath.Join(a.dir, sqlite.Copies, "replaced-"+time.Now().UTC().Format("20060102T150405.000000Z"))
	if err := errors.Join(dbfile.SyncFolder(a.dir), os.Mkdir(aside, 0o700)); err != nil {
		return "", err
	}
	for _, p := range state.Parts {
		if whole && p.Replaced() || strings.HasPrefix(p.Name, sqlite.Database) && p.Replaced() {
			if err := ignoreMissing(os.Rename(filepath.Join(a.dir, p.Name), filepath.Join(aside, p.Name))); err != nil {
				return "", err
			}
		}
	}
	for _, p := range state.Parts {
		if err := ignoreMissing(os.Rename(filepath.Join(from, p.Name), filepath.Join(a.dir, p.Name))); err != nil {
			return "", err
		}
	}
	return aside, errors.Join(dbfile.SyncFolder(aside), dbfile.SyncFolder(a.dir), os.Remove(mark), dbfile.SyncFolder(a.dir))
}

func ignoreExisting(err error) error {
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// unpack takes a backup apart, or a database alone, which is not a whole state.
func unpack(ctx context.Context, from io.Reader, to string) (whole bool, err error) {
	r := bufio.NewReader(from)
	if begin, _ := r.Peek(16); bytes.Equal(begin, []byte("SQLite format 3\x00")) {
		return false, storeFile(filepath.Join(to, sqlite.Database), r)
	}
	zip, err := gzip.NewReader(r)
	if err != nil {
		return false, dbfile.Damaged("it is no file of nanobot backup: %w", err)
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
		if err := errors.Join(ctx.Err(), unpackFile(t, h, to)); err != nil {
			return false, err
		}
	}
	if _, err := io.Copy(io.Discard, zip); err != nil { // with its checksum
		return false, dbfile.Damaged("the backup is cut short or damaged: %w", err)
	}
	return true, nil
}

func readManifest(t *tar.Reader) error {
	h, err := t.Next()
	if err != nil || h.Name != manifestFile {
		return dbfile.Damaged("it is no file of nanobot backup")
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

// unpackFile takes one file out. It writes nothing but files that belong into a backup, wherever their names lead.
func unpackFile(t *tar.Reader, h *tar.Header, to string) error {
	name := filepath.FromSlash(h.Name)
	first, _, _ := strings.Cut(name, string(filepath.Separator))
	if h.Typeflag != tar.TypeReg || !filepath.IsLocal(name) || filepath.Clean(name) != name || !inBackups(first) {
		return dbfile.Damaged("the backup holds %q, which does not belong there", h.Name)
	}
	// A long file of zeros takes no room in an archive, but does here.
	if err := checkFree(to, h.Size); err != nil {
		return err
	}
	path := filepath.Join(to, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	content := &source{Reader: t}
	err := storeFile(path, content)
	if content.err != nil {
		return dbfile.Damaged("the backup is cut short or damaged: %w", content.err)
	}
	return err
}

// source notes why a reader failed, to tell a damaged backup from a full disk.
type source struct {
	io.Reader
	err error
}

func (s *source) Read(b []byte) (int, error) {
	n, err := s.Reader.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// inBackups tells whether a part of the state with this name belongs into a backup.
func inBackups(name string) bool {
	for _, p := range state.Parts {
		if p.Name == name {
			return p.Copy == state.Plain || p.Copy == state.Snapshot
		}
	}
	return false
}
