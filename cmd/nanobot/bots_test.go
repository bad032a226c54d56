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
)

// fakeSystemd is a root on which systemd seems to run: a program named systemctl writes down its calls and answers show with the properties that
// are set here.
type fakeSystemd struct {
	t    *testing.T
	root string
}

func newFakeSystemd(t *testing.T) *fakeSystemd {
	t.Helper()
	f := &fakeSystemd{t, t.TempDir()}
	before := booted
	booted = filepath.Join(f.root, "run/systemd/system")
	t.Cleanup(func() { booted = before })
	must(t, os.MkdirAll(booted, 0o755))
	must(t, os.MkdirAll(filepath.Join(f.root, "bin"), 0o755))
	program := fmt.Sprintf("#!/bin/sh\necho \"$*\" >> %[1]s/calls\ncase \"$*\" in *broken*) echo 'Job for it failed.' >&2; exit 1;; esac\ncase $2 in show) cat %[1]s/shown;; esac\n", f.root)
	must(t, os.WriteFile(filepath.Join(f.root, "bin/systemctl"), []byte(program), 0o755))
	f.shows("")
	t.Setenv("PATH", filepath.Join(f.root, "bin")+":"+os.Getenv("PATH"))
	return f
}

func (f *fakeSystemd) shows(text string) {
	f.t.Helper()
	must(f.t, os.WriteFile(filepath.Join(f.root, "shown"), []byte(text), 0o600))
}

func (f *fakeSystemd) calls() string {
	b, _ := os.ReadFile(filepath.Join(f.root, "calls"))
	return string(b)
}

// bots runs the command in this process.
func (f *fakeSystemd) bots(args ...string) (out string, status int) {
	f.t.Helper()
	var stdout, stderr bytes.Buffer
	none, err := os.Open(os.DevNull)
	must(f.t, err)
	defer none.Close()
	status = run(f.t.Context(), append([]string{"bots", "--root", f.root}, args...), stdio{none, &stdout, &stderr})
	return stdout.String() + stderr.String(), status
}

// crashing is a unit that is between two of its starts.
func crashing(name string) string {
	return strings.Replace(unitText(name, "loaded", "enabled", "activating", "exit-code", 1, 0, 3), "SubState=x", "SubState=auto-restart", 1)
}

func unitText(name, load, file, state, result string, exit, pid, restarts int) string {
	return fmt.Sprintf("Id=nanobot@%s.service\nLoadState=%s\nUnitFileState=%s\nActiveState=%s\nSubState=x\nResult=%s\nStatusText=all = well\nExecMainStatus=%d\nMainPID=%d\nNRestarts=%d\n\n",
		name, load, file, state, result, exit, pid, restarts)
}

func TestBotsListAsksSystemdOnceForAll(t *testing.T) {
	f := newFakeSystemd(t)
	for _, name := range []string{"one", "two", "three"} {
		if out, status := f.bots("create", name, "--command", "cat"); status != 0 {
			t.Fatal(out)
		}
	}
	must(t, os.WriteFile(filepath.Join(f.root, "etc/nanobot/two/config.json"), []byte("{"), 0o644))
	f.shows(unitText("one", "loaded", "enabled", "active", "success", 0, 4711, 2) +
		unitText("three", "not-found", "", "inactive", "success", 0, 0, 0) + unitText("two", "loaded", "enabled", "failed", "exit-code", 78, 0, 0))
	out, status := f.bots("list")
	for name, words := range map[string]string{
		"one": "active yes 4711 2 all = well", "three": "not-found no - 0 all = well", "two": "failed yes - 0 bad config: nanobot check-config",
	} {
		if found := strings.Contains(" "+format.OneLine(out), " "+name+" "+words); status != 0 || !found {
			t.Errorf("status %d, no %q of %s in\n%s", status, words, name, out)
		}
	}
	if got := strings.Count(f.calls(), "\n"); got != 1 {
		t.Errorf("it asked %d times:\n%s", got, f.calls())
	}
}

