package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/channels"
	"nanobot/cmd/nanobot/exit"
	"nanobot/cmd/nanobot/format"
	"nanobot/cmd/nanobot/systemd"
	"nanobot/cmd/nanobot/systemd/systemdtest"
)

// botsServer is a server on which systemd seems to run.
type botsServer struct {
	*systemdtest.Server
	t *testing.T
}

func newBotsServer(t *testing.T) botsServer {
	t.Helper()
	return botsServer{systemdtest.New(t), t}
}

// bots runs the command in this process.
func (f botsServer) bots(args ...string) (out string, status int) {
	f.t.Helper()
	var stdout, stderr bytes.Buffer
	none, err := os.Open(os.DevNull)
	must(f.t, err)
	defer none.Close()
	status = run(f.t.Context(), append([]string{"bots", "--root", f.Root}, args...), stdio{none, &stdout, &stderr})
	return stdout.String() + stderr.String(), status
}

// crashing is a unit that is between two of its starts.
func crashing(name string) string {
	return strings.Replace(systemdtest.UnitText(name, "loaded", "enabled", "activating", "exit-code", 1, 0, 3), "SubState=x", "SubState=auto-restart", 1)
}

func TestBotsListAsksSystemdOnceForAll(t *testing.T) {
	f := newBotsServer(t)
	for _, name := range []string{"one", "two", "three"} {
		if out, status := f.bots("create", name, "--command", "cat"); status != 0 {
			t.Fatal(out)
		}
	}
	must(t, os.WriteFile(filepath.Join(f.Root, "etc/nanobot/two/config.json"), []byte("{"), 0o644))
	f.SetUnits(systemdtest.UnitText("one", "loaded", "enabled", "active", "success", 0, 4711, 2) +
		systemdtest.UnitText("three", "not-found", "", "inactive", "success", 0, 0, 0) + systemdtest.UnitText("two", "loaded", "enabled", "failed", "exit-code", 78, 0, 0))
	out, status := f.bots("list")
	for name, words := range map[string]string{
		"one": "active yes 4711 2 all = well", "three": "not-found no - 0 all = well", "two": "failed yes - 0 bad config: nanobot check-config",
	} {
		if found := strings.Contains(" "+format.OneLine(out), " "+name+" "+words); status != 0 || !found {
			t.Errorf("status %d, no %q of %s in\n%s", status, words, name, out)
		}
	}
	if got := strings.Count(f.Calls(), "\n"); got != 1 {
		t.Errorf("it asked %d times:\n%s", got, f.Calls())
	}
}

func TestABotThatCrashesAgainAndAgainIsNotCalledWell(t *testing.T) {
	f := newBotsServer(t)
	if out, status := f.bots("create", "faq", "--command", "cat"); status != 0 {
		t.Fatal(out)
	}
	f.SetUnits(crashing("faq"))
	out, status := f.bots("status", "faq")
	if want := "faq activating yes - 3 exit-code, exit status 1: nanobot doctor"; status != exit.Failed || !strings.Contains(format.OneLine(out), want) {
		t.Errorf("status %d, no %q in\n%s", status, want, out)
	}
}

func TestBotsDoNotWaitForEachOthersDrain(t *testing.T) {
	f := newBotsServer(t)
	for _, name := range []string{"one", "two", "three"} {
		if out, status := f.bots("create", name, "--command", "cat"); status != 0 {
			t.Fatal(out)
		}
	}
	// Each stop ends when all three have begun.
	program := fmt.Sprintf("#!/bin/sh\n[ $2 = disable ] || exit 0\n: > %[1]s/$4\nfor i in $(seq 200); do\n[ -e %[1]s/nanobot@one.service -a -e %[1]s/nanobot@two.service -a -e %[1]s/nanobot@three.service ] && exit 0\nsleep 0.05\ndone\nexit 1\n", f.Root)
	must(t, os.WriteFile(filepath.Join(f.Root, "bin/systemctl"), []byte(program), 0o755))
	if out, status := f.bots("stop", "--all"); status != 0 {
		t.Errorf("status %d: %s", status, out)
	}
}

func TestAnotherMachinesBotsAreNotAskedOfThisOne(t *testing.T) {
	f := newBotsServer(t)
	other := botsServer{&systemdtest.Server{Root: t.TempDir()}, t}
	must(t, os.MkdirAll(filepath.Join(other.Root, "run/systemd/system"), 0o755))
	for _, args := range [][]string{{"create", "faq", "--command", "cat"}, {"list"}, {"start", "faq"}, {"remove", "faq", "--yes"}} {
		if out, status := other.bots(args...); (status == 0) != (args[0] != "start") {
			t.Errorf("%s: status %d: %s", args, status, out)
		}
	}
	if f.Calls() != "" {
		t.Errorf("this machine's systemd was told:\n%s", f.Calls())
	}
}

