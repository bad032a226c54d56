package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"nanobot/cmd/nanobot/format"
	"nanobot/config"
)

// holder is whom a path belongs to.
type holder struct {
	uid, gid int
	there    bool // false: it is not there, and the nearest folder above is theirs
}

// maxLinks is how many links Linux follows on one way.
const maxLinks = 40

// trustee returns whom a path belongs to, as far as root may rely on it: who has a folder or a link on the way to it, or may write to one of
// root's, can put anything into its place. So all of them must be root's, which nobody else may write to, or the same user's.
func trustee(path string) (holder, error) {
	owners := map[int]string{} // of what is on the way
	_, h, err := walk(path, func(at string, h holder, _ bool) error {
		owners[h.uid] = at
		return nil
	})
	if err != nil {
		return holder{}, err
	}
	for uid, at := range owners {
		if uid != 0 && uid != h.uid {
			return holder{}, fmt.Errorf("%s belongs to user %d, but lies beyond %s of user %d, who could put anything there; give both to the user that the daemon runs as", path, h.uid, at, uid)
		}
	}
	return h, nil
}

// straightened returns a path without the links on the way, unless one is another user's than root.
func straightened(path string) (string, error) {
	end, _, err := walk(path, func(at string, h holder, link bool) error {
		if link && h.uid != 0 {
			return fmt.Errorf("%s is a link that user %d has made", at, h.uid)
		}
		return nil
	})
	return end, err
}

// walk goes to a path, as the kernel does, shows what is on the way, and returns where the path ends and whom that belongs to. It goes through
// nothing of root's that others can write to.
func walk(path string, see func(at string, h holder, link bool) error) (at string, h holder, err error) {
	at, rest := "/", parts(path)
	if !filepath.IsAbs(path) {
		here, err := os.Getwd()
		if err != nil {
			return "", h, err
		}
		rest = append(parts(here), rest...)
	}
	for links := 0; ; {
		now, to, err := look(at, len(rest) == 0)
		if errors.Is(err, fs.ErrNotExist) {
			h, _, err = look(filepath.Dir(at), true)
			h.there = false
			return at, h, err
		}
		if err == nil {
			err = see(at, now, to != "")
		}
		if err != nil {
			return "", h, err
		}
		if to != "" {
			if links++; links > maxLinks {
				return "", h, &fs.PathError{Op: "follow", Path: path, Err: syscall.ELOOP}
			}
			rest = append(parts(to), rest...)
			if at = filepath.Dir(at); filepath.IsAbs(to) {
				at = "/"
			}
			continue
		}
		if h = now; len(rest) == 0 {
			return at, h, nil
		}
		at, rest = filepath.Join(at, rest[0]), rest[1:] // a ".." means what it says, since no link is in front of it
	}
}

// look returns whom something on the way belongs to, or its end, and where it leads if it is a link.
func look(at string, end bool) (h holder, to string, err error) {
	info, err := os.Lstat(at)
	if err != nil {
		return h, "", err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return h, "", fmt.Errorf("whose %s is cannot be told", at)
	}
	h = holder{int(stat.Uid), int(stat.Gid), true}
	if info.Mode().Type() == fs.ModeSymlink {
		to, err = os.Readlink(at)
		return h, to, err
	}
	// In a sticky folder everybody can put something beside what is there, and nobody into its place.
	if open := info.Mode().Perm()&0o022 != 0; open && h.uid == 0 && (end || info.Mode()&fs.ModeSticky == 0) {
		return h, "", fmt.Errorf("others than root can write to %s, and could put anything there; chmod go-w %s", at, format.ShellWord(at))
	}
	return h, "", nil
}

func parts(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
}

// obeys refuses to let the tools of root do what a config says that is not its own: who has written it could have them run programs, and read and
// send files. Who says run, chat or serve asks for just that.
func obeys(path string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	h, err := trustee(path)
	switch {
	case err != nil:
		return fmt.Errorf("read the config as root: %w", err)
	case !h.there: // and nobody has the time to put one there
		return config.Mistakes{{File: path, Want: `no such file; run "nanobot init" to write one`}}
	case h.uid != 0:
		return fmt.Errorf("%s belongs to user %d, and root does not do what others have written; as that user: %s nanobot …, or, where the daemon is root as well: chown root %s", path, h.uid, runAs(h.uid), format.ShellWord(path))
	}
	return nil
}

// ownAgent refuses to let root run the agent of a bot that is not root's own: what it makes the daemon could not use.
func ownAgent(cfg *config.Config) error {
	if os.Geteuid() != 0 || cfg.File() == "" {
		return nil
	}
	if b, ok := findBot(cfg.File()); ok && b.served() {
		return fmt.Errorf("this is root, and %s belongs to %s, which has a user of its own; write to the bot, and see journalctl -u %[2]s -n 50", cfg.File(), b.unit())
	}
	info, err := os.Stat(cfg.Gateway.StateDir)
	if err != nil {
		return nil //nolint:nilerr // no daemon has been here
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Uid != 0 {
		return fmt.Errorf("this is root, and the state in %s belongs to user %d; as that user: %s nanobot …", cfg.Gateway.StateDir, stat.Uid, runAs(int(stat.Uid)))
	}
	return nil
}

// runAs is what root puts in front of a command to run it as somebody else.
func runAs(uid int) string {
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		return "runuser -u " + format.ShellWord(u.Username) + " --"
	}
	return fmt.Sprintf("setpriv --reuid %d --regid %[1]d --clear-groups --", uid)
}
