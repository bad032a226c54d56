package systemd_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/wanttest"
)

func TestAChatIsToldThatAUnitHasFailedOnARealSystemd(t *testing.T) {
	m := startMachine(t)
	m.install()
	api := telegramtest.New(t)
	api.AddUser(telegramtest.User{ID: 7})
	m.createBot("ops", "/bin/echo", api)
	m.putFile("/etc/nanobot/notify.conf", "CHAT=telegram:7\nNANOBOT_CONFIG=/etc/nanobot/ops/config.json\n", 0o644)
	m.putFile("/usr/share/agents/fail.sh", "echo '*no* space ``` left'; exit 1\n", 0o644)
	for _, name := range []string{"backup", "mirror"} {
		m.putFile("/etc/systemd/system/"+name+".service", "[Unit]\nOnFailure=nanobot-notify@%n.service\n[Service]\nType=oneshot\n"+
			"ExecStart=/bin/sh /usr/share/agents/fail.sh\n", 0o644)
	}
	m.run("systemctl", "daemon-reload")
	m.run("systemctl", "enable", "--now", "nanobot@ops")
	defer m.run("systemctl", "disable", "--now", "nanobot@ops")
	m.putFile("/var/lib/nanobot/ops/workspace/runbooks/restart-backup.md", "# Make the backup again\n\n## Start it\n\n"+
		"PROOF OF WORK: echo started\n", 0o644)
	m.run("chmod", "-R", "a+rX", "/var/lib/nanobot/ops/workspace/runbooks")

	_ = m.command("systemctl", "start", "backup").Run()
	await := func(part string) (found telegramtest.Message) {
		t.Helper()
		shown, ok := api.AwaitMessages(7, 5*time.Minute, func(all []telegramtest.Message) bool {
			return slices.ContainsFunc(all, func(m telegramtest.Message) bool {
				found = m
				return strings.Contains(m.TextOrCaption(), part)
			})
		})
		if !ok {
			t.Fatalf("no %q in %+v\n%s", part, shown, m.run("journalctl", "--no-pager", "-n", "40"))
		}
		return found
	}
	told := await("backup.service")
	for _, want := range []string{"has failed", "exit-code", "*no* space ``` left"} {
		if !strings.Contains(told.TextOrCaption(), want) {
			t.Errorf("no %q in %q", want, told.TextOrCaption())
		}
	}
	_ = m.command("systemctl", "start", "backup").Run() // within ten minutes
	_ = m.command("systemctl", "start", "mirror").Run()
	await("mirror.service")
	wanttest.Equal(t, "messages", len(api.BotMessages(7)), 2)
	buttons := told.Buttons()
	if len(buttons) != 1 || buttons[0].Text != "/run restart-backup" {
		t.Fatalf("the buttons are %+v", buttons)
	}
	api.UserPresses(7, 7, told.ID, buttons[0].Data)
	await("Make the backup again")
}
