package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"nanobot/channels"
	"nanobot/cmd/nanobot/exit"
	"nanobot/cmd/nanobot/trust"
	"nanobot/internal/musttest"
)

// nobody is a user of every machine.
const nobody = 65534

// rootsDoctor is a place where root examines somebody else's bot, with a program that others can
// start.
func rootsDoctor(t *testing.T, cfg string) (dir string, examine func(args ...string) string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can become somebody else")
	}
	if _, err := exec.LookPath("setpriv"); err != nil {
		t.Skip("needs setpriv")
	}
	dir, err := os.MkdirTemp("/tmp", "roots-doctor-") // where others may look
	musttest.Do(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	musttest.Do(t, os.Chmod(dir, 0o755))
	linkProgram(t, filepath.Join(dir, "nanobot"))
	for _, name := range []string{"state", "state/workspace"} {
		musttest.Do(t, os.Mkdir(filepath.Join(dir, name), 0o700))
		musttest.Do(t, os.Chown(filepath.Join(dir, name), nobody, nobody))
	}
	path := filepath.Join(dir, "config.json")
	musttest.Do(t, os.WriteFile(path, []byte(cfg), 0o644))
	return dir, func(args ...string) string {
		cmd := exec.Command(filepath.Join(dir, "nanobot"), append([]string{"doctor", "--config", path}, args...)...)
		cmd.Env = append(environWithoutTestSettings(), "ROOTS_SECRET=hush")
		out, _ := cmd.CombinedOutput()
		return string(out)
	}
}

const nobodysBot = `{"workspace": "state/workspace", "gateway": {"stateDir": ".."}, "terminal": {"command": "id -u > ran; env >> ran; grep -E '^(NoNewPrivs|CapBnd)' /proc/self/status >> ran; echo ok"}}`

func TestRootsDoctorRunsTheAgentAsTheStatesOwner(t *testing.T) {
	dir, examine := rootsDoctor(t, nobodysBot)
	if out := examine(); !strings.Contains(out, "ok    agent             plain: 1 line,") {
		t.Error(out)
	}
	ran := filepath.Join(dir, "state/workspace/ran")
	b := musttest.Get(os.ReadFile(ran))(t)
	text := string(b)
	for _, want := range []string{"65534\n", "NoNewPrivs:\t1", "CapBnd:\t0000000000000000", "PATH=/usr/local/sbin:"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "hush") {
		t.Errorf("it has root's environment:\n%s", text)
	}
	if info, err := os.Stat(ran); err != nil || trust.FileUID(info) != nobody {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "state/workspace/users")); err == nil {
		t.Error("the chat's folder stays")
	}
}

// linkByAgent makes a symbolic link that belongs to the agent's user.
func linkByAgent(t *testing.T, to, path string) {
	t.Helper()
	musttest.Do(t, os.Symlink(to, path))
	musttest.Do(t, os.Lchown(path, nobody, nobody))
}

func TestRootsDoctorFollowsNoLinkOfTheAgent(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]func(t *testing.T, workspace, victim string){
		"a link for the workspace": func(t *testing.T, workspace, victim string) {
			musttest.Do(t, os.Remove(workspace))
			linkByAgent(t, victim, workspace)
		},
		"a link for the users": func(t *testing.T, workspace, victim string) {
			linkByAgent(t, victim, filepath.Join(workspace, "users"))
		},
		"a workspace of root's": func(t *testing.T, workspace, _ string) { musttest.Do(t, os.Chown(workspace, 0, 0)) },
		"a pipe for the lock": func(t *testing.T, workspace, _ string) {
			musttest.Do(t, exec.Command("mkfifo", filepath.Join(filepath.Dir(workspace), "daemon.lock")).Run())
			musttest.Do(t, os.Chown(workspace, 0, 0))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, examine := rootsDoctor(t, nobodysBot)
			victim := filepath.Join(dir, "victim")
			musttest.Do(t, os.Mkdir(victim, 0o700))
			harm(t, filepath.Join(dir, "state/workspace"), victim)
			out := examine()
			if strings.Contains(out, "ok    agent") || !strings.Contains(out, "agent") {
				t.Error(out)
			}
			if regexp.MustCompile(`(chown|chmod) .*victim`).MatchString(out) {
				t.Errorf("the operator is sent to root's folder:\n%s", out)
			}
			if _, err := os.Stat(filepath.Join(dir, "state/workspace/ran")); err == nil {
				t.Error("the agent ran")
			}
			info, err := os.Stat(victim)
			entries, _ := os.ReadDir(victim)
			if err != nil || info.Mode().Perm() != 0o700 || len(entries) > 0 {
				t.Errorf("root's folder is %v, %v, with %v", info, err, entries)
			}
		})
	}
}

func TestRootsDoctorChecksThePermissionsOfTheStatesOwner(t *testing.T) {
	dir, examine := rootsDoctor(t, strings.Replace(nobodysBot, `{"`, `{"http": {"token": "file:key"}, "`, 1))
	musttest.Do(t, os.WriteFile(filepath.Join(dir, "key"), []byte("abcdefghijklmnopqrstuvwxyz0123456789"), 0o600))
	musttest.Do(t, os.Chmod(filepath.Join(dir, "config.json"), 0o600))
	musttest.Do(t, os.Chown(filepath.Join(dir, "state/workspace"), 0, 0))
	out := examine("--no-turn")
	for _, want := range []string{"user 65534, who owns the state, cannot read " + dir + "/key", "cannot read " + dir + "/config.json", "workspace is not writable: permission denied (it belongs to user 0, mode 0700; the daemon is user 65534)"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

func TestDoctorNamesMissingIsolation(t *testing.T) {
	// No machine has the whole of this for an agent of the gateway's own user.
	path := writeBot(t, `{"terminal": {"command": "echo ok", "limits": {"processes": 50}}}`, nil)
	all, _, _ := runDoctor(t, path, false)
	all.expectFinding(t, "isolation", channels.Doubtful, "terminal.limits")
	// A sandbox that no agent could be started in is a mistake.
	path = writeBot(t, `{"terminal": {"command": "echo ok", "sandbox": "no-such-sandbox-anywhere"}}`, nil)
	all, status, _ := runDoctor(t, path, false)
	if all.expectFinding(t, "config", channels.Bad, "no-such-sandbox-anywhere"); status != exit.Config {
		t.Errorf("status %d", status)
	}
}

func TestDoctorSuggestsNoModeThatHidesTheConfigFromTheBot(t *testing.T) {
	f := newBotsServer(t)
	t.Setenv("CREDENTIALS_DIRECTORY", "")
	t.Setenv("STATE_DIRECTORY", "")
	if out, status := f.bots("create", "faq", "--command", "cat"); status != 0 {
		t.Fatal(out)
	}
	path := filepath.Join(f.Root, "etc/nanobot/faq/config.json")
	musttest.Do(t, os.WriteFile(path, []byte(`{"terminal": {"command": "cat"}, "http": {"token": "abcdefghijklmnopqrstuvwxyz0123456789"}}`), 0o644))
	all, _, text := runDoctor(t, path, false)
	all.expectFinding(t, "config", channels.Doubtful, "everybody on this machine can read it")
	if strings.Contains(text, "chmod o-r") || !strings.Contains(text, "etc/nanobot/faq/credentials/NAME") {
		t.Error(text)
	}
}
