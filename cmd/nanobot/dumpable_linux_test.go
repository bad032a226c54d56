package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"nanobot/channels"
	"nanobot/gateway/gatewaytest"
	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// startAsOtherUser runs the daemon as a user who is not root, in an open folder with this config.
func startAsOtherUser(t *testing.T, cfg string, env ...string) (dir string, net *gatewaytest.Network) {
	t.Helper()
	dir, net = newPublicFolder(t), gatewaytest.NewNetwork()
	t.Cleanup(net.Close)
	bin := filepath.Join(dir, "nanobot")
	linkProgram(t, bin)
	bot := filepath.Join(dir, "bot")
	musttest.Do(t, os.Mkdir(bot, 0o700))
	musttest.Do(t, os.WriteFile(filepath.Join(bot, "config.json"), []byte(cfg), 0o600))
	for _, path := range []string{bot, filepath.Join(bot, "config.json")} {
		musttest.Do(t, os.Chown(path, stranger, stranger))
	}
	log := musttest.Get(os.Create(filepath.Join(dir, "log")))(t)
	defer log.Close()
	cmd := exec.Command(bin, "serve", "--config", filepath.Join(bot, "config.json"))
	cmd.Env = append(append(environWithoutTestSettings(), "NANOBOT_TEST_MAIN=1", "TEST_NETWORK_URL="+net.URL, "HOME="+bot), env...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = bot, log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: stranger, Gid: stranger}}
	daemon := killtest.Start(t, cmd)
	t.Cleanup(func() {
		_ = daemon.End()
		if said, _ := os.ReadFile(log.Name()); t.Failed() {
			t.Logf("the daemon says:\n%s", said)
		}
	})
	return bot, net
}

// awaitAnswer sends a text to a chat and returns the answer.
func awaitAnswer(t *testing.T, net *gatewaytest.Network, chat, text string) string {
	t.Helper()
	net.UserWrites(chat, "7", text)
	calls, ok := net.Await(chat, waitTimeout, func(c []gatewaytest.Call) bool { return len(c) > 0 })
	if !ok {
		t.Fatalf("chat %s was not answered", chat)
	}
	return calls[len(calls)-1].Text
}

// peek opens what an agent of the same user could use of the daemon, which is its parent.
const peek = `p=$PPID
for f in environ mem maps auxv root/etc/passwd cwd/config.json; do
	head -c 1 /proc/$p/$f >/dev/null 2>&1 && echo opened $f
done
ls /proc/$p/fd >/dev/null 2>&1 && echo listed its files
tr '\0' '\n' 2>/dev/null </proc/$p/environ | grep -a hush
kill -0 $p && echo signals $(cat /proc/$p/comm)
echo tried
`

func TestAnAgentOfTheSameUserCannotReadTheDaemonsEnvironment(t *testing.T) {
	t.Parallel()
	dir, net := startAsOtherUser(t, `{"terminal": {"command": "exec sh peek.sh"}, "http": {"token": "env:OUR_TOKEN"}`+anybody, "OUR_TOKEN=hush-hush-hush-hush")
	musttest.Do(t, os.WriteFile(filepath.Join(dir, "peek.sh"), []byte(peek), 0o644))
	wanttest.Equal(t, "the agent says", awaitAnswer(t, net, "1", "hello"), "signals nanobot\ntried")
}

func TestDoctorSaysWhatAnAgentOfTheSameUserCanDo(t *testing.T) {
	all, _, _ := runDoctor(t, writeBot(t, `{"terminal": {"command": "echo ok"}}`, nil), false)
	want, line := "the agent can change its config", `terminal: add the line "sandbox": "landlock",`
	if os.Geteuid() == 0 {
		want, line = "the agent runs as root", `terminal: add the line "user": "nanobot-agent",`
	}
	all.expectFinding(t, "isolation.user", channels.Doubtful, want)
	i := slices.IndexFunc(all, func(f channels.Finding) bool { return f.Check == "isolation.user" })
	if want := "config.json:1:2: " + line; !strings.Contains(all[i].Fix, want) {
		t.Errorf("the fix is %q, want %q", all[i].Fix, want)
	}
}
