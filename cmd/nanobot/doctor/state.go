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
func (d *doctor) checkState(ctx context.Context) findings {
	dir := d.cfg.Gateway.StateDir
	found, exists := d.checkFolder(dir)
	if above := closedFolder(d.user, dir); above != "" && d.isService && d.user.UID != 0 {
		found = append(bad("the bot cannot enter "+above+", so it cannot start", "chmod a+x "+format.ShellWord(above)),
			found...)
	}
	folder, err := os.Stat(dir)
	if !exists || err != nil {
		return found
	}
	others := append(d.cfg.SecretFiles(), d.cfg.File(), d.cfg.SharedDir()) // checkMount writes to the last one
	for _, path := range d.PrivateFiles(d.cfg) {
		if slices.Contains(others, path) {
			continue // not a file of the state
		}
		if info, err := os.Stat(path); err == nil && trust.FileUID(info) != trust.FileUID(folder) {
			return append(found, bad(fmt.Sprintf("%s belongs to user %d, but its folder to user %d", path, trust.FileUID(info),
				trust.FileUID(folder)),
				chownCommand(dir, trust.FileUID(folder)))...)
		}
	}
	if d.cfg.Gateway.Store != "" {
		return append(found, d.checkKeptProcesses(ctx)...)
	}
	path := filepath.Join(dir, sqlite.Database)
	if err := dbfile.Inspect(path); dbfile.Unusable(err) {
		return append(found, d.assessError(err)...)
	}
	if info, err := os.Lstat(path); err != nil || trust.FileUID(info) != os.Geteuid() {
		return found
	}
	if os.Geteuid() == 0 && d.userErr != nil {
		return append(found, doubtful("not opened, because this is root: "+d.userErr.Error(),
			"run this as the daemon's user")...)
	}
	s, err := d.OpenStore(ctx, d.cfg)
	if err != nil {
		return append(found, d.assessError(err)...)
	}
	found = slices.Concat(found, d.checkSpool(ctx, s), d.checkKeptProcesses(ctx))
	if err := s.Close(); err != nil {
		found = append(found, bad("close state: "+err.Error(), checkDiskAndOwner)...)
	}
	return append(found, d.checkDatabases(ctx, path, state.WebHistory(dir))...)
}

// checkDiskAndOwner is the fix for errors that SQLite does not explain.
const checkDiskAndOwner = "make sure that the disk is not full and the folder belongs to the daemon's user"

// assessError says what is wrong with the state, and what to do about it.
func (d *doctor) assessError(err error) findings {
	if !dbfile.Unusable(err) {
		return bad(err.Error(), checkDiskAndOwner)
	}
	d.damaged = true
	var status exit.Error
	if !errors.As(err, &status) {
		err = state.Explain(d.cfg, err)
	}
	detail, fix, _ := strings.Cut(err.Error(), "\n")
	return bad(detail, strings.ReplaceAll(fix, "\n", " "))
}

// checkDatabases checks databases completely, or until CheckTime is over.
func (d *doctor) checkDatabases(ctx context.Context, paths ...string) (found findings) {
	limit := cmp.Or(d.CheckTime, DefaultCheckTime)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for _, path := range paths {
		r, err := dbfile.Check(ctx, path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			found = append(found, d.assessError(fmt.Errorf("%s: %w", path, err))...)
		case !r.Complete:
			found = append(found,
				doubtful(fmt.Sprintf("%s can be opened, but was checked only in part: %s were not enough for its %s. No damage "+
					"was found until then", path, limit, format.PreciseSize(r.Size)),
					"run this again when the machine is less busy, with --check-time "+(4*limit).String())...)
		default:
			found = append(found, good("%s can be opened and is intact (all %s checked in %s)", path, format.PreciseSize(r.Size),
				r.Took.Round(time.Millisecond))...)
		}
	}
	return found
}

// checkSpool checks that undelivered answers have their files.
func (d *doctor) checkSpool(ctx context.Context, s Store) findings {
	missing, all, err := s.MissingCopies(ctx)
	switch {
	case err != nil:
		return d.assessError(err)
	case missing > 0:
		return doubtful(fmt.Sprintf("of the %d files of undelivered answers, %d are missing in %s", all, missing,
			filepath.Join(d.cfg.SharedDir(), "spool")),
			"restore a backup if you have one; otherwise these answers cannot be delivered")
	}
	return nil
}

// checkSecrets looks for files with secrets that every user of this machine can read or write.
func (d *doctor) checkSecrets() (found findings) {
	inState := []string{
		filepath.Join(d.cfg.Gateway.StateDir, sqlite.Database),
		filepath.Join(d.cfg.Gateway.StateDir, httpd.KeyFile),
	}
	for _, f := range append(d.cfg.SecretFiles(), inState...) {
		info, err := os.Stat(f)
		if err != nil {
			continue // checkConfig has reported missing files
		}
		if in, err := os.Lstat(f); slices.Contains(inState, f) && (err != nil || !in.Mode().IsRegular()) {
			continue // an agent may have made this link; chmod would change its target
		}
		if info.Mode().Perm()&0o007 != 0 {
			found = append(found, doubtful(fmt.Sprintf("every user of this machine has access to %s (mode %#o)", f,
				info.Mode().Perm()), "chmod o= "+format.ShellWord(f))...)
		}
	}
	if found == nil {
		return good("no other user has access to files with secrets")
	}
	return found
}
