// Package backup writes the state of a bot to one file, and restores it. It does not know what the
// messages in a state mean, and it neither starts nor stops the daemon.
package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"nanobot/cmd/nanobot/exit"
	"nanobot/cmd/nanobot/format"
	"nanobot/cmd/nanobot/state"
	"nanobot/cmd/nanobot/trust"
	"nanobot/config"
	"nanobot/gateway/store/sqlite"
	"nanobot/internal/dbfile"
)

// Options name the state of a backup or restore.
type Options struct {
	Config  *config.Config
	Version string // of nanobot; it is written into the backup
	Parts   []state.Part
	Stderr  io.Writer
}

// WriteFile writes a backup to a file. It writes under another name and renames the file once it is
// complete and on disk. With force it replaces a file that exists.
func WriteFile(ctx context.Context, o Options, path string, force bool) (err error) {
	path, err = filepath.Abs(path)
	if err != nil {
		return err
	}
	if err := checkOutside(o, path); err != nil {
		return err
	}
	if _, err := os.Lstat(path); err == nil && !force {
		return fmt.Errorf("%s exists already; choose another name, or use --force", path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*") // CreateTemp sets mode 0600
	if err != nil {
		return fmt.Errorf("write the backup: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, ignore(fs.ErrNotExist, os.Remove(f.Name())))
		}
	}()
	if err := errors.Join(writeAsOwner(ctx, o, f), f.Sync(), f.Close()); err != nil {
		return err
	}
	info, err := os.Stat(f.Name())
	if err != nil {
		return err
	}
	if force {
		err = os.Rename(f.Name(), path)
	} else {
		err = renameNew(f.Name(), path)
	}
	if err = errors.Join(err, dbfile.SyncFolder(filepath.Dir(path))); err != nil {
		return fmt.Errorf("write the backup: %w", err)
	}
	fmt.Fprintf(o.Stderr, "Wrote %s (%s). It contains messages and keys, so keep it safe.\n", path,
		format.PreciseSize(info.Size()))
	return nil
}

// checkOutside refuses a file that would replace a part of the state.
func checkOutside(o Options, path string) error {
	stateDir := o.Config.Gateway.StateDir
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("write the backup: %w", err)
	}
	if real, err := filepath.EvalSymlinks(stateDir); err == nil {
		stateDir = real
	}
	rel, err := filepath.Rel(stateDir, filepath.Join(dir, filepath.Base(path)))
	if err != nil {
		return nil //nolint:nilerr // it is elsewhere
	}
	first, rest, _ := strings.Cut(rel, string(filepath.Separator))
	for _, p := range o.Parts {
		if first == p.Name && (first != sqlite.Copies || rest == "") {
			return fmt.Errorf("%s belongs to the state; choose a name outside of %s", path, stateDir)
		}
	}
	return nil
}

// ignore returns an error unless it is the harmless one.
func ignore(harmless, err error) error {
	if errors.Is(err, harmless) {
		return nil
	}
	return err
}

// renameNew renames a file unless its new name is taken.
func renameNew(from, to string) error {
	err := os.Link(from, to)
	if err == nil {
		return os.Remove(from)
	}
	if errors.Is(err, fs.ErrExist) {
		return err
	}
	return os.Rename(from, to) // a file system without links
}

// writeAsOwner writes a backup to a file. As root it runs this program as a child process, which
// permanently drops root's privileges. The backup file still belongs to root.
func writeAsOwner(ctx context.Context, o Options, f *os.File) error {
	owner, err := trust.StateOwner(o.Config)
	if err != nil {
		return err
	}
	if owner.UID == 0 {
		return Write(ctx, o, f)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self, "backup", "--config", o.Config.File(), "-")
	cmd.Args[0] = "nanobot" // whatever the file is called
	cmd.Stdout, cmd.Stderr = f, o.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(unix.SIGTERM) }
	err = cmd.Run()
	var ended *exec.ExitError
	if errors.As(err, &ended) && ended.ExitCode() > 0 {
		return exit.Error{Status: ended.ExitCode()} // the child has printed the reason
	}
	return err
}

// Write writes a backup to a writer, as the owner of the state: root permanently drops its
// privileges.
func Write(ctx context.Context, o Options, w io.Writer) error {
	if err := trust.EnterState(o.Config, o.Stderr); err != nil {
		return err
	}
	missing, err := archive{o.Config.Gateway.StateDir, o.Version, o.Parts}.write(ctx, w)
	if err != nil {
		return state.Explain(o.Config, fmt.Errorf("make the backup: %w", err))
	}
	if missing > 0 {
		answers := "answers"
		if missing == 1 {
			answers = "answer"
		}
		fmt.Fprintf(o.Stderr, "warning: the files of %d undelivered %s are missing from the state\n", missing, answers)
	}
	return nil
}
