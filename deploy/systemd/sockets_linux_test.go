package systemd_test

import (
	"strings"
	"testing"

	"nanobot/channels/telegram/telegramtest"
)

// openSockets listens on sockets that every user may connect to.
const openSockets = `import os, socket, sys
kept = []
for path in sys.argv[1:]:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    s = socket.socket(socket.AF_UNIX)
    s.bind(path)
    os.chmod(path, 0o777)
    s.listen()
    kept.append(s)
open("/run/open", "w").close()
for s in kept[-1:]:
    while True:
        s.accept()
`

// trySockets is an agent that says which sockets it can connect to, and whether names are resolved.
const trySockets = `import socket, sys
can = []
for path in sys.argv[1:]:
    try:
        socket.socket(socket.AF_UNIX).connect(path)
        can.append(path)
    except OSError:
        pass
print("connected to", can, "localhost is", socket.gethostbyname("localhost"))
`

func TestTheUnitsHideSocketsOfOtherProgramsSoThatARequiredSandboxStarts(t *testing.T) {
	m := startMachine(t)
	m.install()
	api := telegramtest.New(t)
	const hidden = "/run/docker.sock /run/snapd.socket /run/postgresql/.s.PGSQL.5432 /run/tailscale/tailscaled.sock"
	const foreign = "/run/foreign/socket"
	m.putFile("/usr/share/agents/open.py", openSockets, 0o644)
	m.putFile("/usr/share/agents/try.py", trySockets, 0o644)
	m.run(append([]string{"systemd-run", "--unit=hidden", "python3", "/usr/share/agents/open.py"}, strings.Fields(hidden)...)...)
	m.await("the sockets are open", func() bool { return m.command("test", "-e", "/run/open").Run() == nil })
	m.createBot("shut", "python3 /usr/share/agents/try.py "+hidden+" "+foreign, api)
	m.enableSandbox("shut")
	const config, unit = "/etc/nanobot/shut/config.json", "nanobot@shut"
	text := strings.Replace(m.run("cat", config), `"sandbox"`, `"sandboxRequired": true, "sandbox"`, 1)
	m.putFile(config, text, 0o644)
	m.run("systemctl", "start", unit)
	api.UserSends(7, "can you?")
	api.WaitForText(t, 7, "connected to [] localhost is 127.0.0.1")
	m.run("systemctl", "stop", unit)

	m.run("rm", "/run/open")
	m.run("systemd-run", "--unit=foreign", "python3", "/usr/share/agents/open.py", foreign)
	m.await("the socket is open", func() bool { return m.command("test", "-e", "/run/open").Run() == nil })
	if out, err := m.command("systemctl", "start", unit).CombinedOutput(); err == nil {
		t.Errorf("it starts with an open socket: %s", out)
	}
	log := m.run("journalctl", "-u", unit, "-o", "cat")
	if status := m.property(unit, "ExecMainStatus"); status != "78" || !strings.Contains(log, "through sockets of other programs ("+foreign+")") {
		t.Errorf("status %s:\n%s", status, log)
	}
	m.putFile(config, strings.Replace(text, `"sandbox"`, `"sandboxPaths": ["`+foreign+`"], "sandbox"`, 1), 0o644)
	m.run("systemctl", "start", unit)
	defer m.run("systemctl", "stop", unit)
	api.UserSends(7, "and now?")
	api.WaitForText(t, 7, "connected to ['"+foreign+"'] localhost is 127.0.0.1")
}
