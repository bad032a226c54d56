// Package systemdtest fakes a server with systemd. It starts no unit.
package systemdtest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"nanobot/cmd/nanobot/systemd"
	"nanobot/internal/musttest"
)

// Server is the root of a server on which systemd seems to run: a program named systemctl records
// its calls and answers show with the properties that are set here.
type Server struct {
	Root string
	t    *testing.T
}

// New makes a server, until the test ends.
func New(t *testing.T) *Server {
	t.Helper()
	s := &Server{t.TempDir(), t}
	before := systemd.Booted
	systemd.Booted = filepath.Join(s.Root, "run/systemd/system")
	t.Cleanup(func() { systemd.Booted = before })
	musttest.Do(t, os.MkdirAll(systemd.Booted, 0o755))
	musttest.Do(t, os.MkdirAll(filepath.Join(s.Root, "bin"), 0o755))
	program := fmt.Sprintf("#!/bin/sh\necho \"$*\" >> %[1]s/calls\ncase \"$*\" in *broken*) echo 'Job for it failed.' >&2; exit 1;; esac\ncase $2 in show) cat %[1]s/shown;; esac\n", s.Root)
	musttest.Do(t, os.WriteFile(filepath.Join(s.Root, "bin/systemctl"), []byte(program), 0o755))
	s.SetUnits("")
	t.Setenv("PATH", filepath.Join(s.Root, "bin")+":"+os.Getenv("PATH"))
	return s
}

// SetUnits sets what systemctl show prints: texts of UnitText.
func (s *Server) SetUnits(text string) {
	s.t.Helper()
	musttest.Do(s.t, os.WriteFile(filepath.Join(s.Root, "shown"), []byte(text), 0o600))
}

// Calls returns the arguments of all calls of systemctl, a line each.
func (s *Server) Calls() string {
	b, _ := os.ReadFile(filepath.Join(s.Root, "calls"))
	return string(b)
}

// UnitText returns what systemctl show prints of a bot's unit.
func UnitText(name, load, file, state, result string, exit, pid, restarts int) string {
	return fmt.Sprintf("Id=nanobot@%s.service\nLoadState=%s\nUnitFileState=%s\nActiveState=%s\nSubState=x\nResult=%s\nStatusText=all = well\nExecMainStatus=%d\nMainPID=%d\nNRestarts=%d\n\n",
		name, load, file, state, result, exit, pid, restarts)
}
