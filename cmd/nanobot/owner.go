package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"nanobot/config"
	"nanobot/internal/dbfile"
)

// servant is the user that the daemon is, where root looks after another one's bot. Root itself may do anything, which says nothing.
type servant struct {
	uid, gid int // 0: the bot is our own
	groups   []int
	name     string // "": it is in no list, as one that systemd has made up
	home     string
}

// servantOf is who holds the state. A folder's group is only of use for users that are in no list: it may be root's, which the user is not in.
func servantOf(h holder) servant {
	s := servant{uid: h.uid, gid: cmp.Or(h.gid, h.uid)}
	u, err := user.LookupId(strconv.Itoa(h.uid))
	if err != nil {
		return s
	}
	s.name, s.home = u.Username, u.HomeDir
	if n, err := strconv.Atoi(u.Gid); err == nil {
		s.gid = n
	}
	ids, _ := u.GroupIds() // without them it has its own
	for _, id := range ids {
		if n, err := strconv.Atoi(id); err == nil {
			s.groups = append(s.groups, n)
		}
	}
	return s
}

// may asks the kernel whether the servant has a right to a path, with all that is on the way to it.
func (s servant) may(path string, right uint32) (err error) {
	if failed := s.as(func() { err = unix.Faccessat(unix.AT_FDCWD, path, right, unix.AT_EACCESS) }); failed != nil {
		return failed
	}
	return err
}

// become makes this process the servant's, for good.
func (s servant) become() error {
	if err := errors.Join(syscall.Setgroups(s.groups), syscall.Setgid(s.gid)); err != nil {
		return fmt.Errorf("become user %d: %w", s.uid, err)
	}
	if err := syscall.Setuid(s.uid); err != nil {
		return fmt.Errorf("become user %d: %w", s.uid, err)
	}
	return nil
}

// readBeside reads the config of a bot for a tool that works beside its daemon.
func readBeside(path string) (*config.Config, error) {
	path = cmp.Or(configPath(path), "config.json")
	if err := obeys(path); err != nil {
		return nil, err
	}
	if b, ok := findBot(path); ok {
		b.enter()
	}
	return config.Load(path, os.Environ())
}

// becomeOwner makes root the user whom the state belongs to, for good: the agent may have put links there, and root would follow them anywhere.
// It comes after everything else that is to be read.
func becomeOwner(cfg *config.Config, std stdio) (err error) {
	h, err := stateHolder(cfg)
	if err != nil {
		return err
	}
	// What these tools made would be theirs, and the daemon could not use it.
	state := cfg.Gateway.StateDir
	if err := dbfile.Inspect(filepath.Join(state, database)); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no state in %s: the bot was never started; start it first", state)
	}
	return becomeHolder(cfg, h, std)
}

// stateHolder returns whom the state belongs to. Only root needs to know: for others it is uid 0, which stands for nobody else.
func stateHolder(cfg *config.Config) (h holder, err error) {
	if os.Geteuid() == 0 {
		if h, err = trustee(cfg.Gateway.StateDir); err != nil {
			return h, fmt.Errorf("use the state: %w", err)
		}
	}
	return h, nil
}

// becomeHolder makes root the user whom the state belongs to, for good.
func becomeHolder(cfg *config.Config, h holder, std stdio) error {
	if h.uid == 0 {
		return nil
	}
	state, s := cfg.Gateway.StateDir, servantOf(h)
	if errors.Is(s.may(state, unix.X_OK), unix.EACCES) {
		if err := goInside(cfg, s.uid, std); err != nil {
			return fmt.Errorf("go into %s: %w", state, err)
		}
	}
	return s.become()
}

// goInside makes the state the root of what this process sees: to its owner the way to it is closed, as to one that systemd has made up.
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
