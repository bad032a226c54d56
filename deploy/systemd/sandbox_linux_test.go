package systemd_test

import (
	"strings"
	"testing"

	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/wanttest"
)

// takeOver is an agent that tries to change the config, which is in the workspace, to make the
// daemon reload it, and to read files of others.
const takeOver = `exec 2>/dev/null
sed -i s/landlock/none/ config.json; echo evil > config.json; sed s/landlock/none/ config.json > new; mv -f new config.json; mv config.json old; rm -f config.json
ln config.json users/7/hard; echo evil > users/7/hard
kill -HUP $PPID
cat token ../nanobot.db* ../history users/8/f users/8/.tmp/* /tmp/other /run/credentials/*/* /proc/$PPID/environ | tr -d '\0' | grep -a hush
ls users /tmp
mkdir fresh && echo made a folder
echo mine > users/7/mine; cat users/7/mine; echo x > data/x && cat data/x; f=$(mktemp) && echo temporary > $f && cat $f
echo tried
`

func TestAnAgentInAUnitCannotRewriteTheConfig(t *testing.T) {
	m := startMachine(t)
	m.install()
	api := telegramtest.New(t)
	m.putFile("/usr/share/agents/takeover.sh", takeOver, 0o644)
	m.createBot("safe", "exec sh /usr/share/agents/takeover.sh", api)
	m.enableSandbox("safe")
	const config, work = "/etc/nanobot/safe/config.json", "/var/lib/private/nanobot/safe/workspace"
	text := strings.Replace(m.run("cat", config), `"sandbox"`, `"sandboxRequired": true, "sandbox"`, 1)
	m.putFile(config, text, 0o644)
	m.run("systemctl", "start", "nanobot@safe")
	// The least safe location of a config: the agent's user owns it and can write to all its
	// parents.
	m.run("systemctl", "stop", "nanobot@safe")
	m.run("mkdir", "-p", work+"/data", work+"/users/8/.tmp")
	m.putFile(work+"/config.json", text, 0o644)
	for _, path := range []string{"/token", "/users/8/f", "/users/8/.tmp/f"} {
		m.putFile(work+path, "hush", 0o600)
	}
	m.run("sh", "-c", "cd "+work+" && chown -R --reference=. .")
	m.run("ln", "-sf", work+"/config.json", config)
	m.run("sh", "-c", "sed -i 's|\"channels\"|\"http\": {\"token\": \"file:"+work+"/token\"}, \"channels\"|' "+work+"/config.json")
	m.run("sh", "-c", "echo hush-hush-hush-hush > "+work+"/token; chown --reference="+work+" "+work+"/token "+work+"/config.json")
	before := m.run("cat", config)
	m.run("systemctl", "start", "nanobot@safe")
	api.UserSends(7, "take over")
	shown, ok := api.AwaitMessages(7, telegramtest.WaitLimit, func(all []telegramtest.Message) bool {
		return len(all) > 0 && strings.Contains(all[len(all)-1].TextOrCaption(), "tried")
	})
	if !ok {
		t.Fatalf("it shows %+v\n%s", shown, m.run("journalctl", "-u", "nanobot@safe", "-o", "cat", "-n", "30"))
	}
	said := shown[len(shown)-1].TextOrCaption()
	for _, secret := range []string{"hush", "made a folder", "nanobot.db"} {
		if strings.Contains(said, secret) {
			t.Errorf("the agent says %q", said)
		}
	}
	for _, own := range []string{"mine", "x", "temporary"} {
		if !strings.Contains(said, own) {
			t.Errorf("the agent cannot work: %q", said)
		}
	}
	wanttest.Equal(t, "the config is", m.run("cat", config), before)
	log := m.run("journalctl", "-u", "nanobot@safe", "-o", "cat")
	if !strings.Contains(log, "is granted to the agent entry by entry") {
		t.Errorf("the log does not say what the agent cannot do:\n%s", log)
	}
}
