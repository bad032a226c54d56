package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/internal/musttest"
)

func TestRootsDoctorDoesNotRunTheAgentOfAServiceThatNeverRan(t *testing.T) {
	for _, workspace := range []string{"etc/nanobot/faq", "work"} {
		dir, _ := rootsDoctor(t, nobodysBot)
		path := filepath.Join(dir, "etc/nanobot/faq/config.json")
		musttest.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
		musttest.Do(t, os.MkdirAll(filepath.Join(dir, workspace), 0o755))
		musttest.Do(t, os.WriteFile(path, []byte(`{"workspace": "`+filepath.Join(dir, workspace)+`", "terminal": {"command": "touch ran"}}`), 0o644))
		cmd := exec.Command(filepath.Join(dir, "nanobot"), "doctor", "--config", path)
		cmd.Env = environWithoutTestSettings()
		out, _ := cmd.CombinedOutput()
		expectText(t, string(out), "warn  agent             not run, because this is root: the unit has not run yet")
		if _, err := os.Stat(filepath.Join(dir, workspace, "ran")); err == nil {
			t.Error("the agent ran")
		}
	}
}

func TestRootsDoctorDoesNotGuessTheOwnerOfAMissingState(t *testing.T) {
	dir, examine := rootsDoctor(t, `{"workspace": "work", "gateway": {"stateDir": "../lib"}, "terminal": {"command": "touch ran"}}`)
	musttest.Do(t, os.Mkdir(filepath.Join(dir, "work"), 0o755))
	expectText(t, examine(), "warn  agent             not run, because this is root: there is no state yet")
}

func TestRootsDoctorNamesTheFolderThatTheDaemonCannotEnter(t *testing.T) {
	dir, examine := rootsDoctor(t, strings.ReplaceAll(nobodysBot, `"workspace": "state/workspace"`, `"workspace": "`+t.TempDir()+`"`))
	inner := filepath.Join(dir, "inner")
	musttest.Do(t, os.Mkdir(inner, 0o700))
	cfg := strings.NewReplacer(`"state/workspace"`, `"`+dir+`/state/workspace"`).Replace(nobodysBot)
	musttest.Do(t, os.WriteFile(filepath.Join(inner, "config.json"), []byte(cfg), 0o644))
	musttest.Do(t, os.Remove(filepath.Join(dir, "config.json")))
	musttest.Do(t, os.Symlink("inner/config.json", filepath.Join(dir, "config.json")))
	expectText(t, examine("--no-turn"), "fail  rights            user 65534, who owns the state, cannot read "+dir+"/config.json: permission denied")
	out, _ := exec.Command("env", "-i", filepath.Join(dir, "nanobot"), "doctor", "--no-turn", "--config", filepath.Join(inner, "config.json")).CombinedOutput()
	expectText(t, string(out), "fail  rights            user 65534, who owns the state, cannot read "+inner+"/config.json because of the permissions of "+inner, "chmod a+x "+inner)
}

func TestRootsDoctorUsesTheGroupOfTheUserAndNotOfTheFolder(t *testing.T) {
	dir, examine := rootsDoctor(t, nobodysBot)
	musttest.Do(t, os.Chown(filepath.Join(dir, "state"), nobody, 0))
	musttest.Do(t, os.Chmod(filepath.Join(dir, "config.json"), 0o640))
	out := examine("--no-turn")
	expectText(t, out, "cannot read "+dir+"/config.json", "chgrp 65534 ")
}

func TestRootsDoctorFindsFoldersOfRootsInTheWorkspace(t *testing.T) {
	dir, examine := rootsDoctor(t, nobodysBot)
	users := filepath.Join(dir, "state/workspace/users")
	musttest.Do(t, os.Mkdir(users, 0o700))
	expectText(t, examine("--no-turn"), "fail  workspace         "+"the daemon cannot write to "+users, "chown -hR 65534 "+users)
}

