package systemd_test

import (
	"encoding/json"
	"strings"
	"testing"

	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/wanttest"
)

// enableVariable enables these tests. It is removed from the environment of nanobot, which would
// report it as a misspelt setting.
const enableVariable = "NANOBOT_TEST_SYSTEMD"

func (m machine) nanobot(args ...string) string {
	m.Helper()
	return m.run(append([]string{"env", "-u", enableVariable, "nanobot"}, args...)...)
}

// finding is a line of nanobot doctor.
type finding struct{ Check, Status, Detail, Fix string }

// doctor returns the findings of nanobot doctor about a bot, by check.
func (m machine) doctor(name string) map[string]finding {
	m.Helper()
	out, _ := m.command("env", "-u", enableVariable, "nanobot", "doctor", "--json", "--config", "/etc/nanobot/"+name+"/config.json").Output()
	var all []finding
	if err := json.Unmarshal(out, &all); err != nil {
		m.Fatalf("%v in %s", err, out)
	}
	found := map[string]finding{}
	for _, f := range all {
		if found[f.Check].Status != "fail" {
			found[f.Check] = f
		}
	}
	return found
}

func TestBotsAreCreatedStartedAndRemovedOnARealSystemd(t *testing.T) {
	m := startMachine(t)
	m.install()
	api := telegramtest.New(t)
	m.putFile("/root/token", api.Token+"\n", 0o600)
	m.nanobot("bots", "create", "faq", "--command", "echo you said {message}", "--telegram-token-file", "/root/token", "--allow", "7")
	// Telegram is on loopback here.
	m.run("sed", "-i", `s|"enabled": true|"enabled": true, "apiBase": "`+api.URL+`"|`, "/etc/nanobot/faq/config.json")
	if f := m.doctor("faq"); f["systemd"].Status != "warn" || f["telegram.token"].Status != "ok" || f["daemon"].Detail != "is not running" {
		t.Errorf("before the start: %+v", f)
	}

	if out := m.nanobot("bots", "start", "faq"); !strings.Contains(out, "active") {
		t.Errorf("start says %s", out)
	}
	api.UserSends(7, "hello")
	api.WaitForText(t, 7, "you said hello")
	api.UserSends(8, "let me in")
	_, code, _ := strings.Cut(api.WaitForCount(t, 8, 1)[0].TextOrCaption(), "nanobot pair ")
	m.nanobot("pair", "--config", "/etc/nanobot/faq/config.json", strings.Fields(code)[0])
	api.UserSends(8, "thanks")
	api.WaitForText(t, 8, "you said thanks")

	f := m.doctor("faq")
	for _, check := range []string{"systemd", "daemon", "state", "workspace", "telegram.poller", "telegram.webhook"} {
		if f[check].Status != "ok" {
			t.Errorf("%s: %+v", check, f[check])
		}
	}
	if a := f["agent"]; a.Status != "warn" || !strings.Contains(a.Detail, "not run") { // its user exists only in its service
		t.Errorf("agent: %+v", a)
	}
	if pid := m.property("nanobot@faq", "MainPID"); !strings.Contains(f["daemon"].Detail, pid) {
		t.Errorf("the daemon is %s, and the doctor says %q", pid, f["daemon"].Detail)
	}
	if out := m.nanobot("bots", "list", "--json"); !strings.Contains(out, `"state": "active"`) || !strings.Contains(out, `"enabled": true`) || !strings.Contains(out, "telegram ok") {
		t.Errorf("list says %s", out)
	}

	m.nanobot("bots", "stop", "faq")
	if state, enabled := m.property("nanobot@faq", "ActiveState"), m.property("nanobot@faq", "UnitFileState"); state != "inactive" || enabled != "disabled" {
		t.Errorf("after stop it is %s and %s", state, enabled)
	}
	m.nanobot("bots", "start", "faq")
	m.nanobot("bots", "remove", "faq", "--purge", "--yes")
	wanttest.Equal(t, "after remove it is", m.property("nanobot@faq", "ActiveState"), "inactive")
	wanttest.Equal(t, "left over:", m.run("find", "/etc/nanobot", "/var/lib/nanobot", "/var/lib/private/nanobot", "-mindepth", "1"), "")
}

func TestProblemsOfABotAreReportedOnARealSystemd(t *testing.T) {
	m := startMachine(t)
	m.install()
	// The operator has a restrictive umask, and the package's /etc/nanobot does not exist.
	m.run("sh", "-c", "umask 077; exec env -u "+enableVariable+" nanobot bots create loop --command cat")
	m.run("sed", "-i", `s|"channels": {}|"channels": {"web": {"enabled": true}}, "http": {"listen": "127.0.0.1:81"}|`, "/etc/nanobot/loop/config.json")
	start := m.command("env", "-u", enableVariable, "nanobot", "bots", "start", "loop")
	if out, err := start.CombinedOutput(); err == nil {
		t.Errorf("a port that only root can have is had: %s", out)
	}
	m.await("it is said that it crashes", func() bool {
		return strings.Contains(m.nanobot("bots", "list"), "exit-code, exit status 1: nanobot doctor")
	})
	wanttest.Equal(t, "it is", m.property("nanobot@loop", "ActiveState"), "activating")
	m.run("systemctl", "mask", "nanobot@loop") // which remove undoes
	m.nanobot("bots", "remove", "loop", "--yes")
	if state, load := m.property("nanobot@loop", "ActiveState"), m.property("nanobot@loop", "LoadState"); state != "inactive" || load != "loaded" {
		t.Errorf("after remove it is %s and %s", state, load)
	}
	m.nanobot("bots", "remove", "loop", "--purge", "--yes")
	wanttest.Equal(t, "left over:", m.run("find", "/etc/nanobot", "/var/lib/nanobot", "/var/lib/private/nanobot", "-mindepth", "1"), "")
}
