package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/channels"
	"nanobot/cmd/nanobot/exit"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

const harmlessBot = `{"terminal": {"command": "echo ok"}}`

func TestDoctorLooksAtFilesAndTheirOwners(t *testing.T) {
	for name, c := range map[string]struct {
		cfg    string
		harm   func(t *testing.T, dir string)
		check  string
		status channels.Verdict
		words  string
	}{
		"an open token": {
			`{"terminal": {"command": "echo ok", "providers": {"p": {"apiKeys": ["file:key"]}}}}`,
			func(t *testing.T, dir string) { musttest.Do(t, os.Chmod(filepath.Join(dir, "key"), 0o644)) }, "secrets", channels.Doubtful, "every user of this machine has access to",
		},
		"an open config": {
			`{"terminal": {"command": "echo ok"}, "http": {"token": "abcdefghijklmnopqrstuvwxyz0123456789"}}`,
			func(t *testing.T, dir string) { musttest.Do(t, os.Chmod(filepath.Join(dir, "config.json"), 0o644)) }, "config", channels.Doubtful, "everybody on this machine can read it",
		},
		"no workspace": {
			`{"workspace": "gone", "terminal": {"command": "echo ok"}}`, func(*testing.T, string) {}, "agent", channels.Doubtful, "no workspace",
		},
		"a file in the state's place": {
			harmlessBot, func(t *testing.T, dir string) {
				musttest.Do(t, os.WriteFile(filepath.Join(dir, ".nanobot"), nil, 0o600))
			}, "state", channels.Bad, "is not a folder",
		},
		"a damaged database": {
			harmlessBot, func(t *testing.T, dir string) {
				musttest.Do(t, os.Mkdir(filepath.Join(dir, ".nanobot"), 0o700))
				musttest.Do(t, os.WriteFile(filepath.Join(dir, ".nanobot/nanobot.db"), []byte(strings.Repeat("garbage ", 1000)), 0o600))
			}, "state", channels.Bad, "damaged",
		},
		"a state that everybody may change": {
			harmlessBot, func(t *testing.T, dir string) {
				musttest.Do(t, os.Mkdir(filepath.Join(dir, ".nanobot"), 0o700))
				musttest.Do(t, os.Chmod(filepath.Join(dir, ".nanobot"), 0o777))
			}, "state", channels.Doubtful, "every user of this machine can write to",
		},
		"somebody else's database": {
			harmlessBot, func(t *testing.T, dir string) {
				if os.Geteuid() != 0 {
					t.Skip("only root can give files away")
				}
				musttest.Do(t, os.Mkdir(filepath.Join(dir, ".nanobot"), 0o700))
				musttest.Do(t, os.WriteFile(filepath.Join(dir, ".nanobot/nanobot.db"), nil, 0o600))
				musttest.Do(t, os.Chown(filepath.Join(dir, ".nanobot"), 4711, 4711))
				musttest.Do(t, os.Chmod(filepath.Join(dir, "config.json"), 0o644))
			}, "state", channels.Bad, "belongs to user 0, but its folder to user 4711",
		},
		"somebody else's config": {
			harmlessBot, func(t *testing.T, dir string) {
				if os.Geteuid() != 0 {
					t.Skip("only root can give files away")
				}
				musttest.Do(t, os.Chown(dir, 4711, 4711))
				musttest.Do(t, os.Chown(filepath.Join(dir, "config.json"), 4711, 4711))
			}, "config", channels.Bad, "belongs to user 4711",
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := writeBot(t, c.cfg, map[string]string{"key": "sk-secret-key"})
			c.harm(t, filepath.Dir(path))
			all, status, _ := runDoctor(t, path, true)
			all.expectFinding(t, c.check, c.status, c.words)
			if (status != 0) != (c.status == channels.Bad) {
				t.Errorf("status %d: %+v", status, all)
			}
		})
	}
}

func TestDoctorReportsFoldersThatItsUserCannotWriteTo(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can become somebody else")
	}
	if _, err := exec.LookPath("setpriv"); err != nil {
		t.Skip("needs setpriv")
	}
	dir, err := os.MkdirTemp("/tmp", "doctor-user-") // where others may look
	musttest.Do(t, err)
	defer os.RemoveAll(dir)
	musttest.Do(t, os.Chmod(dir, 0o755))
	musttest.Do(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte(harmlessBot), 0o644))
	linkProgram(t, filepath.Join(dir, "nanobot"))
	cmd := exec.Command("setpriv", "--reuid=4711", "--regid=4711", "--clear-groups", filepath.Join(dir, "nanobot"), "doctor", "--no-turn", "--config", filepath.Join(dir, "config.json"))
	cmd.Env = append(environWithoutTestSettings(), "NANOBOT_TEST_MAIN=1")
	out, _ := cmd.CombinedOutput()
	for _, want := range []string{"fail  workspace", "is not writable: permission denied", "fail  state", "cannot be created in"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	wanttest.Equal(t, "status", cmd.ProcessState.ExitCode(), exit.Failed)
}

func TestDoctorTriesTheAddress(t *testing.T) {
	l := musttest.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	path := writeBot(t, fmt.Sprintf(`{"terminal": {"command": "echo ok"}, "http": {"listen": %q}}`, l.Addr()), nil)
	all, _, _ := runDoctor(t, path, false)
	all.expectFinding(t, "http", channels.Bad, "in use")
}

func TestDoctorNoticesARealDiskThatIsFull(t *testing.T) {
	dir := t.TempDir()
	script := `mount -t tmpfs -o size=8m none "$1" || exit 77; echo '` + harmlessBot + `' > "$1/config.json"; exec "$2" doctor --no-turn --config "$1/config.json"`
	cmd := exec.Command("unshare", "--mount", "sh", "-c", script, "sh", dir, os.Args[0])
	cmd.Env = append(environWithoutTestSettings(), "NANOBOT_TEST_MAIN=1")
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() == 77 || strings.Contains(string(out), "unshare") {
		t.Skipf("no mount namespace here: %v %s", err, out)
	}
	if cmd.ProcessState.ExitCode() != exit.Failed || !strings.Contains(string(out), "fail  disk") {
		t.Errorf("status %d:\n%s", cmd.ProcessState.ExitCode(), out)
	}
}
