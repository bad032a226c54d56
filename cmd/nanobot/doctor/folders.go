package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"nanobot/channels"
	"nanobot/cmd/nanobot/format"
	"nanobot/cmd/nanobot/trust"
)

func (d *doctor) checkWorkspace() {
	const check = "workspace"
	if folder, err := os.Stat(d.cfg.Workspace); d.checkFolder(check, d.cfg.Workspace) && err == nil {
		// A user who ran the agent by hand may own this folder, which locks the daemon out.
		users := filepath.Join(d.cfg.Workspace, "users")
		if err := d.writable(users); err != nil {
			d.report(check, channels.Bad, fmt.Sprintf("%s cannot be written to by the daemon, so nobody gets an answer: %v", users, err),
				chownCommand(users, trust.FileUID(folder)))
		}
	}
	d.forAgents(d.checkCwd)
}

// checkCwd looks for the folder that an agent works in, where that is not the workspace.
func (d *doctor) checkCwd() {
	cwd := d.cfg.Terminal.Cwd
	if cwd == "" {
		return
	}
	if info, err := os.Stat(cwd); err != nil || !info.IsDir() {
		d.report("workspace", channels.Bad, fmt.Sprintf("%s: there is no folder %s", d.key("cwd"), cwd), "make it, or correct "+d.key("cwd"))
	}
}

// writable returns nil if the daemon can write to a folder, or could if it existed. The state of a
// service may be reachable only from within the service, so its folders are judged by their owner.
func (d *doctor) writable(path string) error {
	info, err := os.Stat(path)
	rel, outside := filepath.Rel(d.cfg.Gateway.StateDir, path)
	switch within := d.service && outside == nil && filepath.IsLocal(rel); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case d.user.UID == 0 || !within:
		return d.user.Access(path, unix.R_OK|unix.W_OK|unix.X_OK)
	case d.user.UID != dynamicUser && d.user.UID != trust.FileUID(info): // otherwise it is handed over at the start
		return unix.EACCES
	}
	return nil
}

// chownCommand returns the command that gives a folder to a user. It names the folder without
// symbolic links: chown -R does not follow one, and the agent could have made it.
func chownCommand(path string, uid int) string {
	actual, err := trust.ResolveLinks(path)
	if err != nil {
		return "see whose doing that is: " + err.Error()
	}
	return fmt.Sprintf("chown -hR %d %s", uid, format.ShellWord(actual))
}

// checkFolder checks a folder that the daemon must be able to write to. It reports whether the
// folder exists.
func (d *doctor) checkFolder(check, path string) bool {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		parent, ok := nearestFolder(path)
		if ok && !d.service { // systemd makes those of a service
			ok = d.user.Access(parent, unix.W_OK|unix.X_OK) == nil
		}
		if !ok {
			d.report(check, channels.Bad, fmt.Sprintf("%s is not there, and cannot be made in %s", path, parent), "make it, for the user that the daemon runs as")
		} else {
			d.ok(check, "%s is made at the first start", path)
		}
		return false
	case err != nil:
		d.report(check, channels.Bad, err.Error(), "run this as root or as the user that the daemon runs as")
		return false
	case !info.IsDir():
		d.report(check, channels.Bad, path+" is not a folder", "move it away, or name another one in "+d.Path)
		return false
	}
	mode := info.Mode().Perm()
	if err := d.writable(path); err != nil {
		uid, who := os.Geteuid(), "this is"
		if d.user.UID != 0 {
			uid, who = d.user.UID, "the daemon is"
		}
		fix := chownCommand(path, uid) + "; each folder above it must be open to that user, too"
		if uid == dynamicUser {
			fix = "name a folder in the service's state, as nanobot bots create does"
		}
		d.report(check, channels.Bad, fmt.Sprintf("%s cannot be written to: %v (it belongs to user %d, mode %#o; %s user %d)", path, err, trust.FileUID(info), mode, who, uid), fix)
		return true
	}
	if mode&0o002 != 0 && info.Mode()&fs.ModeSticky == 0 {
		d.report(check, channels.Doubtful, path+" can be written to by everybody on this machine", "chmod o-w "+format.ShellWord(path))
		return true
	}
	d.ok(check, "%s can be written to (user %d, mode %#o)", path, trust.FileUID(info), mode)
	return true
}

// nearestFolder returns the nearest folder above a path that exists, and whether it is writable.
func nearestFolder(path string) (string, bool) {
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