func TestDoctorsChownNamesTheFolderInsteadOfALink(t *testing.T) {
	dir, examine := rootsDoctor(t, `{"workspace": "state/workspace", "gateway": {"stateDir": "../../link"}, "terminal": {"command": "true"}}`)
	musttest.Do(t, os.Symlink("state", filepath.Join(dir, "link")))
	musttest.Do(t, os.WriteFile(filepath.Join(dir, "state/audit.jsonl"), nil, 0o600))
	out := examine("--no-turn")
	state := filepath.Join(dir, "state")
	command := "chown -hR 65534 " + state
	expectText(t, out, "audit.jsonl belongs to user 0", "→ "+command)
	musttest.Do(t, exec.Command("sh", "-c", command).Run())
	if out := examine("--no-turn"); strings.Contains(out, "fail  ") {
		t.Error(out)
	}
}

func TestRootsDoctorTriesTheAddressAsTheDaemonsUser(t *testing.T) {
	if b, err := os.ReadFile("/proc/sys/net/ipv4/ip_unprivileged_port_start"); err != nil || len(b) < 4 {
		t.Skipf("everybody may have any port here: %s, %v", b, err)
	}
	_, examine := rootsDoctor(t, strings.Replace(nobodysBot, `{"`, `{"http": {"listen": "127.0.0.1:81"}, "`, 1))
	expectText(t, examine("--no-turn"), "warn  http              http.listen: listen tcp 127.0.0.1:81: bind: permission denied", "a port of at least 1024")
}

func TestDoctorNamesWhatAUnitHides(t *testing.T) {
	f := newBotsServer(t)
	t.Setenv("CREDENTIALS_DIRECTORY", "")
	t.Setenv("STATE_DIRECTORY", "")
	if out, status := f.bots("create", "faq", "--command", "python3 /root/agent.py"); status != 0 {
		t.Fatal(out)
	}
	_, _, text := runDoctor(t, filepath.Join(f.Root, "etc/nanobot/faq/config.json"), false)
	expectText(t, text, "terminal.command contains /root/agent.py, which the unit hides")
}

func TestRootsDoctorDoesNotRunAnAgentThatNeedsCredentials(t *testing.T) {
	dir, _ := rootsDoctor(t, strings.Replace(nobodysBot, `{"command"`, `{"providers": {"openai": {"apiKeys": ["cred:openai"]}}, "command"`, 1))
	musttest.Do(t, os.WriteFile(filepath.Join(dir, "openai"), []byte("sk-123456"), 0o600))
	cmd := exec.Command(filepath.Join(dir, "nanobot"), "doctor", "--config", filepath.Join(dir, "config.json"))
	cmd.Env = append(environWithoutTestSettings(), "CREDENTIALS_DIRECTORY="+dir)
	out, _ := cmd.CombinedOutput()
	expectText(t, string(out), "warn  agent             not run, because this is root: the agent has secrets that only the service gets", " 0 fail")
}

func TestRootsDoctorAppliesVariablesThatOverrideTheConfig(t *testing.T) {
	t.Parallel()
	dir, _ := rootsDoctor(t, nobodysBot)
	cmd := exec.Command(filepath.Join(dir, "nanobot"), "doctor", "--config", filepath.Join(dir, "config.json"))
	cmd.Env = append(environWithoutTestSettings(), "NANOBOT_TERMINAL__COMMAND=echo one; env | grep -c NANOBOT_TERMINAL")
	out, _ := cmd.CombinedOutput()
	expectText(t, string(out), "exit status 1") // grep found none, as it should
	cmd = exec.Command(filepath.Join(dir, "nanobot"), "doctor", "--config", filepath.Join(dir, "config.json"))
	cmd.Env = append(environWithoutTestSettings(), "NANOBOT_TERMINAL__COMMAND=echo one; echo two")
	out, _ = cmd.CombinedOutput()
	expectText(t, string(out), "ok    agent             plain: 2 lines")
}

