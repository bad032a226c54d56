package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/cmd/nanobot/doctor"
	"nanobot/cmd/nanobot/exit"
)

// Without CAP_SYS_ADMIN there are no mount namespaces that could hide a socket.
func TestASandboxThatLeavesSocketsOpenIsRefused(t *testing.T) {
	requireLandlock(t)
	setpriv, err := exec.LookPath("setpriv")
	if err != nil || os.Geteuid() != 0 {
		t.Skip("only root may lose a capability, by setpriv", err)
	}
	if abi := doctor.LandlockABI(); abi >= 9 {
		t.Skipf("version %d of Landlock restricts sockets", abi)
	}
	socket := filepath.Join(outsideTemp(t), "foreign")
	l, err := net.Listen("unix", socket)
	must(t, err)
	defer func() { _ = l.Close() }()
	path := filepath.Join(outsideTemp(t), "config.json")
	for keys, open := range map[string]bool{"": true, `, "sandboxPaths": ["` + socket + `"]`: false} {
		for required, want := range map[string]int{"true": exit.Config, "false": 0} {
			must(t, os.WriteFile(path, []byte(`{"terminal": {"command": "true", "sandbox": "landlock", "sandboxRequired": `+required+keys+`}}`), 0o600))
			run := func(args ...string) (string, int) {
				cmd := exec.Command(setpriv, append([]string{"--bounding-set=-sys_admin", "--inh-caps=-sys_admin", os.Args[0]}, append(args, "--config", path)...)...)
				cmd.Dir, cmd.Env = t.TempDir(), append(environWithoutTestSettings(), "NANOBOT_TEST_MAIN=1")
				out, _ := cmd.CombinedOutput()
				return string(out), cmd.ProcessState.ExitCode()
			}
			if log, status := run("run", "hi"); strings.Contains(log, socket) != open || open && status != want {
				t.Errorf("run, required %s: status %d, %s", required, status, log)
			}
			if log, status := run("check-config"); !open && status != 0 {
				t.Errorf("check-config: status %d, %s", status, log)
			}
			if required == "true" && open {
				if log, status := run("serve"); status != exit.Config || !strings.Contains(log, socket) {
					t.Errorf("serve: status %d, %s", status, log)
				}
			}
			if log, _ := run("doctor", "--no-turn"); strings.Contains(log, socket) != open {
				t.Errorf("doctor, required %s: %s", required, log)
			}
		}
	}
}
