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

// EnterState gives up root for good: from then on the process runs as the user who owns the state,
// in a chroot of it where that user cannot reach it. The agent may have put symbolic links there,
// and root would follow them anywhere. It is called after everything else has been read, and
// refuses a state that does not exist yet.
func EnterState(cfg *config.Config, stderr io.Writer) (err error) {
	h, err := StateOwner(cfg)
	if err != nil {
		return err
	}
	// What these tools made would be theirs, and the daemon could not use it.
	state := cfg.Gateway.StateDir
	if err := dbfile.Inspect(filepath.Join(state, sqlite.Database)); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no state in %s: the bot was never started; start it first", state)
	}
	return BecomeOwner(cfg, h, stderr)
}

// StateOwner returns the owner of the state. Only root needs it: for other users the result has UID
// 0, which means that there is no other user to become.
func StateOwner(cfg *config.Config) (h Owner, err error) {
	if os.Geteuid() == 0 {
		if h, err = OwnerOf(cfg.Gateway.StateDir); err != nil {
			return h, fmt.Errorf("use the state: %w", err)
		}
	}
	return h, nil
}

// BecomeOwner gives up root for good: from then on the process runs as the owner of the state.
func BecomeOwner(cfg *config.Config, h Owner, stderr io.Writer) error {
	if h.UID == 0 {
		return nil
	}
	state, s := cfg.Gateway.StateDir, UserOf(h)
	if errors.Is(s.Access(state, unix.X_OK), unix.EACCES) {
		if err := goInside(cfg, s.UID, stderr); err != nil {
			return fmt.Errorf("go into %s: %w", state, err)
		}
	}
	return s.become()
}

// goInside changes the root of the file system to the state folder, for an owner who cannot enter
// the folders above it, as with DynamicUser=.
func goInside(cfg *config.Config, uid int, stderr io.Writer) error {
	_ = time.Now().Local().String() // reads the time zone, while its file can be found
	state := cfg.Gateway.StateDir
	if err := os.Chdir(state); err != nil {
		return err
	}
	info, err := os.Stat(".")
	if err != nil {
		return err
	}
	if FileUID(info) != uid {
		return errors.New("it was replaced just now")
	}
	if err := syscall.Chroot("."); err != nil {
		return err
	}
	if rel, err := filepath.Rel(state, cfg.Audit.File); err == nil && filepath.IsLocal(rel) {
		cfg.Audit.File = filepath.Join("/", rel)
	} else if cfg.Audit.On() {
		fmt.Fprintf(stderr, "audit.file is outside of the state, and is not written by this command: %s\n", cfg.Audit.File)
		cfg.Audit.File = config.AuditOff
	}
	cfg.Gateway.StateDir = "/"
	return nil
}
