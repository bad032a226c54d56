package systemd_test

import (
	"strings"
	"testing"

	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/wanttest"
)

func TestAgentsUseTheToolsOfTheirChatInTheUnitsOfARealSystemd(t *testing.T) {
	m := startMachine(t)
	m.install()
	m.putFile("/usr/share/agents/tools.sh", readUnit(t, "testdata/tools.sh"), 0o644)
	api := telegramtest.New(t)
	m.createBot("tools", "/bin/sh /usr/share/agents/tools.sh", api)
	m.run("systemctl", "enable", "--now", "nanobot@tools")
	defer m.run("systemctl", "disable", "--now", "nanobot@tools")
	for i, how := range []string{"in the unit", "in a sandbox of the kernel's"} {
		if i > 0 {
			m.enableSandbox("tools")
			m.run("systemctl", "restart", "nanobot@tools")
		}
		api.UserSends(7, "send")
		sent, said := 0, ""
		_, ok := api.AwaitMessages(7, telegramtest.WaitLimit, func(all []telegramtest.Message) bool {
			sent, said = 0, ""
			ends := 0
			for _, m := range all {
				if m.TextOrCaption() == "By a tool." {
					sent++
				}
				if strings.HasPrefix(m.TextOrCaption(), "Socket ") {
					ends, said = ends+1, m.TextOrCaption()
				}
			}
			return ends == i+1
		})
		if !ok || sent != 2*(i+1) || !strings.HasPrefix(said, "Socket /run/nanobot/tools/nanobot-") {
			t.Fatalf("%s %d messages came by tools, and the agent says %q: %s", how, sent, said, m.run("journalctl", "--no-pager", "-n", "30"))
		}
	}
	m.run("systemctl", "stop", "nanobot@tools")
	wanttest.Equal(t, "it left", m.run("sh", "-c", "find /run/nanobot -type s"), "")
}
