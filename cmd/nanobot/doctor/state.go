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

// checkState checks the owners of the state, and whether it can be opened. Only its owner opens it:
// the files that SQLite makes beside it belong to whoever opens it.
func (d *doctor) checkState(ctx context.Context) {
	const check = "state"
	dir := d.cfg.Gateway.StateDir
	if above := d.closedFolder(dir); above != "" && d.service && d.user.UID != 0 {
		d.report(check, channels.Bad, above+" is closed to the bot, which cannot start", "chmod a+x "+format.ShellWord(above))
	}
	if !d.checkFolder(check, dir) {
		return
	}
	folder, err := os.Stat(dir)
	if err != nil {
		return
	}
	for _, path := range d.ownFiles() {
		if info, err := os.Stat(path); err == nil && trust.FileUID(info) != trust.FileUID(folder) {
			d.report(check, channels.Bad, fmt.Sprintf("%s belongs to user %d, and its folder to user %d", path, trust.FileUID(info), trust.FileUID(folder)),
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
		d.report(check, channels.Doubtful, "not opened, because this is root: "+d.userErr.Error(), "see whose doing that is, or run this as the user that the daemon runs as")
		return
	}
	s, err := d.OpenStore(ctx, d.cfg)
	if dbfile.Unusable(err) {
		d.reportUnusable(err)
		return
	}
	if err != nil {
		d.report(check, channels.Bad, err.Error(), "see that the disk is not full and the folder is the daemon's own")
		return
	}
	d.checkSpool(ctx, s)
	if err := s.Close(); err != nil {
		d.report(check, channels.Bad, "close state: "+err.Error(), "see that the disk is not full and the folder is the daemon's own")
	}
	d.checkDatabases(ctx, path, state.WebHistory(dir))
}

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

// checkDatabases reads databases to their end, or until the time is over.
func (d *doctor) checkDatabases(ctx context.Context, paths ...string) {
	const check = "state"
	limit := cmp.Or(d.CheckTime, DefaultCheckTime)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for _, path := range paths {
		r, err := dbfile.Check(ctx, path)
		megabytes := float64(r.Size) / (1 << 20)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case dbfile.Unusable(err):
			d.reportUnusable(fmt.Errorf("%s: %w", path, err))
		case err != nil:
			d.report(check, channels.Bad, fmt.Sprintf("%s: %v", path, err), "see that the disk is not full and the folder is the daemon's own")
		case !r.Whole:
			d.report(check, channels.Doubtful, fmt.Sprintf("%s can be opened, and was checked only in part: %s were not enough for its %.1f MiB, and no damage was found until then", path, limit, megabytes),
				"run this again when the machine has less to do, with --check-time "+(4*limit).String())
		default:
			d.ok(check, "%s can be opened and is sound (all %.1f MiB checked in %s)", path, megabytes, r.Took.Round(time.Millisecond))
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
		d.report("state", channels.Bad, err.Error(), "see that the disk is not full and the folder is the daemon's own")
	case missing > 0:
		d.report("state", channels.Doubtful, fmt.Sprintf("of %d files of answers that are not delivered yet, %d are missing in %s", all, missing, filepath.Join(d.cfg.Gateway.StateDir, "spool")),
			"restore a backup if you have one; those answers cannot be delivered otherwise")
	}
}

// ownFiles returns the daemon's own files in the state folder, which may be the workspace with
// other files in it.
func (d *doctor) ownFiles() []string {
	not := append(d.cfg.SecretFiles(), d.cfg.File())
	return slices.DeleteFunc(d.PrivateFiles(d.cfg), func(path string) bool { return slices.Contains(not, path) })
}

// checkSecrets looks for files with secrets that everybody on this machine can read.
func (d *doctor) checkSecrets() {
	const check = "secrets"
	inState := []string{filepath.Join(d.cfg.Gateway.StateDir, sqlite.Database), filepath.Join(d.cfg.Gateway.StateDir, httpd.KeyFile)}
	open := 0
	for _, f := range append(d.cfg.SecretFiles(), inState...) {
		info, err := os.Stat(f)
		if err != nil {
			continue // those that are needed have been read already
		}
		if in, err := os.Lstat(f); slices.Contains(inState, f) && (err != nil || !in.Mode().IsRegular()) {
			continue // a link of the agent's, by which nobody is to change something elsewhere
		}
		if info.Mode().Perm()&0o007 != 0 {
			open++
			d.report(check, channels.Doubtful, fmt.Sprintf("%s is open to everybody on this machine (mode %#o)", f, info.Mode().Perm()), "chmod o= "+format.ShellWord(f))
		}
	}
	if open == 0 {
		d.ok(check, "no file with secrets is open to everybody")
	}
}
