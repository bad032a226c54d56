package bots_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/cmd/nanobot/bots"
	"nanobot/cmd/nanobot/exit"
	"nanobot/cmd/nanobot/format"
	"nanobot/cmd/nanobot/systemd/systemdtest"
	"nanobot/config"
	"nanobot/internal/musttest"
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

// bots does what the command with these arguments does, and returns its output and exit status.
func (f botsServer) bots(args ...string) (out string, status int) {
	f.t.Helper()
	var stdout, stderr bytes.Buffer
	s := &bots.Server{
		Root: f.Root, In: strings.NewReader(""), Out: &stdout, Err: &stderr, Extensions: config.Extensions{},
	}
	var d bots.Draft
	var names []string
	var all, yes bool
	for i := 1; i < len(args); i++ {
		switch args[i] {
		case "--command":
			i++
			d.Command = args[i]
		case "--json":
			s.JSON = true
		case "--all":
			all = true
		case "--yes":
			yes = true
		default:
			names = append(names, args[i])
		}
	}
	err := s.ResolveRoot()
	musttest.Do(f.t, err)
	switch args[0] {
	case "create":
		err = s.Create(names[0], d)
	case "list":
		err = s.List()
	case "status":
		err = s.Status(f.t.Context(), names)
	case "start":
		err = s.Start(f.t.Context(), names, all)
	case "stop":
		err = s.Stop(f.t.Context(), names, all)
	case "remove":
		err = s.Remove(f.t.Context(), names[0], bots.RemoveOptions{Yes: yes})
	default:
		f.t.Fatalf("there is no command %s", args[0])
	}
	ended := exit.Error{Status: exit.Failed, Err: err}
	if err == nil {
		return stdout.String() + stderr.String(), 0
	}
	if errors.As(err, &ended); ended.Err != nil {
		fmt.Fprintln(&stderr, err)
	}
	return stdout.String() + stderr.String(), ended.Status
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
	musttest.Do(t, os.WriteFile(filepath.Join(f.Root, "etc/nanobot/two/config.json"), []byte("{"), 0o644))
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

func TestABotThatKeepsCrashingIsNotReportedAsActive(t *testing.T) {
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
	musttest.Do(t, os.WriteFile(filepath.Join(f.Root, "bin/systemctl"), []byte(program), 0o755))
	if out, status := f.bots("stop", "--all"); status != 0 {
		t.Errorf("status %d: %s", status, out)
	}
}

func TestSystemctlIsNotCalledForTheBotsOfAnotherMachine(t *testing.T) {
	f := newBotsServer(t)
	other := botsServer{&systemdtest.Server{Root: t.TempDir()}, t}
	musttest.Do(t, os.MkdirAll(filepath.Join(other.Root, "run/systemd/system"), 0o755))
	for _, args := range [][]string{{"create", "faq", "--command", "cat"}, {"list"}, {"start", "faq"}, {"remove", "faq", "--yes"}} {
		if out, status := other.bots(args...); (status == 0) != (args[0] != "start") {
			t.Errorf("%s: status %d: %s", args, status, out)
		}
	}
	if f.Calls() != "" {
		t.Errorf("this machine's systemd was told:\n%s", f.Calls())
	}
}

func TestBotsPrintsOneObjectABot(t *testing.T) {
	f := newBotsServer(t)
	if out, status := f.bots("create", "faq", "--command", "cat", "--json"); status != 0 || !strings.Contains(out, `"name": "faq"`) {
		t.Fatal(out)
	}
	f.SetUnits(systemdtest.UnitText("faq", "loaded", "enabled", "failed", "exit-code", 3, 0, 7))
	out, status := f.bots("status", "--json", "faq")
	var got []bots.View
	if err := json.Unmarshal([]byte(out), &got); err != nil || status != exit.Failed || len(got) != 1 {
		t.Fatalf("%v, status %d: %s", err, status, out)
	}
	if v := got[0]; v.State != "failed" || v.Result != "exit-code" || v.Exit != 3 || v.Restarts != 7 || !v.Enabled || v.Status != "all = well" {
		t.Errorf("got %+v", v)
	}
}
