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
	"nanobot/internal/musttest"
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
	l := musttest.Get(net.Listen("unix", socket))(t)
	defer func() { _ = l.Close() }()
	path := filepath.Join(outsideTemp(t), "config.json")
	for keys, open := range map[string]bool{"": true, `, "sandboxPaths": ["` + socket + `"]`: false} {
		for required, want := range map[string]int{"true": exit.Config, "false": 0} {
			musttest.Do(t, os.WriteFile(path, []byte(`{"terminal": {"command": "true", "sandbox": "landlock", "sandboxRequired": `+required+keys+`}}`), 0o600))
			run := func(args ...string) (string, int) {
				cmd := exec.Command(setpriv, append([]string{"--bounding-set=-sys_admin", "--inh-caps=-sys_admin", os.Args[0]}, append(args, "--config", path)...)...)
				cmd.Dir, cmd.Env = t.TempDir(), append(environWithoutTestSettings(), "NANOBOT_TEST_MAIN=1")
				out, _ := cmd.CombinedOutput()
				return string(out), cmd.ProcessState.ExitCode()
			}
			if log, status := run("run", "hi"); strings.Contains(log, socket) != open || open && status != want {
				t.Errorf("run, required %s: status %d, %s", required, status, log)
			}
			// Other tests have sockets in the temporary folder meanwhile, such as a browser's.
			if log, status := run("check-config"); !open && status != 0 && !strings.Contains(log, "("+os.TempDir()) {
				t.Errorf("check-config: status %d, %s", status, log)
			} else if strings.Contains(log, socket) && !open {
				t.Errorf("check-config names the allowed socket: %s", log)
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

// The domain that closes abstract sockets needs CAP_SYS_ADMIN or, without it, the promise to gain
// no privileges.
func TestAnAgentOfAnotherUserReachesNoAbstractSockets(t *testing.T) {
	requireLandlock(t)
	setpriv, err := exec.LookPath("setpriv")
	if err != nil || os.Geteuid() != 0 {
		t.Skip("only root may run agents as others", err)
	}
	if abi := doctor.LandlockABI(); abi < 6 {
		t.Skipf("version %d of Landlock does not restrict abstract sockets", abi)
	}
	const python = "/usr/bin/python3" // which every user may execute
	if _, err := os.Stat(python); err != nil {
		t.Skip(err)
	}
	dir, err := os.MkdirTemp("/srv", "nanobot-test-") // where other users may go
	musttest.Do(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	musttest.Do(t, os.Chmod(dir, 0o755))
	name := filepath.Base(dir)
	l := musttest.Get(net.Listen("unix", "@"+name))(t)
	defer func() { _ = l.Close() }()
	path := filepath.Join(dir, "config.json")
	for _, tc := range []struct{ user, capability, want string }{
		{`"root"`, "+all", "0"}, {`"nobody"`, "+all", "1"}, {`"nobody"`, "-sys_admin", "1"},
	} {
		musttest.Do(t, os.WriteFile(path, []byte(`{"terminal": {"user": `+tc.user+`, "command": "`+python+` -c 'import socket; print(\"connect\", socket.socket(socket.AF_UNIX).connect_ex(\"\\0`+name+`\"))'"}}`), 0o600))
		cmd := exec.Command(setpriv, "--bounding-set="+tc.capability, os.Args[0], "run", "--config", path, "hi")
		cmd.Dir, cmd.Env = dir, append(environWithoutTestSettings(), "NANOBOT_TEST_MAIN=1")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "connect "+tc.want+"\n") { // 1 is EPERM
			t.Errorf("%+v: %v\n%s", tc, err, out)
		}
	}
}
