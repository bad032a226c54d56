package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"nanobot/internal/musttest"
)

// runAsNobody runs the program as a user who is not root.
func runAsNobody(t *testing.T, args ...string) string {
	t.Helper()
	program := filepath.Join(newPublicDir(t), "nanobot")
	linkProgram(t, program)
	cmd := exec.Command(program, args...)
	cmd.Env = append(environWithoutTestSettings(), "NANOBOT_TEST_MAIN=1")
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	out, _ := cmd.CombinedOutput()
	return string(out)
}

// newPublicDir returns a folder that other users may enter.
func newPublicDir(t *testing.T) string {
	t.Helper()
	dir := musttest.Get(os.MkdirTemp("/tmp", "open-"))(t)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	musttest.Do(t, os.Chmod(dir, 0o755))
	return dir
}

func TestAnUnreadableConfigIsNotReportedAsBad(t *testing.T) {
	root := newPublicDir(t)
	dir := filepath.Join(root, "etc/nanobot/faq")
	musttest.Do(t, os.MkdirAll(dir, 0o755))
	musttest.Do(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte(`{"terminal": {"command": "true"}}`), 0o000))
	out := runAsNobody(t, "bots", "--root", root, "list")
	if !strings.Contains(out, "permission denied; try again with sudo") || strings.Contains(out, "bad config") {
		t.Error(out)
	}
}
