package acp_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/config"
	"nanobot/internal/musttest"
	"nanobot/terminal"
)

func TestCommandsAreInTheAgentsSandbox(t *testing.T) {
	t.Parallel()
	p := newFixture(t, "", allowAll, func(c *config.Terminal) { c.Sandbox = "env CONFINED=yes" }).person("a")
	p.send("env CONFINED\nrun echo $CONFINED").expect(terminal.Done, "CONFINED=yesyes\n(exit 0)")
}

func TestAnotherUsersAgentHasThatUsersRights(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root may be somebody else")
	}
	workspace := musttest.Get(os.MkdirTemp("/tmp", "acp"))(t)
	t.Cleanup(func() { os.RemoveAll(workspace) })
	exe := musttest.Get(os.Executable())(t)
	program := musttest.Get(os.ReadFile(exe))(t)
	agent, secret, sessions := filepath.Join(workspace, "agent"), filepath.Join(workspace, "secret"), filepath.Join(workspace, "sessions")
	for _, err := range []error{os.WriteFile(agent, program, 0o755), os.WriteFile(secret, []byte("SECRET"), 0o600), os.Mkdir(sessions, 0o700)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for path, mode := range map[string]os.FileMode{workspace: 0o755, sessions: 0o777} {
		musttest.Do(t, os.Chmod(path, mode))
	}
	d := newFixture(t, "", allowAll)
	d.workspace, d.cfg.User = workspace, "nobody"
	d.cfg.Command = "ACPTEST_AGENT=1 exec " + agent + " -dir " + sessions
	d.restart()
	p := d.person("a")
	p.send("run id -un").expect(terminal.Done, "nobody\n(exit 0)")
	h := p.send("capabilities\nread " + secret + "\nwrite " + secret + " changed\nrun cat " + secret)
	text := h.text(terminal.Message)
	if strings.Contains(text, "SECRET") || strings.Count(text, "-32601") != 2 || !strings.HasPrefix(text, "fs false false\n") {
		t.Errorf("said %q", text)
	}
	if b, _ := os.ReadFile(secret); string(b) != "SECRET" {
		t.Errorf("it was changed to %q", b)
	}
}
