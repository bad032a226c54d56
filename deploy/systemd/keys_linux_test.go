package systemd_test

import (
	"strings"
	"testing"

	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/wanttest"
)

func TestATerminalWorksInTheUnitsOfARealSystemd(t *testing.T) {
	m := startMachine(t)
	m.install()
	m.putFile("/usr/share/agents/keys.sh", readUnit(t, "testdata/keys.sh"), 0o644)
	api := telegramtest.New(t)
	m.createBot("keys", "/bin/sh /usr/share/agents/keys.sh", api)
	config := "/etc/nanobot/keys/config.json"
	// Where namespaces are forbidden, a sandbox grants no new files in the workspace itself.
	m.putFile(config, strings.NewReplacer(`"rich"`, `"keys"`, `"command"`, `"cwd": "/var/lib/nanobot/keys/workspace/work", "command"`).Replace(m.run("cat", config)), 0o644)
	m.run("systemctl", "enable", "--now", "nanobot@keys")
	defer m.run("systemctl", "disable", "--now", "nanobot@keys")
	work := "/var/lib/nanobot/keys/workspace/work"
	m.run("sh", "-c", "mkdir "+work+" && chown --reference="+work+"/.. "+work)
	for i, how := range []string{"in the unit", "in a sandbox of the kernel's"} {
		if i > 0 {
			m.enableSandbox("keys")
			m.run("systemctl", "restart", "nanobot@keys")
		}
		api.UserSends(7, "type")
		_, ok := api.AwaitMessages(7, telegramtest.WaitLimit, func(all []telegramtest.Message) bool {
			n := 0
			for _, m := range all {
				if m.TextOrCaption() == "Typed." {
					n++
				}
			}
			return n == i+1
		})
		if !ok {
			t.Fatalf("%s the agent does not come to its end: %s", how, m.run("journalctl", "--no-pager", "-n", "30"))
		}
		wanttest.Equal(t, how+": the terminal has the size", m.run("sh", "-c", "cat "+work+"/result; rm -f "+work+"/*"), "40 160")
	}
}
