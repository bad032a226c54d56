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

	"nanobot/cmd/nanobot/exit"
	"nanobot/cmd/nanobot/trust"
	"nanobot/config"
)

// reasonAgainstRoot returns why root must not run the agent, even as the daemon's user, or "" if
// root may. An agent can replace the workspace, so the workspace must belong to the owner of the
// state.
func (d *doctor) reasonAgainstRoot() string {
	if d.userErr != nil {
		return d.userErr.Error()
	}
	h, err := trust.OwnerOf(d.cfg.Workspace)
	switch s := d.user; {
	case err != nil:
		return err.Error()
	case h.UID != s.UID:
		return fmt.Sprintf("the workspace belongs to user %d, but the state to user %d", h.UID, s.UID)
	case s.UID == 0:
		return ""
	case s.Name == "" || s.Access(d.cfg.Workspace, unix.X_OK) != nil:
		return fmt.Sprintf("the state belongs to user %d, who has no name or cannot enter the workspace outside of the "+
			"service", s.UID)
	case d.cfg.Terminal.NeedsCredentials():
		return "the agent has secrets that only the service gets (cred:)"
	}
	return ""
}

// tryAgentAsUser runs the agent as the daemon's user. It starts this program again, without root's
// privileges or a way to regain them, and without root's environment and terminal.
func (d *doctor) tryAgentAsUser(ctx context.Context) findings {
	found, err := d.runAsUser(ctx)
	if err != nil {
		return doubtful(fmt.Sprintf("not run, because this is root and setpriv could not switch to user %d: %v", d.user.UID,
			err), d.manualCommand())
	}
	return found
}

// runAsUser starts this program as the daemon's user and returns its findings.
func (d *doctor) runAsUser(ctx context.Context) (found findings, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	s := d.user
	cmd := exec.CommandContext(ctx, "setpriv", "--reuid", strconv.Itoa(s.UID), "--regid", strconv.Itoa(s.GID),
		"--init-groups", "--no-new-privs", "--inh-caps=-all", "--bounding-set=-all", "--",
		self, "doctor", "--json", "--only-agent", cmp.Or(d.agent, config.DefaultAgent), "--config", d.cfg.File())
	cmd.Dir, cmd.Env = "/", minimalEnv(s.Home)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // the child then kills the agent
	cmd.WaitDelay = 20 * time.Second
	out, err := cmd.Output()
	if bad := json.Unmarshal(out, &found); bad == nil && len(found) > 0 {
		return found, nil // the exit status may be that of a failed check
	}
	return nil, fmt.Errorf("%w", cmp.Or(err, errors.New("it printed no findings")))
}

// minimalEnv returns the environment of a doctor that runs as another user. It has the variables
// that override the config; agents do not get these.
func minimalEnv(home string) []string {
	env := []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=" +
		cmp.Or(os.Getenv("LANG"), "C.UTF-8"), "HOME=" + home}
	for _, entry := range os.Environ() {
		if strings.HasPrefix(entry, "STATE_DIRECTORY=") || strings.HasPrefix(entry, "NANOBOT_") {
			env = append(env, entry)
		}
	}
	return env
}

// examineAgent runs the agent and makes no other check, for tryAgentAsUser.
func (d *doctor) examineAgent(ctx context.Context) int {
	d.startedByRoot = true
	if !d.loadConfig() {
		return exit.Config
	}
	if !d.selectAgent(d.cfg, d.OnlyAgent) {
		d.add("agent", bad("there is no agent "+d.OnlyAgent, ""))
		return exit.Config
	}
	d.add("agent", d.checkAgent(ctx))
	return d.exitStatus()
}
