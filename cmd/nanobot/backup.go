package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"nanobot/cmd/nanobot/exit"
	"nanobot/cmd/nanobot/state"
	"nanobot/cmd/nanobot/trust"
	"nanobot/config"
	"nanobot/gateway/store/sqlite"
	"nanobot/internal/dbfile"
)

func newBackup(std stdio) *cobra.Command {
	var path string
	var force bool
	cmd := &cobra.Command{
		Use:   "backup [flags] FILE",
		Short: "Write the state to one file, while the daemon runs",
		Long: `Backup writes a compressed tar archive with everything that "nanobot restore" needs: the messages, what is still to be delivered with its files,
who may talk to the bot, the web's conversations and the key of its sessions. It is of one moment, is checked, and appears as FILE only once it
is complete. It holds what people wrote: keep it as you keep the state. The config, the secrets that it names and the workspace are not in it.
- writes to standard output.

Exit status: 0 written, 1 not written, 78 bad config or a damaged state.`,
		Example: `  nanobot backup /var/backups/mybot-$(date +%F).tar.gz
  nanobot backup - | ssh elsewhere 'cat > mybot.tar.gz'`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			context.AfterFunc(ctx, stop) // a second signal ends what a pipe that nobody reads holds up
			cfg, err := loadBesideDaemon(path)
			if err != nil {
				return err
			}
			if args[0] == "-" {
				return backupTo(ctx, cfg, std.out, std)
			}
			return backupFile(ctx, cfg, args[0], force, std)
		},
	}
	cmd.Flags().StringVarP(&path, "config", "c", "", "config file (default: $NANOBOT_CONFIG, else config.json here)")
	cmd.Flags().BoolVar(&force, "force", false, "replace FILE if it is there")
	_ = cmd.MarkFlagFilename("config", "json")
	return cmd
}

// backupFile writes a backup under another name, and gives it its own once it is complete and on disk.
func backupFile(ctx context.Context, cfg *config.Config, path string, force bool, std stdio) (err error) {
	path, err = filepath.Abs(path)
	if err != nil {
		return err
	}
	if err := besideState(cfg.Gateway.StateDir, path); err != nil {
		return err
	}
	if _, err := os.Lstat(path); err == nil && !force {
		return fmt.Errorf("%s is there already; choose another name, or --force", path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*") // for its owner only
	if err != nil {
		return fmt.Errorf("write the backup: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, ignoreMissing(os.Remove(f.Name())))
		}
	}()
	if err := errors.Join(writeBackup(ctx, cfg, f, std), f.Sync(), f.Close()); err != nil {
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
	fmt.Fprintf(std.err, "%s: %.1f MiB. It holds what people wrote, and keys: keep it safe.\n", path, float64(info.Size())/(1<<20))
	return nil
}

// besideState refuses a file that would take the place of a part of the state.
func besideState(stateDir, path string) error {
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
	for _, p := range state.Parts {
		if first == p.Name && (first != sqlite.Copies || rest == "") {
			return fmt.Errorf("%s belongs to the state; choose a name outside of %s", path, stateDir)
		}
	}
	return nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
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

// writeBackup writes a backup to a file. Root has it made by a process that is whom the state belongs to, for good: the file is root's.
func writeBackup(ctx context.Context, cfg *config.Config, f *os.File, std stdio) error {
	h, err := trust.StateOwner(cfg)
	if err != nil {
		return err
	}
	if h.UID == 0 {
		return backupTo(ctx, cfg, f, std)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self, "backup", "--config", cfg.File(), "-")
	cmd.Args[0] = "nanobot" // whatever the file is called
	cmd.Stdout, cmd.Stderr = f, std.err
	cmd.Cancel = func() error { return cmd.Process.Signal(unix.SIGTERM) }
	err = cmd.Run()
	var ended *exec.ExitError
	if errors.As(err, &ended) && ended.ExitCode() > 0 {
		return exit.Error{Status: ended.ExitCode()} // it has said why
	}
	return err
}

// backupTo makes a backup as the user whom the state belongs to.
func backupTo(ctx context.Context, cfg *config.Config, w io.Writer, std stdio) error {
	if err := trust.EnterState(cfg, std.err); err != nil {
		return err
	}
	missing, err := archive{dir: cfg.Gateway.StateDir}.write(ctx, w)
	if err != nil {
		return state.Explain(cfg, fmt.Errorf("make the backup: %w", err))
	}
	if missing > 0 {
		fmt.Fprintf(std.err, "warning: the files of %d answers that are not delivered yet are missing in the state\n", missing)
	}
	return nil
}
