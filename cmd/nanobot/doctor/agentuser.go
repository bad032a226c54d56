package doctor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"nanobot/channels"
	"nanobot/cmd/nanobot/exit"
	"nanobot/cmd/nanobot/trust"
	"nanobot/config"
)

// notAsRoot returns why root does not run the agent, not even as the daemon's user; "": it does. An
// agent can replace the workspace by anything, so the workspace must belong to the state's owner.
func (d *doctor) notAsRoot() string {
	if d.userErr != nil {
		return d.userErr.Error()
	}
	h, err := trust.OwnerOf(d.cfg.Workspace)
	switch s := d.user; {
	case err != nil:
		return err.Error()
	case h.UID != s.UID:
		return fmt.Sprintf("the workspace belongs to user %d, and the state to user %d", h.UID, s.UID)
	case s.UID == 0:
		return ""
	case s.Name == "" || s.Access(d.cfg.Workspace, unix.X_OK) != nil:
		return fmt.Sprintf("the state belongs to user %d, who outside of a service has no name, or no way to the workspace", s.UID)
	case d.cfg.Terminal.NeedsCredentials():
		return "the agent has secrets that only the service is given (cred:)"
	}
	return ""
}

// turnAs runs the agent as the daemon's user, by starting this program again: without root's rights
// or a way to get them back, and without root's environment and terminal.
func (d *doctor) turnAs(ctx context.Context) {
	found, err := d.runAsUser(ctx)
	if err != nil {
		d.report("agent", channels.Doubtful, fmt.Sprintf("not run, because this is root and setpriv did not get to user %d: %v", d.user.UID, err), d.manualCommand())
	}
	d.found = append(d.found, found...)
}

// runAsUser returns the findings of this program when it runs as the daemon's user.
func (d *doctor) runAsUser(ctx context.Context) (found []channels.Finding, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	s := d.user
	cmd := exec.CommandContext(ctx, "setpriv", "--reuid", strconv.Itoa(s.UID), "--regid", strconv.Itoa(s.GID), "--init-groups", "--no-new-privs", "--inh-caps=-all", "--bounding-set=-all", "--",
		self, "doctor", "--json", "--only-agent", cmp.Or(d.agent, config.DefaultAgent), "--config", d.cfg.File())
	cmd.Dir, cmd.Env = "/", plainEnv(s.Home)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // it ends the agent, too
	cmd.WaitDelay = 20 * time.Second
	out, err := cmd.Output()
	if bad := json.Unmarshal(out, &found); bad == nil && len(found) > 0 {
		return found, nil // a failed check is an exit status, too
	}
	return nil, fmt.Errorf("%w", cmp.Or(err, errors.New("it printed nothing")))
}

// plainEnv returns the environment for another user's agent, with the variables that override the
// config, which the agent does not get.
func plainEnv(home string) []string {
	env := []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=" + cmp.Or(os.Getenv("LANG"), "C.UTF-8"), "HOME=" + home}
	for _, entry := range os.Environ() {
		if strings.HasPrefix(entry, "STATE_DIRECTORY=") || strings.HasPrefix(entry, "NANOBOT_") {
			env = append(env, entry)
		}
	}
	return env
}

// examineAgent runs the agent and makes no other check, for turnAs.
func (d *doctor) examineAgent(ctx context.Context) int {
	d.forRoot = true
	if !d.load() {
		return exit.Config
	}
	if !d.useAgent(d.cfg, d.OnlyAgent) {
		d.report("agent", channels.Bad, "there is no agent "+d.OnlyAgent, "")
		return exit.Config
	}
	d.checkAgent(ctx)
	return d.status()
}
