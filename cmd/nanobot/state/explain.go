package state

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"nanobot/channels/web/history"
	"nanobot/cmd/nanobot/exit"
	"nanobot/cmd/nanobot/format"
	"nanobot/config"
	"nanobot/gateway/store/sqlite"
	"nanobot/internal/dbfile"
)

// Explain adds the exit status and the next step to an error of a state that cannot be used. It
// returns other errors unchanged.
func Explain(cfg *config.Config, err error) error {
	dir := cfg.Gateway.StateDir
	var steps string
	status := exit.Config
	switch {
	case errors.Is(err, dbfile.ErrLost):
		status = exit.Lost
		steps = fmt.Sprintf("No message was confirmed since then. Put the state back into %s before the next start. "+
			"Otherwise the bot starts with a new one.", dir)
	case errors.Is(err, dbfile.ErrDamaged):
		steps = fmt.Sprintf(`To restore it, stop the daemon, run "nanobot restore FILE" with a file of "nanobot backup", and start the daemon again.
To start with an empty state, stop the daemon and move %s, and the files of that name with -wal and -shm, out of its folder.`, damagedFile(dir, err))
	case errors.Is(err, dbfile.ErrNewer):
		steps = fmt.Sprintf(`Use the newer nanobot again. To stay with this version, stop the daemon, run "nanobot restore FILE" with a copy from before the
upgrade, in %s or made by "nanobot backup", and start the daemon again.`, filepath.Join(dir, sqlite.Copies))
	case errors.Is(err, dbfile.ErrNoPermission):
		steps = "Run this as the user that the daemon runs as, or give that user the state: chown -hR USER " +
			format.ShellWord(dir)
	default:
		return err
	}
	return exit.Error{Status: status, Err: fmt.Errorf("%w\n%s", err, steps)}
}

// damagedFile returns the database that an error is about.
func damagedFile(dir string, err error) string {
	if path := WebHistory(dir); strings.Contains(err.Error(), path) {
		return path
	}
	return filepath.Join(dir, sqlite.Database)
}

// WebHistory returns the path of the database of the web channel's conversations.
func WebHistory(dir string) string { return filepath.Join(dir, Web, history.Database) }
