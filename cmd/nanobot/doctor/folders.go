package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"nanobot/cmd/nanobot/format"
	"nanobot/cmd/nanobot/trust"
)

func (d *doctor) checkWorkspace() {
	found, exists := d.checkFolder(d.cfg.Workspace)
	d.add("workspace", found)
	if folder, err := os.Stat(d.cfg.Workspace); exists && err == nil {
		// A user who ran the agent by hand may own this folder, which locks the daemon out.
		users := filepath.Join(d.cfg.Workspace, "users")
		if err := d.checkWritable(users); err != nil {
			d.add("workspace", bad(fmt.Sprintf("the daemon cannot write to %s, so nobody gets an answer: %v", users, err),
				chownCommand(users, trust.FileUID(folder))))
		}
	}
	d.forEachAgent(func() {
		cwd := d.cfg.Terminal.Cwd
		if info, err := os.Stat(cwd); cwd != "" && (err != nil || !info.IsDir()) {
			d.add("workspace", bad(fmt.Sprintf("%s: there is no folder %s", d.agentKey("cwd"), cwd), "create it, or correct "+
				d.agentKey("cwd")))
		}
	})
}

// checkWritable returns nil if the daemon can write to a folder, or if the folder does not exist.
// Only the service may be able to enter its state folder, so within it the owner is compared
// instead.
func (d *doctor) checkWritable(path string) error {
	info, err := os.Stat(path)
	rel, relErr := filepath.Rel(d.cfg.Gateway.StateDir, path)
	switch within := d.isService && relErr == nil && filepath.IsLocal(rel); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case d.user.UID == 0 || !within:
		return d.user.Access(path, unix.R_OK|unix.W_OK|unix.X_OK)
	case d.user.UID != dynamicUser && d.user.UID != trust.FileUID(info): // systemd changes the owner for a dynamic user
		return unix.EACCES
	}
	return nil
}

// chownCommand returns the command that gives a folder to a user. The path is resolved first,
// because chown -hR would change only a symbolic link itself. Links that do not belong to root are
// refused, because an agent could have made them.
func chownCommand(path string, uid int) string {
	actual, err := trust.ResolveLinks(path)
	if err != nil {
		return "find out who made this link: " + err.Error()
	}
	return fmt.Sprintf("chown -hR %d %s", uid, format.ShellWord(actual))
}

// checkFolder checks a folder that the daemon must be able to write to. It reports whether the
// folder exists.
func (d *doctor) checkFolder(path string) (_ findings, exists bool) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		parent, ok := nearestFolder(path)
		if ok && !d.isService { // systemd creates the folders of a service
			ok = d.user.Access(parent, unix.W_OK|unix.X_OK) == nil
		}
		if !ok {
			return bad(fmt.Sprintf("%s does not exist and cannot be created in %s", path, parent),
				"create it, and give it to the daemon's user"), false
		}
		return good("%s will be created at the first start", path), false
	case err != nil:
		return bad(err.Error(), "run this as root or as the daemon's user"), false
	case !info.IsDir():
		return bad(path+" is not a folder", "move it away, or name a folder in "+d.Path), false
	}
	mode := info.Mode().Perm()
	if err := d.checkWritable(path); err != nil {
		uid, who := os.Geteuid(), "you are"
		if d.user.UID != 0 {
			uid, who = d.user.UID, "the daemon is"
		}
		fix := chownCommand(path, uid) + "; the user must also be able to enter each folder above it"
		if uid == dynamicUser {
			fix = "name a folder in the state of the service, as nanobot bots create does"
		}
		return bad(fmt.Sprintf("%s is not writable: %v (it belongs to user %d, mode %#o; %s user %d)", path, err,
			trust.FileUID(info), mode, who, uid), fix), true
	}
	if mode&0o002 != 0 && info.Mode()&fs.ModeSticky == 0 {
		return doubtful("every user of this machine can write to "+path, "chmod o-w "+format.ShellWord(path)), true
	}
	return good("%s is writable (user %d, mode %#o)", path, trust.FileUID(info), mode), true
}

// nearestFolder returns the nearest existing folder above a path, and whether this process
// can write to it.
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
