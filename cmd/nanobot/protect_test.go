package main

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"nanobot/internal/musttest"
)

func TestServeReloadsTheProtectedFiles(t *testing.T) {
	t.Parallel()
	const cfg = `{"terminal": {"protocol": "blocks", "command": "sh agent.sh", "protect": [%s], "blocks": {"approve": "never"}}` + anybody
	b := newBot(t)
	file := func(name string) string { return filepath.Join(filepath.Dir(b.cfg), name) }
	musttest.Do(t, os.WriteFile(file("agent.sh"), []byte(`cat > /dev/null; printf '[CREATE_FILE path="Makefile"]\nall:\n[/CREATE_FILE]\n[DONE]\nend\n[/DONE]\n'`), 0o600))
	b.configure(t, fmt.Sprintf(cfg, ""))
	b.program = startProgram(t, "serve", "--config", b.cfg)
	b.net.UserWrites("1", "7", "hello")
	b.awaitText("1", "Created: ")
	musttest.Do(t, os.Remove(file("Makefile")))
	b.configure(t, fmt.Sprintf(cfg, `"Makefile"`))
	b.signal(syscall.SIGHUP)
	b.awaitLog("config reloaded")
	b.net.UserWrites("2", "7", "hello")
	b.awaitText("2", "🔐 `Makefile` was not changed: your tools may execute it later, and blocks.approve is never.")
	b.awaitText("2", "end")
	if _, err := os.Stat(file("Makefile")); err == nil {
		t.Error("the file was written")
	}
}
