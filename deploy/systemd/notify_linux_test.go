package systemd_test

import (
	"strings"
	"testing"

	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/wanttest"
)

func TestAChatIsToldThatAUnitHasFailedOnARealSystemd(t *testing.T) {
	m := startMachine(t)
	m.install()
	api := telegramtest.New(t)
	m.createBot("ops", "/bin/echo", api)
	m.putFile("/etc/nanobot/notify.conf", "CHAT=telegram:7\nNANOBOT_CONFIG=/etc/nanobot/ops/config.json\n", 0o644)
	for _, name := range []string{"backup", "mirror"} {
		m.putFile("/etc/systemd/system/"+name+".service", "[Unit]\nOnFailure=nanobot-notify@%n.service\n[Service]\nType=oneshot\n"+
			"ExecStart=/bin/sh -c 'echo \"*no* space ``` left\"; [ -e /run/fixed ]'\n", 0o644)
	}
	m.run("systemctl", "daemon-reload")
	m.run("systemctl", "enable", "--now", "nanobot@ops")
	defer m.run("systemctl", "disable", "--now", "nanobot@ops")
	m.putFile("/var/lib/nanobot/ops/workspace/runbooks/restart-backup.md", "# Make the backup again\n\n## Start it\n\n"+
		"PROOF OF WORK: echo started\n", 0o644)
	m.run("chmod", "-R", "a+rX", "/var/lib/nanobot/ops/workspace/runbooks")

	_ = m.command("systemctl", "start", "backup").Run()
	told := api.WaitForText(t, 7, "backup.service")
	for _, want := range []string{"has failed", "exit-code", "*no* space ``` left"} {
		if !strings.Contains(told.TextOrCaption(), want) {
			t.Errorf("no %q in %q", want, told.TextOrCaption())
		}
	}
	_ = m.command("systemctl", "start", "backup").Run() // within ten minutes
	_ = m.command("systemctl", "start", "mirror").Run()
	api.WaitForText(t, 7, "mirror.service")
	messages, _ := api.AwaitMessages(7, telegramtest.WaitLimit, func([]telegramtest.Message) bool { return true })
	wanttest.Equal(t, "messages", len(messages), 2)
	buttons := told.Buttons()
	if len(buttons) != 1 || buttons[0].Text != "/run restart-backup" {
		t.Fatalf("the buttons are %+v", buttons)
	}
	api.UserPresses(7, 7, told.ID, buttons[0].Data)
	api.WaitForText(t, 7, "started")
}