func TestRootsDoctorSaysHowToTryTheAgent(t *testing.T) {
	dir, examine := rootsDoctor(t, strings.Replace(nobodysBot, "echo ok", "exit 3", 1))
	expectText(t, examine(), "→ try it by hand: runuser -u nobody -- nanobot run -v --config "+dir+"/config.json hello")
}

// TestDoctorWithoutPermissionsSuggestsSudo is about an ordinary user who looks at a bot of the
// server.
func TestDoctorWithoutPermissionsSuggestsSudo(t *testing.T) {
	dir, _ := rootsDoctor(t, `{"workspace": "state/workspace", "terminal": {"command": "true"}, "channels": {"telegram": {"enabled": true, "token": "file:token"}}}`)
	musttest.Do(t, os.WriteFile(filepath.Join(dir, "token"), []byte("123456:abc"), 0o600))
	doctor := func() string {
		cmd := exec.Command("setpriv", "--reuid=4711", "--regid=4711", "--clear-groups", filepath.Join(dir, "nanobot"), "doctor", "--config", filepath.Join(dir, "config.json"))
		cmd.Env = environWithoutTestSettings()
		out, _ := cmd.CombinedOutput()
		return string(out)
	}
	expectText(t, doctor(), "token: read secret: open ", "→ run this with sudo")
	musttest.Do(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte(`{"workspace": "state/workspace", "terminal": {"command": "true"}}`), 0o644))
	out := doctor()
	expectText(t, out, "workspace: "+dir+"/state/workspace cannot be seen: permission denied\n                        → run this with sudo", "warn  agent             not run: stat "+dir+"/state/workspace: permission denied")
	if strings.Contains(out, "no folder") || strings.Contains(out, "no workspace yet") {
		t.Error(out)
	}
}

func TestRootsDoctorLooksAtTheFoldersOfAService(t *testing.T) {
	t.Parallel()
	dir, _ := rootsDoctor(t, nobodysBot)
	path, state := filepath.Join(dir, "etc/nanobot/faq/config.json"), filepath.Join(dir, "var/lib/nanobot/faq")
	actual := filepath.Join(dir, "var/lib/private/nanobot/faq")
	musttest.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
	musttest.Do(t, os.MkdirAll(filepath.Dir(state), 0o755))
	musttest.Do(t, os.WriteFile(path, []byte(`{"workspace": "`+state+`/workspace", "terminal": {"command": "true"}}`), 0o644))
	examine := func() string {
		cmd := exec.Command(filepath.Join(dir, "nanobot"), "doctor", "--config", path)
		cmd.Env = environWithoutTestSettings()
		out, _ := cmd.CombinedOutput()
		return string(out)
	}
	expectText(t, examine(), "will be created at the first start", " 0 fail")
	musttest.Do(t, os.Chmod(filepath.Dir(state), 0o700))
	expectText(t, examine(), "fail  state             the bot cannot enter "+filepath.Dir(state), "chmod a+x "+filepath.Dir(state))
	musttest.Do(t, os.Chmod(filepath.Dir(state), 0o755))

	// As systemd makes it: a user without a name, behind a folder that is closed.
	musttest.Do(t, os.MkdirAll(filepath.Join(actual, "workspace"), 0o700))
	musttest.Do(t, os.Chmod(filepath.Join(dir, "var/lib/private"), 0o700))
	musttest.Do(t, os.Symlink("../private/nanobot/faq", state))
	for _, folder := range []string{"", "workspace"} {
		musttest.Do(t, os.Chown(filepath.Join(actual, folder), stranger, stranger))
	}
	expectText(t, examine(), state+" is writable (user 4711, mode 0700)", "warn  agent             not run, because this is root: the state belongs to user 4711", " 0 fail")
	musttest.Do(t, os.Mkdir(filepath.Join(actual, "workspace/users"), 0o700))
	expectText(t, examine(), "the daemon cannot write to "+state+"/workspace/users", "chown -hR 4711 "+actual+"/workspace/users")
}
