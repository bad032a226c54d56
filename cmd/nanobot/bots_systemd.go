package main

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

// botFiles is where one bot of a server is, as the units in deploy/systemd have it. Without a name it is the only one.
type botFiles struct{ root, name string }

// findBot returns the bot that a config belongs to, if it lies where the units look for it.
func findBot(path string) (botFiles, bool) {
	path, err := filepath.Abs(path)
	if err != nil || filepath.Base(path) != "config.json" {
		return botFiles{}, false
	}
	b := botFiles{name: filepath.Base(filepath.Dir(path))}
	etc := filepath.Dir(filepath.Dir(path))
	if b.name == "nanobot" && filepath.Base(etc) == "etc" {
		etc, b.name = filepath.Dir(path), ""
	}
	b.root = filepath.Dir(filepath.Dir(etc))
	return b, b.config() == path && (b.name == "" || botName.MatchString(b.name))
}

func (b botFiles) dir() string         { return filepath.Join(b.root, "etc/nanobot", b.name) }
func (b botFiles) config() string      { return filepath.Join(b.dir(), "config.json") }
func (b botFiles) credentials() string { return filepath.Join(b.dir(), "credentials") }
func (b botFiles) state() string       { return filepath.Join(b.root, "var/lib/nanobot", b.name) }

// workspace is apart from the rest of the state, so that an agent can be confined to it.
func (b botFiles) workspace() string { return filepath.Join(b.state(), "workspace") }

// kept are the folders of a bot's state: under DynamicUser= the first is a link to the second.
func (b botFiles) kept() []string {
	return []string{b.state(), filepath.Join(b.root, "var/lib/private/nanobot", b.name)}
}

// overrides are where systemd keeps what it was told of this bot's unit alone: by edit and mask, by set-property, and by either until a reboot.
func (b botFiles) overrides() (paths []string) {
	for _, dir := range []string{"etc/systemd/system", "etc/systemd/system.control", "run/systemd/system", "run/systemd/system.control"} {
		unit := filepath.Join(b.root, dir, b.unit())
		paths = append(paths, unit+".d", unit)
	}
	return paths
}

func (b botFiles) unit() string {
	if b.name == "" {
		return "nanobot.service"
	}
	return "nanobot@" + b.name + ".service"
}

// enter sets what systemd would tell the daemon, so that its state and its secrets are found by who may read them.
func (b botFiles) enter() {
	for name, dir := range map[string]string{"STATE_DIRECTORY": b.state(), "CREDENTIALS_DIRECTORY": b.credentials()} {
		_, err := os.Stat(dir)
		if there := err == nil || dir == b.state() && b.served(); there && os.Getenv(name) == "" {
			_ = os.Setenv(name, dir)
		}
	}
}

// served tells whether it is systemd that starts the bot, as far as anybody can tell: a daemon that was started by hand has its state beside the
// config.
func (b botFiles) served() bool {
	_, err := os.Stat(filepath.Join(b.dir(), ".nanobot"))
	return err != nil && systemd{b.root}.runs()
}

// systemd is the service manager of a root.
type systemd struct{ root string }

// booted is there where systemd is what runs this machine, as sd_booted has it.
var booted = "/run/systemd/system"

// runs tells whether systemd runs this machine, and the root is this machine's. systemctl would obey for no other.
func (s systemd) runs() bool {
	here, err := os.Stat(booted)
	if err != nil || !here.IsDir() {
		return false
	}
	there, err := os.Stat(filepath.Join(s.root, "run/systemd/system"))
	return err == nil && os.SameFile(here, there)
}

var errNoSystemd = errors.New("systemd does not run here, so there is nothing that could start or stop bots; nanobot serve --config FILE runs one by hand")

// call runs systemctl and returns what it printed.
func (s systemd) call(ctx context.Context, args ...string) (string, error) {
	if !s.runs() {
		return "", errNoSystemd
	}
	var out, said bytes.Buffer
	cmd := exec.CommandContext(ctx, "systemctl", append([]string{"--no-pager"}, args...)...)
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		if text := format.OneLine(said.String()); text != "" {
			err = errors.New(text)
		}
		return out.String(), fmt.Errorf("systemctl %s: %w", strings.Join(args, " "), err)
	}
	return out.String(), nil
}

// unitState is what systemd says of a unit.
type unitState struct {
	Load    string // loaded, not-found, masked …
	File    string // enabled, disabled …
	State   string // active, inactive, failed, activating …
	Sub     string
	Result  string // success, exit-code, watchdog …
	Status  string // what the daemon says of itself
	Exit    int
	PID     int
	Restart int // how often it was restarted
}

// Active tells whether it runs, or is about to.
func (u unitState) Active() bool {
	return u.State == "active" || u.State == "activating" || u.State == "reloading"
}

// Crashes tells whether it has ended by itself and waits to be started again.
func (u unitState) Crashes() bool { return strings.HasPrefix(u.Sub, "auto-restart") }

const unitProperties = "Id,LoadState,UnitFileState,ActiveState,SubState,Result,StatusText,ExecMainStatus,MainPID,NRestarts"

// show asks about units. Where systemd does not run it knows none.
func (s systemd) show(ctx context.Context, units ...string) (map[string]unitState, error) {
	all := map[string]unitState{}
	if !s.runs() || len(units) == 0 {
		return all, nil
	}
	out, err := s.call(ctx, append([]string{"show", "--property=" + unitProperties, "--"}, units...)...)
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
			n, _ := strconv.Atoi(p[name]) // what systemd does not tell is 0
			return n
		}
		all[p["Id"]] = unitState{
			Load: p["LoadState"], File: p["UnitFileState"], State: p["ActiveState"], Sub: p["SubState"], Result: p["Result"], Status: p["StatusText"],
			Exit: number("ExecMainStatus"), PID: number("MainPID"), Restart: number("NRestarts"),
		}
	}
	return all, nil
}
