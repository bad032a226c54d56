package systemd_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// machine is a systemd that runs in its own namespaces.
type machine struct {
	*testing.T
	pid int // of its init, seen from here
}

// startMachine boots a machine. It skips the test without NANOBOT_TEST_SYSTEMD=1, because it takes
// a while and needs root. The tests of a release boot one where that is possible.
func startMachine(t *testing.T) machine {
	t.Helper()
	if os.Getenv("NANOBOT_TEST_SYSTEMD") == "" && os.Getenv("NANOBOT_TEST_RELEASE") == "" {
		t.Skip("set NANOBOT_TEST_SYSTEMD=1 (as root) to boot a systemd and run the units in it")
	}
	if _, err := os.Stat("/lib/systemd/systemd"); os.Getenv("NANOBOT_TEST_SYSTEMD") == "" && (err != nil || os.Getuid() != 0) {
		t.Skip("no systemd can run here, which needs root and the package systemd, so this is left out: the .deb on a server")
	}
	cgroup := cgroup2(t)
	var said bytes.Buffer
	boot := exec.Command("sh", "testdata/boot", t.TempDir(), cgroup)
	boot.Stdout, boot.Stderr = &said, &said
	// Pdeathsig kills it when the thread that started it exits, so this thread is locked.
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	boot.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	musttest.Do(t, boot.Start())
	m := machine{T: t}
	t.Cleanup(func() {
		_ = boot.Process.Kill() // its init dies with it, and everything with that
		_ = boot.Wait()
		removeCgroup(cgroup)
		if t.Failed() {
			t.Logf("systemd says:\n%s", said.String())
		}
	})
	m.await("systemd is up", func() bool {
		children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", boot.Process.Pid, boot.Process.Pid))
		m.pid, _ = strconv.Atoi(strings.TrimSpace(string(children)))
		if m.pid == 0 {
			return false
		}
		out, _ := m.command("systemctl", "is-system-running").Output()
		return strings.TrimSpace(string(out)) == "running" || strings.TrimSpace(string(out)) == "degraded"
	})
	return m
}

// cgroup2 returns the path of a cgroup that does not exist yet.
func cgroup2(t *testing.T) string {
	t.Helper()
	mounts := musttest.Get(os.ReadFile("/proc/mounts"))(t)
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); len(f) > 2 && f[2] == "cgroup2" {
			return filepath.Join(f[1], "units-test-"+strconv.Itoa(os.Getpid()))
		}
	}
	t.Skip("no cgroup v2 is mounted here")
	return ""
}

