package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
	"nanobot/internal/postgrestest"
)

// writeMemberConfig writes the config of a member of a bot.
func writeMemberConfig(t *testing.T, dir, bot, name, url string) string {
	t.Helper()
	path := filepath.Join(dir, name+".json")
	musttest.Do(t, os.WriteFile(path, fmt.Appendf(nil, `{
		"workspace": "ws", "terminal": {"command": "cat", "protocol": "plain"}, "channels": {"web": {"enabled": true}},
		"http": {"listen": "127.0.0.1:0", "token": "abcdefghijklmnopqrstuvwxyz0123456789"},
		"schedules": {"morning": {"cron": "0 7 * * *", "text": "hello", "chat": "web:web-main"}},
		"gateway": {"store": %q, "bot": %q, "member": {"name": %q, "ttl": 60}}
	}`, url, bot, name), 0o600))
	return path
}

// diagnose runs the doctor and returns its findings by check.
func diagnose(t *testing.T, cfg string) map[string]channels.Finding {
	t.Helper()
	out, err := programCommand(t, "doctor", "--json", "--no-turn", "--config", cfg).Output()
	var all []channels.Finding
	if bad := json.Unmarshal(out, &all); bad != nil {
		t.Fatalf("%v (%v): %s", bad, err, out)
	}
	found := map[string]channels.Finding{}
	for _, f := range all {
		found[f.Check] = f
	}
	return found
}

func expectFinding(t *testing.T, f channels.Finding, status channels.Verdict, parts ...string) {
	t.Helper()
	if f.Status != status {
		t.Errorf("got %+v, want %s", f, status)
	}
	expectParts(t, f.Check, f.Detail+" → "+f.Fix, parts...)
}

func TestCommandsWorkOnEachMachineOfASharedStore(t *testing.T) {
	t.Parallel()
	url, dir, bot := postgrestest.URL(t), t.TempDir(), fmt.Sprint("commands", killtest.Seed())
	write := func(name string) string { return writeMemberConfig(t, dir, bot, name, url) }
	a, b, other := write("a"), write("b"), write("other")
	before := diagnose(t, other)
	expectFinding(t, before["postgres"], channels.Good, "fsync on")
	expectFinding(t, before["members"], channels.Good, "no member has ever started")
	if _, err := os.Stat(filepath.Join(dir, "ws")); err == nil {
		t.Error("the doctor has created the workspace")
	}
	members := []*killtest.Child{startDaemon(t, a), startDaemon(t, b)}
	for deadline := time.Now().Add(waitTimeout); ; time.Sleep(50 * time.Millisecond) {
		checkRunning(t, members, a, b)
		out, _ := runProgram(t, "members", "--json", "--config", other)
		if strings.Count(out, `"up"`) == 2 && strings.Contains(out, `"web"`) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the members are not up: %s", out)
		}
	}
	found := diagnose(t, a)
	expectFinding(t, found["postgres"], channels.Good, "version", "synchronous_commit on", "connections left", "clock difference")
	expectFinding(t, found["standby"], channels.Doubtful, "a failover may forget acknowledged messages", "synchronous_standby_names")
	expectFinding(t, found["members"], channels.Good, "a is up", "b is up", "receives")
	expectFinding(t, found["mount"], channels.Good, "was read by b")
	for _, args := range [][]string{
		{"pair", "--list"}, {"link", "--list"}, {"schedules"}, {"routes", "--chat", "web:web-main"}, {"check-config"},
	} {
		mustRunProgram(t, append(args, "--config", other)...)
	}
	mustRunProgram(t, "send", "--chat", "web:web-main", "--config", a, "hello")
	mustRunProgram(t, "send", "--chat", "web:web-main", "--config", b, "hello")
	out, status := runProgram(t, "send", "--chat", "web:web-main", "--config", other, "hello")
	if status == 0 {
		t.Error("a message was sent without a daemon")
	}
	expectParts(t, "send", out, "on this machine", "nanobot members")
	if _, err := os.Stat(filepath.Join(dir, "ws/.nanobot/other/state.db")); err == nil {
		t.Error("a command has created a local database")
	}
	await := func(cfg string, status channels.Verdict, part string) {
		t.Helper()
		for deadline := time.Now().Add(waitTimeout); ; time.Sleep(50 * time.Millisecond) {
			f := diagnose(t, cfg)["members"]
			if f.Status == status && strings.Contains(f.Detail, part) {
				return
			}
			checkRunning(t, members, a, b)
			if time.Now().After(deadline) {
				t.Fatalf("the doctor still says %+v", f)
			}
		}
	}
	for n, cfg := range []string{a, b} { // a reload is for each member by itself
		text := string(musttest.Get(os.ReadFile(cfg))(t))
		text = strings.Replace(text, `"cat"`, `"tac"`, 1)
		musttest.Do(t, os.WriteFile(cfg, []byte(strings.Replace(text, `"ttl": 60`, `"ttl": 61`, 1)), 0o600))
		musttest.Do(t, members[n].Signal(syscall.SIGHUP))
		for deadline := time.Now().Add(waitTimeout); ; time.Sleep(20 * time.Millisecond) {
			log := musttest.Get(os.ReadFile(cfg + ".log"))(t)
			if strings.Contains(string(log), "gateway.member has changed; restart the daemon to use it") {
				break
			}
			checkRunning(t, members, a, b)
			if time.Now().After(deadline) {
				t.Fatalf("it does not warn: %s", log)
			}
		}
		if n == 0 {
			await(a, channels.Doubtful, "members use different configs")
		}
	}
	await(a, channels.Good, "their versions and configs are the same")
	for _, m := range members {
		musttest.Do(t, m.End())
	}
}

// checkRunning fails if a daemon with one of the configs has exited by itself.
func checkRunning(t *testing.T, daemons []*killtest.Child, configs ...string) {
	t.Helper()
	for n, c := range daemons {
		if c.HasExited() {
			log, _ := os.ReadFile(configs[n] + ".log")
			t.Fatalf("the daemon of %s has exited:\n%s", configs[n], log)
		}
	}
}

func TestTheDoctorSaysWhyTheSharedStoreCannotBeOpened(t *testing.T) {
	t.Parallel()
	url, dir := postgrestest.URL(t), t.TempDir()
	for name, c := range map[string]struct{ url, want string }{
		"down":     {"postgres://nanobot@127.0.0.1:1/db", "that the server runs"},
		"database": {strings.Replace(url, "/postgres?", "/none?", 1), "createdb"},
		"user":     {strings.Replace(url, "user=nanobot", "user=nobody", 1), "gateway.storePassword"},
	} {
		expectFinding(t, diagnose(t, writeMemberConfig(t, dir, "commands", name, c.url))["postgres"], channels.Bad, c.want, "psql ")
	}
}
