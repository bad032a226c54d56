package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"nanobot/channels"
	"nanobot/cmd/nanobot/exit"
	"nanobot/cmd/nanobot/format"
	"nanobot/cmd/nanobot/state"
	"nanobot/cmd/nanobot/trust"
	"nanobot/gateway/store/sqlite"
	"nanobot/internal/dbfile"
	"nanobot/internal/httpd"
)

// findDaemon finds out whether a daemon serves this bot: its lock says so, or systemd, where the state is not ours to look into.
func (d *doctor) findDaemon() {
	const check = "daemon"
	pid, err := lockHolder(filepath.Join(d.cfg.Gateway.StateDir, "daemon.lock"))
	d.running = pid
	if d.unit.Active() && d.unit.PID != 0 { // the agent can write anything into the lock
		d.running = d.unit.PID
	}
	switch {
	case d.running != 0:
		d.ok(check, "runs (pid %d)", d.running)
	case err != nil:
		d.say(check, channels.Doubtful, "cannot tell whether it runs: "+err.Error(), "run this as root or as the user that the daemon runs as")
	default:
		d.ok(check, "does not run")
	}
}

// lockHolder returns the daemon that holds a lock, or 0. It looks at whether a process has that number before it tries the lock, so that a
// daemon which starts just now does not find the lock taken by us.
func lockHolder(path string) (int, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0) // the agent may have put a pipe there
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	b := make([]byte, 32)
	n, _ := f.Read(b)
	pid, err := strconv.Atoi(strings.TrimSpace(string(b[:n])))
	if err != nil || errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
		return 0, nil // one that nobody has signed is nobody's
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return pid, nil
	}
	return 0, err
}

func (d *doctor) checkWorkspace() {
	const check = "workspace"
	if folder, err := os.Stat(d.cfg.Workspace); d.checkFolder(check, d.cfg.Workspace) && err == nil {
		// Who has run the agent by hand may have made this one, and shut the daemon out.
		users := filepath.Join(d.cfg.Workspace, "users")
		if err := d.writable(users); err != nil {
			d.say(check, channels.Bad, fmt.Sprintf("%s cannot be written to by the daemon, so nobody gets an answer: %v", users, err),
				handOver(users, trust.FileUID(folder)))
		}
	}
	if cwd := d.cfg.Terminal.Cwd; cwd != "" {
		if info, err := os.Stat(cwd); err != nil || !info.IsDir() {
			d.say(check, channels.Bad, "terminal.cwd: there is no folder "+cwd, "make it, or correct terminal.cwd")
		}
	}
}

// writable returns nil if the daemon can write to a folder, or could if it were there. The way to the state of a service may only be open
// within that, so that what is there is judged by whom it belongs to.
func (d *doctor) writable(path string) error {
	info, err := os.Stat(path)
	rel, outside := filepath.Rel(d.cfg.Gateway.StateDir, path)
	switch within := d.service && outside == nil && filepath.IsLocal(rel); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case d.servant.UID == 0 || !within:
		return d.servant.Access(path, unix.R_OK|unix.W_OK|unix.X_OK)
	case d.servant.UID != madeUp && d.servant.UID != trust.FileUID(info): // otherwise it is handed over at the start
		return unix.EACCES
	}
	return nil
}

// handOver is how a folder is given to a user. chown -R does not go through a link to it, and nobody is to be sent by a link of the agent's.
func handOver(path string, uid int) string {
	actual, err := trust.ResolveLinks(path)
	if err != nil {
		return "see whose doing that is: " + err.Error()
	}
	return fmt.Sprintf("chown -hR %d %s", uid, format.ShellWord(actual))
}

