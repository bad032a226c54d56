package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// asNobody runs the program as somebody who is not root, which may be us.
func asNobody(t *testing.T, args ...string) string {
	t.Helper()
	program := filepath.Join(openDir(t), "nanobot")
	self, err := os.ReadFile(os.Args[0])
	must(t, err)
	must(t, os.WriteFile(program, self, 0o755))
	cmd := exec.Command(program, args...)
	cmd.Env = append(plainEnviron(), "NANOBOT_TEST_MAIN=1")
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	out, _ := cmd.CombinedOutput()
	return string(out)
}

// openDir is a folder that others may enter.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "open-")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o755))
	return dir
}

func TestAConfigThatMayNotBeReadIsNotCalledBad(t *testing.T) {
	root := openDir(t)
	dir := filepath.Join(root, "etc/nanobot/faq")
	must(t, os.MkdirAll(dir, 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte(`{"terminal": {"command": "true"}}`), 0o000))
	out := asNobody(t, "bots", "--root", root, "list")
	if !strings.Contains(out, "permission denied; try again with sudo") || strings.Contains(out, "bad config") {
		t.Error(out)
	}
}