// removeCgroup removes a cgroup and its nested cgroups when they are empty.
func removeCgroup(path string) {
	for range 100 {
		var all []string
		_ = filepath.WalkDir(path, func(p string, d os.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				all = append(all, p)
			}
			return nil
		})
		for i := len(all) - 1; i >= 0; i-- {
			_ = syscall.Rmdir(all[i])
		}
		if _, err := os.Stat(path); err != nil {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (m machine) await(what string, done func() bool) {
	m.Helper()
	for deadline := time.Now().Add(5 * time.Minute); !done(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			out, _ := m.command("journalctl", "--no-pager", "-n", "60").CombinedOutput()
			m.Fatalf("never: %s\n%s", what, out)
		}
	}
}

// command returns a command that runs in the machine.
func (m machine) command(args ...string) *exec.Cmd {
	cmd := exec.Command("nsenter", append([]string{"-t", strconv.Itoa(m.pid), "-m", "-p", "-u", "-i", "-C"}, args...)...)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root"}
	return cmd
}

func (m machine) run(args ...string) string {
	m.Helper()
	out, err := m.command(args...).CombinedOutput()
	if err != nil {
		log, _ := m.command("journalctl", "--no-pager", "-n", "60").CombinedOutput()
		m.Fatalf("%s: %v\n%s\n%s", args, err, out, log)
	}
	return strings.TrimSpace(string(out))
}

func (m machine) property(unit, property string) string {
	m.Helper()
	return m.run("systemctl", "show", "--property="+property, "--value", unit)
}

func (m machine) putFile(path, content string, mode os.FileMode) {
	m.Helper()
	path = fmt.Sprintf("/proc/%d/root%s", m.pid, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		m.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		m.Fatal(err)
	}
}

// install copies the binary, the units and the agents to the folders of a package.
func (m machine) install() {
	m.Helper()
	for out, source := range map[string]string{"nanobot": "nanobot/cmd/nanobot", "goagent": "./testdata/goagent"} {
		bin := filepath.Join(m.TempDir(), out)
		build := exec.Command("go", "build", "-o", bin, source)
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if said, err := build.CombinedOutput(); err != nil {
			m.Fatalf("%v\n%s", err, said)
		}
		b, err := os.ReadFile(bin)
		if err != nil {
			m.Fatal(err)
		}
		m.putFile("/usr/bin/"+out, string(b), 0o755)
	}
	for _, unit := range units {
		m.putFile("/usr/lib/systemd/system/"+unit, readUnit(m.T, unit), 0o644)
	}
	m.putFile("/usr/lib/systemd/system/"+notifyUnit, readUnit(m.T, notifyUnit), 0o644)
	m.putFile("/usr/lib/nanobot/notify-failure", readUnit(m.T, "notify-failure"), 0o755)
	for _, agent := range []string{"agent.py", "agent.js"} {
		m.putFile("/usr/share/agents/"+agent, readUnit(m.T, "testdata/"+agent), 0o644)
	}
	m.run("systemctl", "daemon-reload")
}

// createBot writes the config and the token of a bot.
func (m machine) createBot(name, command string, api *telegramtest.Server) {
	m.Helper()
	dir, state := filepath.Join("/etc/nanobot", name), filepath.Join("/var/lib/nanobot", name)
	m.putFile(dir+"/credentials/telegram", api.Token+"\n", 0o600)
	m.putFile(dir+"/config.json", fmt.Sprintf(`{"workspace": "%s/workspace", "terminal": {"command": %q, "protocol": "rich"},
		"channels": {"telegram": {"enabled": true, "token": "cred:telegram", "apiBase": %q, "allowFrom": ["7"]}}}`, state, command, api.URL), 0o644)
}

// enableSandbox enables Landlock for the agent of a bot.
func (m machine) enableSandbox(name string) {
	m.Helper()
	path := filepath.Join("/etc/nanobot", name, "config.json")
	text := m.run("cat", path)
	m.putFile(path, strings.Replace(text, `"protocol"`, `"sandbox": "landlock", "protocol"`, 1), 0o644)
}

// fullReport is the report of a test agent about its permissions in a unit if all is correct.
const fullReport = "workspace: written, system: not written, secrets in the environment: none, root: no, cores: some, network: yes, code as it runs: yes"

func TestAgentsRunInTheUnitsOfARealSystemd(t *testing.T) {
	m := startMachine(t)
	m.install()
	for name, command := range map[string]string{
		"py": "/usr/bin/python3 /usr/share/agents/agent.py", "js": "/usr/bin/node /usr/share/agents/agent.js", "go": "/usr/bin/goagent",
	} {
		t.Run(name, func(t *testing.T) {
			m := machine{t, m.pid}
			if _, err := os.Stat(strings.Fields(command)[0]); err != nil && name != "go" {
				t.Skip(err)
			}
			api := telegramtest.New(t)
			m.createBot(name, command, api)
			unit := "nanobot@" + name
			m.run("systemctl", "enable", "--now", unit)
			defer m.run("systemctl", "disable", "--now", unit)
			api.UserSends(7, "how is it?")
			api.WaitForText(t, 7, fullReport)
			m.enableSandbox(name)
			m.run("systemctl", "restart", unit)
			api.UserSends(7, "and now?")
			shown, ok := api.AwaitMessages(7, telegramtest.WaitLimit, func(all []telegramtest.Message) bool {
				return len(slices.DeleteFunc(slices.Clone(all), func(m telegramtest.Message) bool { return m.TextOrCaption() != fullReport })) == 2
			})
			if !ok {
				t.Errorf("in a sandbox of the kernel's it shows %q", shown[len(shown)-1].TextOrCaption())
			}
			wanttest.Equal(t, "the status is", m.property(unit, "StatusText"), "telegram ok, 0 running, 0 waiting")
			if user, dynamic := m.property(unit, "User"), m.property(unit, "DynamicUser"); user != "nanobot-"+name || dynamic != "yes" {
				t.Errorf("its user is %q (dynamic: %s)", user, dynamic)
			}
			// The bot owns the cgroup of its unit, so it can create cgroups for agents there.
			info, err := os.Stat(fmt.Sprintf("/proc/%d/root/sys/fs/cgroup%s", m.pid, m.property(unit, "ControlGroup")))
			if err != nil || info.Sys().(*syscall.Stat_t).Uid == 0 {
				t.Errorf("the unit's control group is not delegated: %v, %v", info, err)
			}
		})
	}
}

func TestARealSystemdReloadsRestartsAndStopsABot(t *testing.T) {
	m := startMachine(t)
	m.install()
	api := telegramtest.New(t)
	const agent = `echo '{"type":"message","text":"%s"}'`
	m.createBot("", fmt.Sprintf(agent, "one"), api)
	m.run("systemctl", "start", "nanobot")
	api.UserSends(7, "hello")
	api.WaitForText(t, 7, "one")

	m.createBot("", fmt.Sprintf(agent, "two"), api)
	m.run("systemctl", "reload", "nanobot")
	m.await("the config is reloaded", func() bool {
		return strings.Contains(m.run("journalctl", "-u", "nanobot", "-o", "cat"), "config reloaded")
	})
	api.UserSends(7, "hello")
	api.WaitForText(t, 7, "two")
	wanttest.Equal(t, "after a reload it is", m.property("nanobot", "ActiveState"), "active")

	m.putFile("/etc/nanobot/config.json", `{"terminal": {"comand": "true"}}`, 0o644)
	m.run("systemctl", "reload", "nanobot")
	m.await("the mistake is in the journal, as an error and as JSON", func() bool {
		log := m.run("journalctl", "-u", "nanobot", "-p", "err", "-o", "cat")
		return strings.HasPrefix(log, `{"level":"error"`) && strings.Contains(log, "config not reloaded") && !strings.Contains(log, `"info"`)
	})
	if got := m.property("nanobot", "StatusText"); !strings.HasPrefix(got, "the config has a mistake") {
		t.Errorf("after a bad reload the status is %q", got)
	}

	m.createBot("", fmt.Sprintf(agent, "three"), api)
	m.run("systemctl", "kill", "--kill-whom=main", "-s", "KILL", "nanobot")
	m.await("it was restarted", func() bool {
		return m.property("nanobot", "NRestarts") == "1" && m.property("nanobot", "ActiveState") == "active"
	})
	api.UserSends(7, "hello")
	api.WaitForText(t, 7, "three")

	m.run("systemctl", "stop", "nanobot")
	wanttest.Equal(t, "it stopped with", m.property("nanobot", "Result"), "success")
	m.putFile("/etc/nanobot/config.json", `{"terminal": {"comand": "true"}}`, 0o644)
	if out, err := m.command("systemctl", "start", "nanobot").CombinedOutput(); err == nil {
		t.Errorf("a config with a mistake starts: %s", out)
	}
	if state, status := m.property("nanobot", "ActiveState"), m.property("nanobot", "ExecMainStatus"); state != "failed" || status != "78" {
		t.Errorf("with a mistake in the config it is %s, status %s; it must not be tried again", state, status)
	}
}

func TestARealSystemdRestartsABotThatHangs(t *testing.T) {
	m := startMachine(t)
	m.install()
	api := telegramtest.New(t)
	m.createBot("slow", "true", api)
	m.putFile("/etc/systemd/system/nanobot@slow.service.d/soon.conf", "[Service]\nWatchdogSec=3\nRestartSec=0\n", 0o644)
	m.run("systemctl", "daemon-reload")
	m.run("systemctl", "start", "nanobot@slow")
	pid := m.property("nanobot@slow", "MainPID")
	m.run("kill", "-STOP", pid)
	m.await("it was restarted", func() bool {
		return m.property("nanobot@slow", "NRestarts") == "1" && m.property("nanobot@slow", "ActiveState") == "active" && m.property("nanobot@slow", "MainPID") != pid
	})
	log := m.run("journalctl", "-u", "nanobot@slow", "-o", "cat")
	if !strings.Contains(log, "SIGABRT: abort") { // a dump of the goroutines follows, which shows where it hung
		t.Errorf("the watchdog did not do it:\n%s", log)
	}
}
