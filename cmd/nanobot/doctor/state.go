package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"nanobot/channels"
	"nanobot/cmd/nanobot/exit"
	"nanobot/cmd/nanobot/format"
	"nanobot/cmd/nanobot/state"
	"nanobot/cmd/nanobot/trust"
	"nanobot/gateway/store/sqlite"
	"nanobot/internal/dbfile"
	"nanobot/internal/httpd"
)

// checkState checks the owners of the state's files, and opens the state. It opens the state only
// as its owner, because new files of SQLite belong to the user who opens the database.
func (d *doctor) checkState(ctx context.Context) {
	const check = "state"
	dir := d.cfg.Gateway.StateDir
	if above := d.closedFolder(dir); above != "" && d.isService && d.user.UID != 0 {
		d.report(check, channels.Bad, "the bot cannot enter "+above+", so it cannot start", "chmod a+x "+format.ShellWord(above))
	}
	if !d.checkFolder(check, dir) {
		return
	}
	folder, err := os.Stat(dir)
	if err != nil {
		return
	}
	for _, path := range d.stateFiles() {
		if info, err := os.Stat(path); err == nil && trust.FileUID(info) != trust.FileUID(folder) {
			d.report(check, channels.Bad, fmt.Sprintf("%s belongs to user %d, but its folder to user %d", path, trust.FileUID(info), trust.FileUID(folder)),
				chownCommand(dir, trust.FileUID(folder)))
			return
		}
	}
	path := filepath.Join(dir, sqlite.Database)
	if err := dbfile.Inspect(path); dbfile.Unusable(err) {
		d.reportUnusable(err)
		return
	}
	if info, err := os.Lstat(path); err != nil || trust.FileUID(info) != os.Geteuid() {
		return
	}
	if os.Geteuid() == 0 && d.userErr != nil {
		d.report(check, channels.Doubtful, "not opened, because this is root: "+d.userErr.Error(), "run this as the daemon's user")
		return
	}
	s, err := d.OpenStore(ctx, d.cfg)
	if dbfile.Unusable(err) {
		d.reportUnusable(err)
		return
	}
	if err != nil {
		d.report(check, channels.Bad, err.Error(), checkDiskAndOwner)
		return
	}
	d.checkSpool(ctx, s)
	d.countWarmAgents(ctx, s)
	if err := s.Close(); err != nil {
		d.report(check, channels.Bad, "close state: "+err.Error(), checkDiskAndOwner)
	}
	d.checkDatabases(ctx, path, state.WebHistory(dir))
}

// checkDiskAndOwner is the fix for errors that SQLite does not explain.
const checkDiskAndOwner = "make sure that the disk is not full and the folder belongs to the daemon's user"

// reportUnusable reports why the state cannot be used, and what to do about it.
func (d *doctor) reportUnusable(err error) {
	d.damaged = true
	var status exit.Error
	if !errors.As(err, &status) {
		err = state.Explain(d.cfg, err)
	}
	detail, fix, _ := strings.Cut(err.Error(), "\n")
	d.report("state", channels.Bad, detail, strings.ReplaceAll(fix, "\n", " "))
}

// checkDatabases checks databases completely, or until CheckTime is over.
func (d *doctor) checkDatabases(ctx context.Context, paths ...string) {
	const check = "state"
	limit := cmp.Or(d.CheckTime, DefaultCheckTime)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for _, path := range paths {
		r, err := dbfile.Check(ctx, path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case dbfile.Unusable(err):
			d.reportUnusable(fmt.Errorf("%s: %w", path, err))
		case err != nil:
			d.report(check, channels.Bad, fmt.Sprintf("%s: %v", path, err), checkDiskAndOwner)
		case !r.Complete:
			d.report(check, channels.Doubtful, fmt.Sprintf("%s can be opened, but was checked only in part: %s were not enough for its %s. No damage was found until then", path, limit, format.PreciseSize(r.Size)),
				"run this again when the machine is less busy, with --check-time "+(4*limit).String())
		default:
			d.reportOK(check, "%s can be opened and is intact (all %s checked in %s)", path, format.PreciseSize(r.Size), r.Took.Round(time.Millisecond))
		}
	}
}

// checkSpool checks that undelivered answers have their files.
func (d *doctor) checkSpool(ctx context.Context, s *sqlite.Store) {
	missing, all, err := s.MissingCopies(ctx)
	switch {
	case dbfile.Unusable(err):
		d.reportUnusable(err)
	case err != nil:
		d.report("state", channels.Bad, err.Error(), checkDiskAndOwner)
	case missing > 0:
		d.report("state", channels.Doubtful, fmt.Sprintf("of the %d files of undelivered answers, %d are missing in %s", all, missing, filepath.Join(d.cfg.Gateway.StateDir, "spool")),
			"restore a backup if you have one; otherwise these answers cannot be delivered")
	}
}

// stateFiles returns the daemon's files in the state folder, which may contain other files as well.
func (d *doctor) stateFiles() []string {
	others := append(d.cfg.SecretFiles(), d.cfg.File())
	return slices.DeleteFunc(d.PrivateFiles(d.cfg), func(path string) bool { return slices.Contains(others, path) })
}

// checkSecrets looks for files with secrets that every user of this machine can read or write.
func (d *doctor) checkSecrets() {
	const check = "secrets"
	inState := []string{filepath.Join(d.cfg.Gateway.StateDir, sqlite.Database), filepath.Join(d.cfg.Gateway.StateDir, httpd.KeyFile)}
	open := 0
	for _, f := range append(d.cfg.SecretFiles(), inState...) {
		info, err := os.Stat(f)
		if err != nil {
			continue // checkConfig has reported missing files
		}
		if in, err := os.Lstat(f); slices.Contains(inState, f) && (err != nil || !in.Mode().IsRegular()) {
			continue // an agent may have made this link; chmod would change its target
		}
		if info.Mode().Perm()&0o007 != 0 {
			open++
			d.report(check, channels.Doubtful, fmt.Sprintf("every user of this machine has access to %s (mode %#o)", f, info.Mode().Perm()), "chmod o= "+format.ShellWord(f))
		}
	}
	if open == 0 {
		d.reportOK(check, "no other user has access to files with secrets")
	}
}
