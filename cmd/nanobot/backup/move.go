package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"nanobot/channels/web/history"
	"nanobot/cmd/nanobot/state"
	"nanobot/gateway/store/postgres"
	"nanobot/gateway/store/spool"
	"nanobot/gateway/store/sqlite"
)

// Move copies a state, whose lock the caller has, into a database, and its files into the folder
// that all members share. folders are those of channels. It returns how much it has copied.
func Move(ctx context.Context, o postgres.Options, from, shared string, folders []string) (
	tables []postgres.Moved, files int, err error,
) {
	sources := []postgres.MoveSource{{Path: filepath.Join(from, sqlite.Database)}}
	path := state.WebHistory(from)
	switch err := history.CheckCopy(ctx, path); {
	case err == nil:
		// The schema must be the newest one.
		h, err := history.Open(filepath.Join(from, state.Web), history.Options{})
		if err == nil {
			err = h.Close()
		}
		if err != nil {
			return nil, 0, err
		}
		sources = append(sources, postgres.MoveSource{
			Path: path, Prefix: history.ServerPrefix, Create: history.ServerTables(),
		})
	case !errors.Is(err, fs.ErrNotExist):
		return nil, 0, fmt.Errorf("%s: %w", path, err)
	}
	tables, err = postgres.Move(ctx, o, sources, func() error {
		for _, part := range append(folders, spool.Name, filepath.Join(state.Web, history.Files)) {
			n, err := copyFolder(ctx, filepath.Join(from, part), filepath.Join(shared, part))
			if files += n; err != nil {
				return err
			}
		}
		return nil
	})
	return tables, files, err
}

// copyFolder copies the regular files in a folder, which need not exist. Files that an earlier
// attempt has copied are replaced.
func copyFolder(ctx context.Context, from, to string) (n int, err error) {
	err = filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && path == from {
			return nil
		}
		if err = errors.Join(err, ctx.Err()); err != nil || !d.IsDir() && !d.Type().IsRegular() {
			return err
		}
		target := filepath.Join(to, strings.TrimPrefix(path, from))
		if d.IsDir() {
			return os.MkdirAll(target, 0o700)
		}
		n++
		return copyMovedFile(path, target)
	})
	return n, err
}

// copyMovedFile copies a file and its time of change, by which old files are found.
func copyMovedFile(from, to string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	info, err := src.Stat()
	if err != nil {
		return err
	}
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	if err == nil {
		err = dst.Sync()
	}
	return errors.Join(err, dst.Close(), os.Chtimes(to, info.ModTime(), info.ModTime()))
}
