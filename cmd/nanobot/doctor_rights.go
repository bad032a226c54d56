package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"nanobot/channels"
)

// servant is the user that the daemon is, where root looks at another one's bot. Root itself may do anything, which says nothing.
type servant struct {
	uid    int // 0: the bot is our own
	groups []string
}

// findServant finds out whom the state belongs to.
func (d *doctor) findServant() {
	if os.Geteuid() != 0 {
		return
	}
	uid, gid, err := trustee(d.cfg.Gateway.StateDir)
	if err != nil {
		return // the check of the agent says so
	}
	d.servant = servant{uid, []string{strconv.Itoa(gid)}}
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		more, _ := u.GroupIds() // without them it has those of its files
		d.servant.groups = append(append(d.servant.groups, u.Gid), more...)
	}
}

// may reports whether a file's mode gives it a right: 4 to read, 2 to write, 1 to enter.
func (s servant) may(info fs.FileInfo, right fs.FileMode) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case s.uid == 0 || !ok:
		return true
	case int(stat.Uid) == s.uid:
		right <<= 6
	case slices.Contains(s.groups, strconv.Itoa(int(stat.Gid))):
		right <<= 3
	}
	return info.Mode().Perm()&right == right
}

// checkReading looks whether the daemon can read what we can. What systemd hands to it needs no rights.
func (d *doctor) checkReading(bot botFiles, isBot bool) {
	for _, path := range append([]string{d.cfg.File()}, d.cfg.SecretFiles()...) {
		info, err := os.Stat(path)
		if err != nil || d.servant.may(info, 0o4) {
			continue
		}
		fix := fmt.Sprintf("chgrp %s %s && chmod g+r %[2]s", d.servant.groups[0], shown(path)) // its own it could change
		switch {
		case isBot && path == d.cfg.File():
			fix = "chmod a+r " + shown(path) + ", after its secrets are where only root reads them: " + asCredential(bot)
		case isBot:
			fix = asCredential(bot)
		}
		d.say("rights", channels.Bad, fmt.Sprintf("%s cannot be read by user %d, whom the state belongs to (mode %#o)", path, d.servant.uid, info.Mode().Perm()), fix)
	}
}

// asCredential says where a bot of a server has its secrets. Its user may be another one at each start, so none can be given files.
func asCredential(b botFiles) string {
	return "put each secret into a file " + shown(filepath.Join(b.credentials(), "NAME")) + ` and write "cred:NAME" in the config`
}

// warn says what the config warns of. A config that only its owner can read would stop a bot whose user systemd makes up.
func (d *doctor) warn(bot botFiles, isBot bool) {
	for _, w := range d.cfg.Warnings() {
		fix := "change it in " + d.path + " if that is not meant"
		if before, found := strings.CutSuffix(w, ": chmod o-r "+d.cfg.File()); found && isBot {
			w, fix = before, asCredential(bot)
		}
		d.say("config", channels.Doubtful, w, fix)
	}
}
