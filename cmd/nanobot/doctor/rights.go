package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"nanobot/cmd/nanobot/format"
	"nanobot/cmd/nanobot/systemd"
	"nanobot/cmd/nanobot/trust"
	"nanobot/internal/lazyregexp"
)

// dynamicUser is a user ID of the range that DynamicUser= uses. No file belongs to it yet.
const dynamicUser = 65519

// findUser finds the user of the daemon, if this process is root: the owner of the state.
func (d *doctor) findUser() {
	if os.Geteuid() != 0 {
		return
	}
	h, err := trust.OwnerOf(d.cfg.Gateway.StateDir)
	switch {
	case err != nil:
		d.userErr = err
	case d.isService && (h.UID == 0 || !h.Exists):
		d.user = trust.User{UID: dynamicUser, GID: dynamicUser}
		d.userErr = errors.New("the unit has not run yet, or not as the owner of the state, so its user is unknown")
	case !h.Exists && filepath.Dir(d.cfg.Gateway.StateDir) != d.cfg.Workspace:
		d.userErr = errors.New("there is no state yet, so the daemon's user is unknown")
	default:
		d.user = trust.UserOf(h)
	}
}

// checkReadable checks that the daemon can read the config and the files of secrets. Credentials
// need no permissions, since systemd passes them to the daemon.
func (d *doctor) checkReadable(bot systemd.Bot) {
	if d.isService {
		d.checkHidden()
	}
	if d.user.UID == 0 {
		return
	}
	assess, who := bad, fmt.Sprintf("user %d, who owns the state,", d.user.UID)
	if d.user.UID == dynamicUser {
		assess, who = doubtful, "the dynamic user that systemd creates for the bot unless User= is set"
	}
	for _, path := range append([]string{d.cfg.File()}, d.cfg.SecretFiles()...) {
		if _, err := os.Stat(path); err != nil {
			continue // reported already
		}
		err := d.user.Access(path, unix.R_OK)
		if err == nil {
			continue
		}
		closed := closedFolder(d.user, path)
		// not chown: an owner could change it
		fix := fmt.Sprintf("chgrp %d %s && chmod g+r %[2]s", d.user.GID, format.ShellWord(path))
		switch {
		case d.isService && path != d.cfg.File():
			fix = credentialFix(bot)
		case closed != "" && path != d.cfg.File():
			fix = "put it where that user can read it"
		case closed != "":
			fix = "chmod a+x " + format.ShellWord(closed)
		case d.isService:
			fix = "move the secrets out of it (" + credentialFix(bot) + "), then chmod a+r " + format.ShellWord(path)
		}
		if closed != "" {
			closed = " because of the permissions of " + closed
		}
		d.add("rights", assess(fmt.Sprintf("%s cannot read %s%s: %v", who, path, closed, err), fix))
	}
}

// closedFolder returns the first folder above a path that a user cannot enter, or "".
func closedFolder(user trust.User, path string) string {
	all := trust.SplitPath(filepath.Dir(path))
	for n := range all {
		if at := "/" + filepath.Join(all[:n+1]...); errors.Is(user.Access(at, unix.X_OK), unix.EACCES) {
			return at
		}
	}
	return ""
}

// hiddenFolder matches the folders in a command that the units hide from the bot (ProtectHome=).
var hiddenFolder = lazyregexp.New(`(^|[^\w./-])(/home|/root|/run/user)(/[^\s'";|&]*|\b)`)

// checkHidden looks for folders in the config that the unit hides from the bot.
func (d *doctor) checkHidden() {
	named := map[string]string{"workspace": d.cfg.Workspace, "gateway.stateDir": d.cfg.Gateway.StateDir}
	d.forEachAgent(func() {
		named[d.agentKey("command")], named[d.agentKey("cwd")] = d.cfg.Terminal.Command, d.cfg.Terminal.Cwd
	})
	for key, text := range named {
		if m := hiddenFolder().FindStringSubmatch(text); m != nil {
			d.add("rights",
				doubtful(fmt.Sprintf("%s contains %s, which the unit hides from the bot (ProtectHome=) unless a drop-in changes "+
					"that", key, m[2]+m[3]),
					"move it to another folder such as /opt, or see relax.conf"))
		}
	}
}

// credentialFix returns the fix that makes a secret a systemd credential. A dynamic user may change
// at each start, so files cannot be given to it.
func credentialFix(b systemd.Bot) string {
	return "put each secret into a file " + format.ShellWord(filepath.Join(b.Credentials(), "NAME")) +
		` and write "cred:NAME" in the config`
}

// reportWarnings reports the warnings of the config. It does not suggest to make the config
// readable by its owner only: with DynamicUser= the bot could not start.
func (d *doctor) reportWarnings(bot systemd.Bot, isBot bool) {
	for _, w := range d.cfg.Warnings() {
		fix := "change it in " + d.Path + " unless it is intended"
		if before, found := strings.CutSuffix(w, ": run chmod o-r "+d.cfg.File()); found && isBot {
			w, fix = before, credentialFix(bot)
		}
		if strings.HasSuffix(w, unix.EACCES.Error()) {
			fix = suggestSudo(unix.EACCES, fix)
		}
		d.add("config", doubtful(w, fix))
	}
}

// suggestSudo returns the fix for missing permissions, or otherwise for other errors.
func suggestSudo(err error, otherwise string) string {
	if errors.Is(err, fs.ErrPermission) && os.Geteuid() != 0 {
		return "run this with sudo, or as the daemon's user"
	}
	return otherwise
}