// checkFolder looks at a folder that the daemon must be able to write to. It reports whether it is there.
func (d *doctor) checkFolder(check, path string) bool {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		parent, ok := existing(path)
		if ok && !d.service { // systemd makes those of a service
			ok = d.servant.Access(parent, unix.W_OK|unix.X_OK) == nil
		}
		if !ok {
			d.say(check, channels.Bad, fmt.Sprintf("%s is not there, and cannot be made in %s", path, parent), "make it, for the user that the daemon runs as")
		} else {
			d.ok(check, "%s is made at the first start", path)
		}
		return false
	case err != nil:
		d.say(check, channels.Bad, err.Error(), "run this as root or as the user that the daemon runs as")
		return false
	case !info.IsDir():
		d.say(check, channels.Bad, path+" is not a folder", "move it away, or name another one in "+d.path)
		return false
	}
	mode := info.Mode().Perm()
	if err := d.writable(path); err != nil {
		uid, who := os.Geteuid(), "this is"
		if d.servant.UID != 0 {
			uid, who = d.servant.UID, "the daemon is"
		}
		fix := handOver(path, uid) + "; each folder above it must be open to that user, too"
		if uid == madeUp {
			fix = "name a folder in the service's state, as nanobot bots create does"
		}
		d.say(check, channels.Bad, fmt.Sprintf("%s cannot be written to: %v (it belongs to user %d, mode %#o; %s user %d)", path, err, trust.FileUID(info), mode, who, uid), fix)
		return true
	}
	if mode&0o002 != 0 && info.Mode()&fs.ModeSticky == 0 {
		d.say(check, channels.Doubtful, path+" can be written to by everybody on this machine", "chmod o-w "+format.ShellWord(path))
		return true
	}
	d.ok(check, "%s can be written to (user %d, mode %#o)", path, trust.FileUID(info), mode)
	return true
}

// existing returns the folder above a path that is there, and whether something can be made in it.
func existing(path string) (string, bool) {
	for {
		path = filepath.Dir(path)
		if info, err := os.Stat(path); err == nil {
			return path, info.IsDir() && unix.Access(path, unix.W_OK|unix.X_OK) == nil
		}
		if path == filepath.Dir(path) {
			return path, false
		}
	}
}

// checkState looks at the state: whose it is, and whether it can be opened. It is opened by its owner only, because what SQLite makes beside
// it would belong to whoever opens it.
func (d *doctor) checkState(ctx context.Context) {
	const check = "state"
	dir := d.cfg.Gateway.StateDir
	if above := d.closed(dir); above != "" && d.service && d.servant.UID != 0 {
		d.say(check, channels.Bad, above+" is closed to the bot, which cannot start", "chmod a+x "+format.ShellWord(above))
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
			d.say(check, channels.Bad, fmt.Sprintf("%s belongs to user %d, and its folder to user %d", path, trust.FileUID(info), trust.FileUID(folder)),
				handOver(dir, trust.FileUID(folder)))
			return
		}
	}
	path := filepath.Join(dir, sqlite.Database)
	if err := dbfile.Inspect(path); dbfile.Unusable(err) {
		d.unusable(err)
		return
	}
	if info, err := os.Lstat(path); err != nil || trust.FileUID(info) != os.Geteuid() {
		return
	}
	if os.Geteuid() == 0 && d.doubt != nil {
		d.say(check, channels.Doubtful, "not opened, because this is root: "+d.doubt.Error(), "see whose doing that is, or run this as the user that the daemon runs as")
		return
	}
	s, err := openStore(ctx, d.cfg, true)
	if dbfile.Unusable(err) {
		d.unusable(err)
		return
	}
	if err != nil {
		d.say(check, channels.Bad, err.Error(), "see that the disk is not full and the folder is the daemon's own")
		return
	}
	d.checkSpool(ctx, s)
	if err := closeStore(s); err != nil {
		d.say(check, channels.Bad, err.Error(), "see that the disk is not full and the folder is the daemon's own")
	}
	d.checkDatabases(ctx, path, state.WebHistory(dir))
}

// unusable says why the state cannot be used, and the steps that lead out of that.
func (d *doctor) unusable(err error) {
	d.damaged = true
	var status exit.Error
	if !errors.As(err, &status) {
		err = state.Explain(d.cfg, err)
	}
	detail, fix, _ := strings.Cut(err.Error(), "\n")
	d.say("state", channels.Bad, detail, strings.ReplaceAll(fix, "\n", " "))
}

