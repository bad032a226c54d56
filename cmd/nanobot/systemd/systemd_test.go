package systemd_test

import (
	"testing"

	"nanobot/cmd/nanobot/systemd"
)

func TestFindBot(t *testing.T) {
	for path, unit := range map[string]string{
		"/etc/nanobot/faq/config.json": "nanobot@faq.service", "/etc/nanobot/config.json": "nanobot.service", "/srv/root/etc/nanobot/a-1/config.json": "nanobot@a-1.service",
		"/etc/nanobot/faq/other.json": "", "/home/me/config.json": "", "/etc/nanobot/Bad/config.json": "", "/nanobot/etc/config.json": "",
	} {
		b, ok := systemd.FindBot(path)
		if ok != (unit != "") || ok && (b.Unit() != unit || b.Config() != path) {
			t.Errorf("%s: got %+v, %v", path, b, ok)
		}
	}
}

func TestARealSystemdIsUnderstood(t *testing.T) {
	s := systemd.Manager{Root: "/"}
	if !s.Runs() {
		t.Skip("systemd does not run here")
	}
	all, err := s.Show(t.Context(), "systemd-journald.service", "nanobot@no-such-bot.service")
	if err != nil || all["systemd-journald.service"].State != "active" {
		t.Errorf("got %+v, %v", all, err)
	}
}
