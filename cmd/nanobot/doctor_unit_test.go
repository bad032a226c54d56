package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/channels"
	"nanobot/cmd/nanobot/systemd"
	"nanobot/cmd/nanobot/systemd/systemdtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
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
	none := musttest.Get(os.Open(os.DevNull))(f.t)
	defer none.Close()
	status = run(f.t.Context(), append([]string{"bots", "--root", f.Root}, args...), stdio{none, &stdout, &stderr})
	return stdout.String() + stderr.String(), status
}

func TestDoctorAssessesTheUnit(t *testing.T) {
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
			all, _, _ := runDoctor(t, filepath.Join(f.Root, "etc/nanobot/faq/config.json"), false)
			all.expectFinding(t, "systemd", c.status, c.words)
			wanttest.Equal(t, "it asked", f.Calls(), "--no-pager show --property="+systemd.UnitProperties+" -- nanobot@faq.service\n")
			if strings.Contains(c.unit, "4711") {
				all.expectFinding(t, "daemon", channels.Good, "pid 4711") // whose lock is in a place that only the service knows
			}
		})
	}
}
