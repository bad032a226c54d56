package systemd_test

import (
	"fmt"
	"strings"
	"testing"

	"nanobot/channels/telegram/telegramtest"
)

// onlyWith has for each paragraph of relax.conf, by its first words, a command that an agent can
// run only with that paragraph. With "true", the test only checks that the bot works.
var onlyWith = map[string]string{
	"Files.":                    `touch /srv/shared/x && grep -q mine /home/ann/agent/notes`,
	"Sockets of databases":      `ls /run/postgresql`,
	"A fixed user":              `[ "$(id -un)" = mybot ]`,
	`"Operation not permitted"`: `unshare --user --map-root-user --mount true`,
	"Ports below 1024":          `python3 -c 'import socket; socket.socket().bind(("127.0.0.1", 81))'`,
	"Graphics cards":            `[ -e /dev/kmsg ]`,
	"Programs of another":       `true`,
	"Agents in Python":          `true`,
	"Agents that need no":       `true`,
	"The network":               `true`,
	"Limits for the whole bot":  `true`,
}

// trial returns the command for a paragraph.
func trial(t *testing.T, title string) string {
	t.Helper()
	for begins, command := range onlyWith {
		if strings.HasPrefix(title, begins) {
			return command
		}
	}
	t.Fatal("nobody has tried that")
	return ""
}

func TestTheSettingsOfRelaxConfWorkOnARealSystemd(t *testing.T) {
	m := startMachine(t)
	m.install()
	m.run("mkdir", "-p", "/srv/shared", "/home/ann/agent", "/run/postgresql")
	m.run("chmod", "777", "/srv/shared")
	m.putFile("/home/ann/agent/notes", "mine\n", 0o644)
	m.run("useradd", "--system", "mybot")
	for i, paragraph := range strings.Split(readUnit(t, "relax.conf"), "\n\n") {
		if !inRelax.MatchString(paragraph) {
			continue
		}
		dropIn := "[Service]\n" + inRelax.ReplaceAllString(paragraph, "$1") + "\n"
		title, _, _ := strings.Cut(strings.TrimPrefix(paragraph, "# "), "\n")
		t.Run(title, func(t *testing.T) {
			m, trial := machine{t, m.pid}, trial(t, title)
			api := telegramtest.New(t)
			name := fmt.Sprintf("trial-%d", i)
			unit := "nanobot@" + name
			m.createBot(name, fmt.Sprintf("if { %s; } >/dev/null 2>&1; then echo it can; else echo it cannot; fi", trial), api)
			defer m.run("systemctl", "stop", unit)
			if trial != "true" {
				m.run("systemctl", "start", unit)
				api.UserSends(7, "can you?")
				api.WaitForText(t, 7, "it cannot")
			}
			m.putFile("/etc/systemd/system/"+unit+".service.d/relax.conf", dropIn, 0o644)
			m.run("systemctl", "daemon-reload")
			m.run("systemctl", "restart", unit)
			api.UserSends(7, "and now?")
			api.WaitForText(t, 7, "it can")
		})
	}
}
