package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"nanobot/channels"
)

// turnInside has the agent run where a service of systemd's runs, by its user and with its view of the files: to others the state of a user that
// systemd has made up is closed. It is done by this program again, put there by nsenter.
func (d *doctor) turnInside(ctx context.Context, uid int) {
	const check = "agent"
	why := fmt.Sprintf("not run, because this is root and the workspace belongs to user %d", uid)
	if d.running == 0 {
		d.say(check, channels.Doubtful, why, "start the bot and run this again, which then looks from inside its service")
		return
	}
	self, err := os.Executable()
	if err != nil {
		d.say(check, channels.Doubtful, why+": "+err.Error(), "write to the bot and look at what it answers")
		return
	}
	id := strconv.Itoa(uid)
	args := []string{"--target", strconv.Itoa(d.running), "--mount", "--setuid", id, "--setgid", id, "--", self, "doctor", "--json", "--only-agent", "--config", d.cfg.File()}
	cmd := exec.CommandContext(ctx, "nsenter", args...)
	cmd.Env = append(insideEnviron(d.unitName), "HOME="+d.cfg.Gateway.StateDir)
	out, err := cmd.Output()
	var found []channels.Finding
	if json.Unmarshal(out, &found) != nil || len(found) == 0 { // a failed check is an exit status, too
		d.say(check, channels.Doubtful, fmt.Sprintf("%s, and nsenter did not get there: %v", why, err), "by hand: nsenter "+strings.Join(args[:8], " ")+" nanobot run --config "+shown(d.cfg.File())+" hello")
		return
	}
	d.found = append(d.found, found...)
}

// insideEnviron is ours, with the secrets of the service in place of what only root can read.
func insideEnviron(unit string) []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "CREDENTIALS_DIRECTORY=") {
			env = append(env, v)
		}
	}
	if dir := filepath.Join("/run/credentials", unit); unit != "" {
		env = append(env, "CREDENTIALS_DIRECTORY="+dir)
	}
	return env
}

// onlyAgent runs the agent and makes no other check: that is for whoever has put us where it lives.
func (d *doctor) onlyAgent(ctx context.Context) int {
	if !d.load() {
		return exitConfig
	}
	d.checkAgent(ctx)
	return d.status()
}