func TestABotThatCrashesAgainAndAgainIsNotCalledWell(t *testing.T) {
	f := newFakeSystemd(t)
	if out, status := f.bots("create", "faq", "--command", "cat"); status != 0 {
		t.Fatal(out)
	}
	f.shows(crashing("faq"))
	out, status := f.bots("status", "faq")
	if want := "faq activating yes - 3 exit-code, exit status 1: nanobot doctor"; status != exit.Failed || !strings.Contains(format.OneLine(out), want) {
		t.Errorf("status %d, no %q in\n%s", status, want, out)
	}
}

func TestBotsDoNotWaitForEachOthersDrain(t *testing.T) {
	f := newFakeSystemd(t)
	for _, name := range []string{"one", "two", "three"} {
		if out, status := f.bots("create", name, "--command", "cat"); status != 0 {
			t.Fatal(out)
		}
	}
	// Each stop ends when all three have begun.
	program := fmt.Sprintf("#!/bin/sh\n[ $2 = disable ] || exit 0\n: > %[1]s/$4\nfor i in $(seq 200); do\n[ -e %[1]s/nanobot@one.service -a -e %[1]s/nanobot@two.service -a -e %[1]s/nanobot@three.service ] && exit 0\nsleep 0.05\ndone\nexit 1\n", f.root)
	must(t, os.WriteFile(filepath.Join(f.root, "bin/systemctl"), []byte(program), 0o755))
	if out, status := f.bots("stop", "--all"); status != 0 {
		t.Errorf("status %d: %s", status, out)
	}
}

func TestAnotherMachinesBotsAreNotAskedOfThisOne(t *testing.T) {
	f := newFakeSystemd(t)
	other := &fakeSystemd{t, t.TempDir()}
	must(t, os.MkdirAll(filepath.Join(other.root, "run/systemd/system"), 0o755))
	for _, args := range [][]string{{"create", "faq", "--command", "cat"}, {"list"}, {"start", "faq"}, {"remove", "faq", "--yes"}} {
		if out, status := other.bots(args...); (status == 0) != (args[0] != "start") {
			t.Errorf("%s: status %d: %s", args, status, out)
		}
	}
	if f.calls() != "" {
		t.Errorf("this machine's systemd was told:\n%s", f.calls())
	}
}

func TestDoctorJudgesTheUnit(t *testing.T) {
	for name, c := range map[string]struct {
		unit   string
		status channels.Verdict
		words  string
	}{
		"runs":            {unitText("faq", "loaded", "enabled", "active", "success", 0, 4711, 0), channels.Good, "active and enabled"},
		"not installed":   {unitText("faq", "not-found", "", "inactive", "success", 0, 0, 0), channels.Doubtful, "is not installed"},
		"masked":          {unitText("faq", "masked", "masked", "inactive", "success", 0, 0, 0), channels.Bad, "is masked"},
		"stopped":         {unitText("faq", "loaded", "disabled", "inactive", "success", 0, 0, 0), channels.Doubtful, "is inactive"},
		"failed":          {unitText("faq", "loaded", "enabled", "failed", "watchdog", 6, 0, 3), channels.Bad, "watchdog, exit status 6"},
		"bad config":      {unitText("faq", "loaded", "enabled", "failed", "exit-code", 78, 0, 0), channels.Bad, "because of its config"},
		"not after boot":  {unitText("faq", "loaded", "disabled", "active", "success", 0, 4711, 0), channels.Doubtful, "after a reboot"},
		"restarted often": {unitText("faq", "loaded", "enabled", "active", "success", 0, 4711, 9), channels.Doubtful, "restarted 9 times"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakeSystemd(t)
			t.Setenv("CREDENTIALS_DIRECTORY", "") // the doctor sets it, and the test puts it back
			t.Setenv("STATE_DIRECTORY", "")
			if out, status := f.bots("create", "faq", "--command", "cat"); status != 0 {
				t.Fatal(out)
			}
			f.shows(c.unit)
			all, _, _ := examined(t, filepath.Join(f.root, "etc/nanobot/faq/config.json"), false)
			all.expect(t, "systemd", c.status, c.words)
			if want := "--no-pager show --property=" + unitProperties + " -- nanobot@faq.service\n"; f.calls() != want {
				t.Errorf("it asked %q", f.calls())
			}
			if strings.Contains(c.unit, "4711") {
				all.expect(t, "daemon", channels.Good, "pid 4711") // whose lock is in a place that only the service knows
			}
		})
	}
}