func TestDoctorJudgesTheUnit(t *testing.T) {
	for name, c := range map[string]struct {
		unit   string
		status channels.Verdict
		words  string
	}{
		"runs":            {systemdtest.UnitText("faq", "loaded", "enabled", "active", "success", 0, 4711, 0), channels.Good, "active and enabled"},
		"not installed":   {systemdtest.UnitText("faq", "not-found", "", "inactive", "success", 0, 0, 0), channels.Doubtful, "is not installed"},
		"masked":          {systemdtest.UnitText("faq", "masked", "masked", "inactive", "success", 0, 0, 0), channels.Bad, "is masked"},
		"stopped":         {systemdtest.UnitText("faq", "loaded", "disabled", "inactive", "success", 0, 0, 0), channels.Doubtful, "is inactive"},
		"failed":          {systemdtest.UnitText("faq", "loaded", "enabled", "failed", "watchdog", 6, 0, 3), channels.Bad, "watchdog, exit status 6"},
		"bad config":      {systemdtest.UnitText("faq", "loaded", "enabled", "failed", "exit-code", 78, 0, 0), channels.Bad, "because of its config"},
		"not after boot":  {systemdtest.UnitText("faq", "loaded", "disabled", "active", "success", 0, 4711, 0), channels.Doubtful, "after a reboot"},
		"restarted often": {systemdtest.UnitText("faq", "loaded", "enabled", "active", "success", 0, 4711, 9), channels.Doubtful, "restarted 9 times"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newBotsServer(t)
			t.Setenv("CREDENTIALS_DIRECTORY", "") // the doctor sets it, and the test puts it back
			t.Setenv("STATE_DIRECTORY", "")
			if out, status := f.bots("create", "faq", "--command", "cat"); status != 0 {
				t.Fatal(out)
			}
			f.SetUnits(c.unit)
			all, _, _ := examined(t, filepath.Join(f.Root, "etc/nanobot/faq/config.json"), false)
			all.expect(t, "systemd", c.status, c.words)
			if want := "--no-pager show --property=" + systemd.UnitProperties + " -- nanobot@faq.service\n"; f.Calls() != want {
				t.Errorf("it asked %q", f.Calls())
			}
			if strings.Contains(c.unit, "4711") {
				all.expect(t, "daemon", channels.Good, "pid 4711") // whose lock is in a place that only the service knows
			}
		})
	}
}

func TestDoctorFindsTheSecretsAndTheStateOfAServersBot(t *testing.T) {
	f := newBotsServer(t)
	t.Setenv("CREDENTIALS_DIRECTORY", "")
	t.Setenv("STATE_DIRECTORY", "")
	token := filepath.Join(f.Root, "token")
	must(t, os.WriteFile(token, []byte("123456:abcdef\n"), 0o600))
	if out, status := f.bots("create", "faq", "--command", "cat", "--telegram-token-file", token); status != 0 {
		t.Fatal(out)
	}
	state := filepath.Join(f.Root, "var/lib/nanobot/faq")
	must(t, os.MkdirAll(state, 0o700))
	f.SetUnits(systemdtest.UnitText("faq", "loaded", "enabled", "active", "success", 0, 4711, 0))
	d := doctor{path: filepath.Join(f.Root, "etc/nanobot/faq/config.json")}
	bot, _ := systemd.FindBot(d.path)
	bot.SetEnviron()
	if open, ok := d.checkConfig(bot, true); !ok || open["telegram"] == nil {
		t.Errorf("found %+v", d.found)
	}
	if d.cfg == nil || d.cfg.Gateway.StateDir != "/var/lib/nanobot/faq" || os.Getenv("STATE_DIRECTORY") != state {
		t.Errorf("the state is not in %s", state)
	}
}

func TestBotsPrintsOneObjectABot(t *testing.T) {
	f := newBotsServer(t)
	if out, status := f.bots("create", "faq", "--command", "cat", "--json"); status != 0 || !strings.Contains(out, `"name": "faq"`) {
		t.Fatal(out)
	}
	f.SetUnits(systemdtest.UnitText("faq", "loaded", "enabled", "failed", "exit-code", 3, 0, 7))
	out, status := f.bots("status", "--json", "faq")
	var got []botView
	if err := json.Unmarshal([]byte(out), &got); err != nil || status != exit.Failed || len(got) != 1 {
		t.Fatalf("%v, status %d: %s", err, status, out)
	}
	if v := got[0]; v.State != "failed" || v.Result != "exit-code" || v.Exit != 3 || v.Restarts != 7 || !v.Enabled || v.Status != "all = well" {
		t.Errorf("got %+v", v)
	}
}
