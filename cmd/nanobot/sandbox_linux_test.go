package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"nanobot/channels"
	"nanobot/cmd/nanobot/doctor"
	"nanobot/cmd/nanobot/exit"
	"nanobot/internal/musttest"
)

// requireLandlock skips the test if the kernel has no Landlock.
func requireLandlock(t *testing.T) {
	t.Helper()
	if doctor.LandlockABI() == 0 {
		t.Skip("this kernel has no Landlock")
	}
}

// takeOver is an agent that makes the config its own, makes the daemon read it again, and looks for
// what is secret.
const takeOver = `sed -i 's/landlock/none/; s/true/false/; s/\["7"\]/["*"]/' config.json
sed 's/landlock/none/; s/true/false/' config.json > new.json; mv -f new.json config.json; cp new.json config.json
kill -HUP $PPID
cat token.txt .nanobot/* 2>/dev/null | tr -d '\0' | grep -a hush
ls .nanobot users
echo tried`

func TestAnAgentCannotRewriteTheConfigAndHaveItRead(t *testing.T) {
	t.Parallel()
	requireLandlock(t)
	cfg := `{"terminal": {"command": "exec sh agent.sh", "sandbox": "landlock", "sandboxRequired": true}, "http": {"token": "file:token.txt"}, "channels": {"net": {"allowFrom": ["7"]}}}`
	b := startBotIn(t, outsideTemp(t), cfg, map[string]string{"agent.sh": takeOver, "token.txt": "hush-hush-hush-hush"})
	b.net.UserWrites("1", "7", "take over")
	got := b.awaitText("1", "tried").Text
	if strings.Contains(got, "hush") || strings.Contains(got, "nanobot.db") || !strings.Contains(got, "tried") {
		t.Errorf("the agent says %q", got)
	}
	if now, err := os.ReadFile(b.cfg); string(now) != cfg {
		t.Fatalf("the config is %q, %v", now, err)
	}
	b.signal(syscall.SIGHUP)
	b.awaitLog("config reloaded")
	b.net.UserWrites("2", "8", "let me in")
	b.awaitText("2", "This bot is private")
	b.net.UserWrites("3", "7", "once more")
	if got := b.awaitText("3", "tried").Text; strings.Contains(got, "hush") {
		t.Errorf("after the reload the agent says %q", got)
	}
	b.awaitLog("lies where the agent may write") // there is a better place
}

// The state lies in the workspace by default, and is hidden as a folder: the rest of the workspace
// is the agent's as usual.
func TestAnAgentInASandboxHasItsWorkspaceBesideTheState(t *testing.T) {
	requireLandlock(t)
	dir := outsideTemp(t)
	work := filepath.Join(dir, "work")
	musttest.Do(t, os.Mkdir(work, 0o755))
	cfg := `{"workspace": "work", "terminal": {"command": "cat > /dev/null; echo x > made && ls && ls .nanobot; echo listed", "protocol": "plain", "sandbox": "landlock"}` + anybody
	b := startBotIn(t, dir, cfg, nil)
	if strings.Contains(b.log(), "no mount namespaces here") {
		t.Skip("without mount namespaces the workspace is granted entry by entry")
	}
	b.net.UserWrites("1", "7", "look around")
	if got := b.awaitText("1", "listed").Text; !strings.Contains(got, "made\nusers") || strings.Contains(got, "nanobot.db") {
		t.Errorf("the agent says %q", got)
	}
	if strings.Contains(b.log(), "entry by entry") || strings.Contains(b.log(), "lies where the agent may write") {
		t.Errorf("logged %s", b.log())
	}
}

func TestAConfigThatNoSandboxKeepsFromTheAgentIsRefused(t *testing.T) {
	requireLandlock(t)
	dir := outsideTemp(t)
	path := filepath.Join(dir, "config.json")
	musttest.Do(t, os.WriteFile(path, []byte(`{"terminal": {"command": "true", "sandbox": "landlock", "sandboxRequired": true}}`), 0o600))
	musttest.Do(t, os.Link(path, filepath.Join(dir, "other")))
	p := startProgram(t, "serve", "--config", path)
	if got := p.awaitExit(); got != exit.Config || !strings.Contains(p.log(), path+" has another hard link") {
		t.Errorf("status %d:\n%s", got, p.log())
	}
	musttest.Do(t, os.WriteFile(path, []byte(`{"terminal": {"command": "true", "sandbox": "landlock"}}`), 0o600))
	all, _, _ := runDoctor(t, path, false)
	all.expectFinding(t, "isolation", channels.Doubtful, path+" has another hard link")
}

func TestDoctorSaysWhatAUnitsAgentCannotDoInItsWorkspace(t *testing.T) {
	requireLandlock(t)
	f := newBotsServer(t)
	t.Setenv("CREDENTIALS_DIRECTORY", "")
	t.Setenv("STATE_DIRECTORY", "")
	if out, status := f.bots("create", "faq", "--command", "cat"); status != 0 {
		t.Fatal(out)
	}
	path := filepath.Join(f.Root, "etc/nanobot/faq/config.json")
	musttest.Do(t, os.WriteFile(path, []byte(`{"terminal": {"command": "cat", "sandbox": "landlock"}}`), 0o644))
	all, _, _ := runDoctor(t, path, false)
	all.expectFinding(t, "isolation", channels.Good, "it can neither list, create, rename nor delete anything")
}

// startBotIn is startBot with its files in a certain folder.
func startBotIn(t *testing.T, dir, cfg string, files map[string]string) *bot {
	t.Helper()
	for name, text := range files {
		musttest.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	b := newBot(t)
	b.cfg = filepath.Join(dir, "config.json")
	b.configure(t, cfg)
	b.program = startProgram(t, "serve", "--config", b.cfg)
	return b
}

// outsideTemp returns a folder that is in no temp folder, since a sandbox keeps agents out of
// these. The home directory comes last: other users may not enter it, and sandboxes of other tests
// that run as such a user would have to hide what is in there.
func outsideTemp(t *testing.T) string {
	t.Helper()
	home, _ := os.UserHomeDir()
	for _, place := range []string{"/srv", "/var/lib", home} {
		if dir, err := os.MkdirTemp(place, "nanobot-test-"); err == nil {
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			return dir
		}
	}
	t.Skip("there is no folder to write to but the temp folders")
	return ""
}
