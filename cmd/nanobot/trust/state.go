package trust

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"nanobot/config"
	"nanobot/gateway/store/sqlite"
	"nanobot/internal/dbfile"
)

// EnterState permanently drops root's privileges: from then on the process runs as the owner of the
// state, in a chroot if that user cannot enter the folders above. The agent may have put symbolic
// links into the state, which root would follow. It is called after everything else has been read,
// and refuses a state that does not exist yet.
func EnterState(cfg *config.Config, stderr io.Writer) (err error) {
	owner, err := StateOwner(cfg)
	if err != nil {
		return err
	}
	// Files that a command makes would belong to its user, and the daemon could not use them.
	state := cfg.Gateway.StateDir
	if cfg.Gateway.Store != "" {
		return BecomeOwner(cfg, owner, stderr) // the state is in a database
	}
	if err := dbfile.Inspect(filepath.Join(state, sqlite.Database)); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no state in %s: the bot was never started. Start it first", state)
	}
	return BecomeOwner(cfg, owner, stderr)
}

// StateOwner returns the owner of the state if this process is root. For other users the result has
// UID 0, which means that there is no user to switch to.
func StateOwner(cfg *config.Config) (owner Owner, err error) {
	if os.Geteuid() == 0 {
		if owner, err = OwnerOf(cfg.Gateway.StateDir); err != nil {
			return owner, fmt.Errorf("use the state: %w", err)
		}
	}
	return owner, nil
}

// BecomeOwner permanently drops root's privileges: the process continues as the owner of the state.
func BecomeOwner(cfg *config.Config, owner Owner, stderr io.Writer) error {
	if owner.UID == 0 {
		return nil
	}
	state, user := cfg.Gateway.StateDir, UserOf(owner)
	if cfg.Gateway.Store == "" && errors.Is(user.Access(state, unix.X_OK), unix.EACCES) {
		if err := chrootState(cfg, user.UID, stderr); err != nil {
			return fmt.Errorf("chroot to %s: %w", state, err)
		}
	}
	return user.become()
}

// chrootState changes the root of the file system to the state folder, for an owner who cannot
// enter the folders above it, as with DynamicUser=.
func chrootState(cfg *config.Config, uid int, stderr io.Writer) error {
	_ = time.Now().Local().String() // loads the time zone, whose file is outside the chroot
	state := cfg.Gateway.StateDir
	if err := os.Chdir(state); err != nil {
		return err
	}
	info, err := os.Stat(".")
	if err != nil {
		return err
	}
	if FileUID(info) != uid {
		return errors.New("it was replaced meanwhile")
	}
	if err := syscall.Chroot("."); err != nil {
		return err
	}
	if rel, err := filepath.Rel(state, cfg.Audit.File); err == nil && filepath.IsLocal(rel) {
		cfg.Audit.File = filepath.Join("/", rel)
	} else if cfg.Audit.On() {
		fmt.Fprintf(stderr, "audit.file is outside the state, so this command does not write to it: %s\n", cfg.Audit.File)
		cfg.Audit.File = config.AuditOff
	}
	if rel, err := filepath.Rel(state, cfg.Workspace); err == nil && filepath.IsLocal(rel) {
		cfg.Workspace = filepath.Join("/", rel)
	}
	cfg.Gateway.StateDir = "/"
	return nil
}
