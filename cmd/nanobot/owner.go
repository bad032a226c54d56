package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"nanobot/config"
)

// trustee returns whom a folder belongs to, or would if it were made, as far as root may rely on it: who has a folder above it can put any other
// into its place, so all of those must be root's or the same user's.
func trustee(path string) (uid, gid int, err error) {
	path, err = filepath.Abs(path)
	if err != nil {
		return 0, 0, err
	}
	actual, err := filepath.EvalSymlinks(path)
	for errors.Is(err, fs.ErrNotExist) && path != filepath.Dir(path) {
		path = filepath.Dir(path)
		actual, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return 0, 0, err
	}
	info, err := os.Lstat(actual)
	if err != nil {
		return 0, 0, err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, fmt.Errorf("whose %s is cannot be told", path)
	}
	for _, at := range []string{path, actual} {
		for at != filepath.Dir(at) {
			at = filepath.Dir(at)
			above, err := os.Stat(at)
			if err != nil {
				return 0, 0, err
			}
			if o := owner(above); o != 0 && o != int(stat.Uid) {
				return 0, 0, fmt.Errorf("%s belongs to user %d, but lies in %s of user %d, who could put anything there; give both to the user that the daemon runs as", path, stat.Uid, at, o)
			}
		}
	}
	return int(stat.Uid), int(stat.Gid), nil
}

// becomeOwner makes root the user whom the state belongs to, for good: the agent may have put links there, and root would follow them anywhere.
// To that user the way to the state may be closed, as to one that systemd has made up; then the state is all that is left to see. It comes
// after everything else that is to be read.
func becomeOwner(cfg *config.Config, std stdio) error {
	if os.Geteuid() != 0 {
		return nil
	}
	state := cfg.Gateway.StateDir
	uid, gid, err := trustee(state)
	if err != nil {
		return fmt.Errorf("use the state: %w", err)
	}
	if uid == 0 {
		return nil
	}
	if err := errors.Join(syscall.Setgroups([]int{}), syscall.Setgid(gid)); err != nil {
		return fmt.Errorf("become user %d: %w", uid, err)
	}
	if closed, err := closedTo(uid, state); err != nil {
		return err
	} else if closed {
		if err := goInside(cfg, uid, std); err != nil {
			return fmt.Errorf("go into %s: %w", state, err)
		}
	}
	if err := syscall.Setuid(uid); err != nil {
		return fmt.Errorf("become user %d: %w", uid, err)
	}
	return nil
}

// goInside makes the state the root of what this process sees.
func goInside(cfg *config.Config, uid int, std stdio) error {
	_ = time.Now().Local().String() // reads the time zone, while its file can be found
	state := cfg.Gateway.StateDir
	if err := os.Chdir(state); err != nil {
		return err
	}
	info, err := os.Stat(".")
	if err != nil {
		return err
	}
	if owner(info) != uid {
		return errors.New("it was replaced just now")
	}
	if err := syscall.Chroot("."); err != nil {
		return err
	}
	if rel, err := filepath.Rel(state, cfg.Audit.File); err == nil && filepath.IsLocal(rel) {
		cfg.Audit.File = filepath.Join("/", rel)
	} else if cfg.Audit.On() {
		fmt.Fprintf(std.err, "audit.file is outside of the state, and is not written by this command: %s\n", cfg.Audit.File)
		cfg.Audit.File = config.AuditOff
	}
	cfg.Gateway.StateDir = "/"
	return nil
}
