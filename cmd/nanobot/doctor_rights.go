package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/sys/unix"

	"nanobot/channels"
	"nanobot/cmd/nanobot/format"
	"nanobot/cmd/nanobot/systemd"
	"nanobot/cmd/nanobot/trust"
)

// madeUp is a user as systemd makes them up for a service: nobody's file is its own.
const madeUp = 65519

// findServant finds out who the daemon is, where root asks: whom the state belongs to.
func (d *doctor) findServant() {
	if os.Geteuid() != 0 {
		return
	}
	h, err := trust.OwnerOf(d.cfg.Gateway.StateDir)
	switch {
	case err != nil:
		d.doubt = err
	case d.service && (h.UID == 0 || !h.Exists):
		d.servant = trust.User{UID: madeUp, GID: madeUp}
		d.doubt = errors.New("the unit has not run yet, or not as the state's owner, so nobody can tell as whom it does")
	case !h.Exists && filepath.Dir(d.cfg.Gateway.StateDir) != d.cfg.Workspace:
		d.doubt = errors.New("there is no state yet, so nobody can tell whose it will be")
	default:
		d.servant = trust.UserOf(h)
	}
}

// checkReading looks whether the daemon can read what we can. What systemd hands to it needs no rights.
func (d *doctor) checkReading(bot systemd.Bot) {
	if d.service {
		d.checkHidden()
	}
	if d.servant.UID == 0 {
		return
	}
	status, who := channels.Bad, fmt.Sprintf("user %d, whom the state belongs to", d.servant.UID)
	if d.servant.UID == madeUp {
		status, who = channels.Doubtful, "a user that systemd makes up, as it does for the bot unless User= names one"
	}
	for _, path := range append([]string{d.cfg.File()}, d.cfg.SecretFiles()...) {
		if _, err := os.Stat(path); err != nil {
			continue // which was said already
		}
		err := d.servant.Access(path, unix.R_OK)
		if err == nil {
			continue
		}
		closed := d.closed(path)
		fix := fmt.Sprintf("chgrp %d %s && chmod g+r %[2]s", d.servant.GID, format.ShellWord(path)) // its own it could change
		switch {
		case d.service && path != d.cfg.File():
			fix = asCredential(bot)
		case closed != "" && path != d.cfg.File():
			fix = "put it where that user can read it"
		case closed != "":
			fix = "chmod a+x " + format.ShellWord(closed)
		case d.service:
			fix = "chmod a+r " + format.ShellWord(path) + ", after its secrets are where only root reads them: " + asCredential(bot)
		}
		if closed != "" {
			closed = ", to whom " + closed + " is closed"
		}
		d.say("rights", status, fmt.Sprintf("%s cannot be read by %s%s: %v", path, who, closed, err), fix)
	}
}

// closed returns the first folder on the way to a path that the daemon cannot pass; "": there is none.
func (d *doctor) closed(path string) string {
	all := trust.SplitPath(filepath.Dir(path))
	for n := range all {
		if at := "/" + filepath.Join(all[:n+1]...); errors.Is(d.servant.Access(at, unix.X_OK), unix.EACCES) {
			return at
		}
	}
	return ""
}

// hidden are the folders that the units keep from the bot, where they stand in a command.
var hidden = regexp.MustCompile(`(^|[^\w./-])(/home|/root|/run/user)(/[^\s'";|&]*|\b)`)

// checkHidden looks for what the unit hides: root sees it.
func (d *doctor) checkHidden() {
	for key, text := range map[string]string{"terminal.command": d.cfg.Terminal.Command, "terminal.cwd": d.cfg.Terminal.Cwd, "workspace": d.cfg.Workspace, "gateway.stateDir": d.cfg.Gateway.StateDir} {
		if m := hidden.FindStringSubmatch(text); m != nil {
			d.say("rights", channels.Doubtful, fmt.Sprintf("%s names %s, which the unit hides from the bot (ProtectHome=) unless a drop-in says otherwise", key, m[2]+m[3]),
				"put it elsewhere, as into /opt, or see relax.conf")
		}
	}
}

// asCredential says where a bot of a server has its secrets. Its user may be another one at each start, so none can be given files.
func asCredential(b systemd.Bot) string {
	return "put each secret into a file " + format.ShellWord(filepath.Join(b.Credentials(), "NAME")) + ` and write "cred:NAME" in the config`
}

// warn says what the config warns of. A config that only its owner can read would stop a bot whose user systemd makes up.
func (d *doctor) warn(bot systemd.Bot, isBot bool) {
	for _, w := range d.cfg.Warnings() {
		fix := "change it in " + d.path + " if that is not meant"
		if before, found := strings.CutSuffix(w, ": chmod o-r "+d.cfg.File()); found && isBot {
			w, fix = before, asCredential(bot)
		}
		if strings.HasSuffix(w, unix.EACCES.Error()) {
			fix = withSudo(unix.EACCES, fix)
		}
		d.say("config", channels.Doubtful, w, fix)
	}
}

// withSudo is what to do where somebody's rights do not suffice, and otherwise something else.
func withSudo(err error, otherwise string) string {
	if errors.Is(err, fs.ErrPermission) && os.Geteuid() != 0 {
		return "run this with sudo, or as the user that the daemon runs as"
	}
	return otherwise
}
