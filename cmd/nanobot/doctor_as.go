package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"nanobot/channels"
)

// agentsUser returns whom root has to run the agent as: the owner of the state, who the daemon is. An agent can put anything into the workspace's
// place, so nothing about that is believed which the state does not bear out.
func (d *doctor) agentsUser() (int, error) {
	uid, _, err := trustee(d.cfg.Gateway.StateDir)
	if err != nil {
		return 0, err
	}
	info, err := os.Lstat(d.cfg.Workspace)
	if err != nil {
		return 0, err
	}
	if info.Mode().Type() == fs.ModeSymlink {
		return 0, fmt.Errorf("the workspace %s is a link", d.cfg.Workspace)
	}
	of, _, err := trustee(d.cfg.Workspace)
	if err == nil && of != uid {
		err = fmt.Errorf("the workspace belongs to user %d, and the state to user %d", of, uid)
	}
	return uid, err
}

// turnAs has the agent run as the daemon's user, by this program again: without root's rights, a way to get them back, root's environment and
// root's terminal. A user that systemd has made up is in no list, and can only be had within its service.
func (d *doctor) turnAs(ctx context.Context, uid int) {
	const check = "agent"
	skip := func(why string) {
		fix := fmt.Sprintf("as that user: nanobot run -v --config %s hello", shown(d.cfg.File()))
		if d.unitName != "" {
			fix = fmt.Sprintf("write to the bot and see what it answers; journalctl -u %s -n 50 shows the rest", d.unitName)
		}
		d.say(check, channels.Doubtful, fmt.Sprintf("not run, because this is root and the state belongs to user %d: %s", uid, why), fix)
	}
	u, err := user.LookupId(strconv.Itoa(uid))
	if err != nil {
		skip("who has no name on this machine")
		return
	}
	self, err := os.Executable()
	if err != nil {
		skip(err.Error())
		return
	}
	file, err := filepath.Abs(d.path)
	if err != nil {
		skip(err.Error())
		return
	}
	cmd := exec.CommandContext(ctx, "setpriv", "--reuid", u.Uid, "--regid", u.Gid, "--init-groups", "--no-new-privs", "--inh-caps=-all", "--bounding-set=-all", "--",
		self, "doctor", "--json", "--only-agent", "--config", file)
	cmd.Dir, cmd.Env = "/", plainEnv(u.HomeDir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // it ends the agent, too
	cmd.WaitDelay = 20 * time.Second
	out, err := cmd.Output()
	var found []channels.Finding
	if json.Unmarshal(out, &found) != nil || len(found) == 0 { // a failed check is an exit status, too
		skip(fmt.Sprintf("setpriv did not get there: %v", err))
		return
	}
	d.found = append(d.found, found...)
}

// plainEnv is what another user's agent is told of ours.
func plainEnv(home string) []string {
	env := []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=" + cmp.Or(os.Getenv("LANG"), "C.UTF-8"), "HOME=" + home}
	if dir := os.Getenv("STATE_DIRECTORY"); dir != "" {
		env = append(env, "STATE_DIRECTORY="+dir)
	}
	return env
}

// onlyAgent runs the agent and makes no other check: that is for turnAs.
func (d *doctor) onlyAgent(ctx context.Context) int {
	if !d.load() {
		return exitConfig
	}
	d.checkAgent(ctx)
	return d.status()
}