// checkDatabases reads databases through, for as long as there is time.
func (d *doctor) checkDatabases(ctx context.Context, paths ...string) {
	const check = "state"
	limit := cmp.Or(d.reading, readingTime)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for _, path := range paths {
		r, err := dbfile.Check(ctx, path)
		megabytes := float64(r.Size) / (1 << 20)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case dbfile.Unusable(err):
			d.unusable(fmt.Errorf("%s: %w", path, err))
		case err != nil:
			d.say(check, channels.Bad, fmt.Sprintf("%s: %v", path, err), "see that the disk is not full and the folder is the daemon's own")
		case !r.Whole:
			d.say(check, channels.Doubtful, fmt.Sprintf("%s can be opened, and was checked only in part: %s were not enough for its %.1f MiB, and no damage was found until then", path, limit, megabytes),
				"run this again when the machine has less to do, with --check-time "+(4*limit).String())
		default:
			d.ok(check, "%s can be opened and is sound (all %.1f MiB checked in %s)", path, megabytes, r.Took.Round(time.Millisecond))
		}
	}
}

// checkSpool looks whether answers that are not delivered yet have their files.
func (d *doctor) checkSpool(ctx context.Context, s *sqlite.Store) {
	missing, all, err := s.MissingCopies(ctx)
	switch {
	case dbfile.Unusable(err):
		d.unusable(err)
	case err != nil:
		d.say("state", channels.Bad, err.Error(), "see that the disk is not full and the folder is the daemon's own")
	case missing > 0:
		d.say("state", channels.Doubtful, fmt.Sprintf("of %d files of answers that are not delivered yet, %d are missing in %s", all, missing, filepath.Join(d.cfg.Gateway.StateDir, "spool")),
			"restore a backup if you have one; those answers cannot be delivered otherwise")
	}
}

// ownFiles are the daemon's own files in the state's folder, which may be the workspace, too, with files of others.
func (d *doctor) ownFiles() []string {
	not := append(d.cfg.SecretFiles(), d.cfg.File())
	return slices.DeleteFunc(private(d.cfg), func(path string) bool { return slices.Contains(not, path) })
}

// checkSecrets looks for secrets that everybody on this machine can read.
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
			d.say(check, channels.Doubtful, fmt.Sprintf("%s is open to everybody on this machine (mode %#o)", f, info.Mode().Perm()), "chmod o= "+format.ShellWord(f))
		}
	}
	if open == 0 {
		d.ok(check, "no file with secrets is open to everybody")
	}
}

// checkHTTP tries the addresses. A daemon that runs has them already.
func (d *doctor) checkHTTP(ctx context.Context) {
	d.checkAddress(ctx, "http.listen", d.cfg.HTTP.Listen)
	d.checkAddress(ctx, "http.metricsListen", d.cfg.HTTP.MetricsListen)
}

func (d *doctor) checkAddress(ctx context.Context, key, address string) {
	const check = "http"
	if address == "" {
		return
	}
	if d.running != 0 {
		d.ok(check, "%s is %s, and the daemon has it", key, address)
		return
	}
	var l net.Listener
	var err error
	if failed := d.servant.Do(func() { l, err = (&net.ListenConfig{}).Listen(ctx, "tcp", address) }); failed != nil {
		err = failed
	}
	switch {
	case errors.Is(err, fs.ErrPermission):
		d.say(check, channels.Doubtful, key+": "+err.Error(), "choose a port from 1024 on for "+key+", unless the service is given CAP_NET_BIND_SERVICE")
		return
	case err != nil:
		d.say(check, channels.Bad, key+": "+err.Error(), "end the program that has this address (ss -ltnp shows it), or choose another for "+key)
		return
	}
	_ = l.Close()
	d.ok(check, "%s is %s, which is free", key, address)
}
