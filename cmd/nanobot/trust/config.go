package trust

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"

	"nanobot/cmd/nanobot/format"
	"nanobot/cmd/nanobot/systemd"
	"nanobot/config"
)

// CheckConfig returns an error if root uses a config that another user can write: the config could
// make root run programs and send files. The commands run, chat and serve do not call it, since
// they run the configured program on purpose.
func CheckConfig(path string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	h, err := OwnerOf(path)
	switch {
	case err != nil:
		return fmt.Errorf("read the config as root: %w", err)
	case !h.Exists: // not read again: another user could write one meanwhile
		return config.Mistakes{{File: path, Text: `no such file; run "nanobot init" to write one`}}
	case h.UID != 0:
		return fmt.Errorf("%s belongs to user %d, and root does not use the config of another user; run this as that user: "+
			"%s nanobot …, or, if the daemon also runs as root: chown root %s", path, h.UID, RunAs(h.UID),
			format.ShellWord(path))
	}
	return nil
}

// CheckAgent returns an error if root would run the agent of another user's bot: the daemon could
// not use the files that the agent makes, and root would follow symbolic links in the state.
func CheckAgent(cfg *config.Config) error {
	if os.Geteuid() != 0 {
		return nil
	}
	if b, ok := systemd.FindBot(cfg.File()); ok && b.IsService() {
		return fmt.Errorf("this is root, and %s belongs to %s, which has its own user; write to the bot instead, and look "+
			"at its log with journalctl -u %[2]s -n 50", cfg.File(), b.Unit())
	}
	info, err := os.Stat(cfg.Gateway.StateDir)
	if err != nil {
		return nil //nolint:nilerr // no daemon has used this state yet
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Uid != 0 {
		return fmt.Errorf("this is root, and the state in %s belongs to user %d; run this as that user: %s nanobot …",
			cfg.Gateway.StateDir, stat.Uid, RunAs(int(stat.Uid)))
	}
	return nil
}

// RunAs returns the command prefix with which root runs a command as another user.
func RunAs(uid int) string {
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		return "runuser -u " + format.ShellWord(u.Username) + " --"
	}
	return fmt.Sprintf("setpriv --reuid %d --regid %[1]d --clear-groups --", uid)
}

// LoadConfig reads the config of a bot for a command that works while the daemon runs. For the
// config of a service it sets STATE_DIRECTORY and CREDENTIALS_DIRECTORY in this process, as systemd
// does.
func LoadConfig(path string, parts config.Extensions) (*config.Config, error) {
	if err := CheckConfig(path); err != nil {
		return nil, err
	}
	if b, ok := systemd.FindBot(path); ok {
		b.SetEnviron()
	}
	return config.Load(path, os.Environ(), parts)
}