func TestDoctorFindsTheSecretsAndTheStateOfAServersBot(t *testing.T) {
	f := newFakeSystemd(t)
	t.Setenv("CREDENTIALS_DIRECTORY", "")
	t.Setenv("STATE_DIRECTORY", "")
	token := filepath.Join(f.root, "token")
	must(t, os.WriteFile(token, []byte("123456:abcdef\n"), 0o600))
	if out, status := f.bots("create", "faq", "--command", "cat", "--telegram-token-file", token); status != 0 {
		t.Fatal(out)
	}
	state := filepath.Join(f.root, "var/lib/nanobot/faq")
	must(t, os.MkdirAll(state, 0o700))
	f.shows(unitText("faq", "loaded", "enabled", "active", "success", 0, 4711, 0))
	d := doctor{path: filepath.Join(f.root, "etc/nanobot/faq/config.json")}
	bot, _ := findBot(d.path)
	bot.enter()
	if open, ok := d.checkConfig(bot, true); !ok || open["telegram"] == nil {
		t.Errorf("found %+v", d.found)
	}
	if d.cfg == nil || d.cfg.Gateway.StateDir != "/var/lib/nanobot/faq" || os.Getenv("STATE_DIRECTORY") != state {
		t.Errorf("the state is not in %s", state)
	}
}

func TestFindBot(t *testing.T) {
	for path, unit := range map[string]string{
		"/etc/nanobot/faq/config.json": "nanobot@faq.service", "/etc/nanobot/config.json": "nanobot.service", "/srv/root/etc/nanobot/a-1/config.json": "nanobot@a-1.service",
		"/etc/nanobot/faq/other.json": "", "/home/me/config.json": "", "/etc/nanobot/Bad/config.json": "", "/nanobot/etc/config.json": "",
	} {
		b, ok := findBot(path)
		if ok != (unit != "") || ok && (b.unit() != unit || b.config() != path) {
			t.Errorf("%s: got %+v, %v", path, b, ok)
		}
	}
}

func TestBotsPrintsOneObjectABot(t *testing.T) {
	f := newFakeSystemd(t)
	if out, status := f.bots("create", "faq", "--command", "cat", "--json"); status != 0 || !strings.Contains(out, `"name": "faq"`) {
		t.Fatal(out)
	}
	f.shows(unitText("faq", "loaded", "enabled", "failed", "exit-code", 3, 0, 7))
	out, status := f.bots("status", "--json", "faq")
	var got []botView
	if err := json.Unmarshal([]byte(out), &got); err != nil || status != exit.Failed || len(got) != 1 {
		t.Fatalf("%v, status %d: %s", err, status, out)
	}
	if v := got[0]; v.State != "failed" || v.Result != "exit-code" || v.Exit != 3 || v.Restarts != 7 || !v.Enabled || v.Status != "all = well" {
		t.Errorf("got %+v", v)
	}
}

func TestARealSystemdIsUnderstood(t *testing.T) {
	s := systemd{"/"}
	if !s.runs() {
		t.Skip("systemd does not run here")
	}
	all, err := s.show(t.Context(), "systemd-journald.service", "nanobot@no-such-bot.service")
	if err != nil || all["systemd-journald.service"].State != "active" {
		t.Errorf("got %+v, %v", all, err)
	}
}
