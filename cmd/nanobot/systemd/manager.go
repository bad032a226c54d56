package systemd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"nanobot/cmd/nanobot/format"
)

// Manager calls systemctl for the server with this root folder.
type Manager struct{ Root string }

// Booted is the folder that exists where systemd runs this machine, see sd_booted(3). Only tests
// change it.
var Booted = "/run/systemd/system"

// Runs reports whether systemd manages this machine and Root belongs to this machine, since
// systemctl cannot manage another one.
func (m Manager) Runs() bool {
	here, err := os.Stat(Booted)
	if err != nil || !here.IsDir() {
		return false
	}
	there, err := os.Stat(filepath.Join(m.Root, "run/systemd/system"))
	return err == nil && os.SameFile(here, there)
}

// ErrNotRunning is the error of calls where systemd does not run this machine.
var ErrNotRunning = errors.New("systemd does not run on this machine, so bots cannot be started or stopped; run one " +
	"in this terminal with: nanobot serve --config FILE")

// Call runs systemctl and returns its output.
func (m Manager) Call(ctx context.Context, args ...string) (string, error) {
	if !m.Runs() {
		return "", ErrNotRunning
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "systemctl", append([]string{"--no-pager"}, args...)...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if text := format.OneLine(stderr.String()); text != "" {
			err = errors.New(text)
		}
		return stdout.String(), fmt.Errorf("systemctl %s: %w", strings.Join(args, " "), err)
	}
	return stdout.String(), nil
}

// UnitState is what systemd reports about a unit.
type UnitState struct {
	Load    string // loaded, not-found, masked …
	File    string // enabled, disabled …
	State   string // active, inactive, failed, activating …
	Sub     string
	Result  string // success, exit-code, watchdog …
	Status  string // the status text of the daemon (sd_notify)
	Exit    int
	PID     int
	Restart int // how often it was restarted
}

// Active reports whether the unit runs or is about to.
func (u UnitState) Active() bool {
	return u.State == "active" || u.State == "activating" || u.State == "reloading"
}

// Crashes reports whether the unit has exited and waits for its automatic restart.
func (u UnitState) Crashes() bool { return strings.HasPrefix(u.Sub, "auto-restart") }

// UnitProperties are the properties that Show requests.
const UnitProperties = "Id,LoadState,UnitFileState,ActiveState,SubState,Result,StatusText," +
	"ExecMainStatus,MainPID,NRestarts"

// Show asks systemd about units. Where systemd does not run the result is empty.
func (m Manager) Show(ctx context.Context, units ...string) (map[string]UnitState, error) {
	all := map[string]UnitState{}
	if !m.Runs() || len(units) == 0 {
		return all, nil
	}
	out, err := m.Call(ctx, append([]string{"show", "--property=" + UnitProperties, "--"}, units...)...)
	if err != nil {
		return nil, err
	}
	for block := range strings.SplitSeq(out, "\n\n") {
		p := map[string]string{}
		for line := range strings.Lines(block) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			p[name] = value
		}
		number := func(name string) int {
			n, _ := strconv.Atoi(p[name]) // a missing property is 0
			return n
		}
		all[p["Id"]] = UnitState{
			Load: p["LoadState"], File: p["UnitFileState"], State: p["ActiveState"], Sub: p["SubState"], Result: p["Result"],
			Status: p["StatusText"],
			Exit:   number("ExecMainStatus"), PID: number("MainPID"), Restart: number("NRestarts"),
		}
	}
	return all, nil
}
