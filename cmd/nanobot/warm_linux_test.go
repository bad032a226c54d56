package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"nanobot/internal/musttest"
)

// warmBot is the daemon with an agent of which processes wait: each writes its PID to the file
// starts, and answers with it.
func warmBot(t *testing.T) (b *bot, metrics string) {
	t.Helper()
	metrics = freeAddress(t)
	b = startBot(t, `{"terminal": {"command": "echo $$ >> starts; read -r line; echo served by $$", "warm": {"chats": 2, "spare": 1}}, "http": {"listen": "`+freeAddress(t)+`", "metricsListen": "`+metrics+`"}`+anybody)
	return b, metrics
}

// awaitStarts waits until so many processes of the agent were started, and returns their PIDs.
func (b *bot) awaitStarts(n int) (pids []string) {
	b.t.Helper()
	for deadline := time.Now().Add(waitTimeout); ; time.Sleep(5 * time.Millisecond) {
		content, _ := os.ReadFile(filepath.Join(filepath.Dir(b.cfg), "starts"))
		if pids = strings.Fields(string(content)); len(pids) >= n {
			return pids
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("started are %s, want %d:\n%s", pids, n, b.log())
		}
	}
}

// awaitGone waits until processes have ended.
func (b *bot) awaitGone(pids []string) {
	b.t.Helper()
	for _, pid := range pids {
		musttest.Do(b.t, os.WriteFile(filepath.Join(b.dir, "pid"), []byte(pid), 0o600))
		b.awaitAgentExit("pid")
	}
}

func TestProcessesWaitForMessagesAndEndWithTheDaemon(t *testing.T) {
	t.Parallel()
	for _, end := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		b, metrics := warmBot(t)
		b.awaitStarts(1)
		b.net.UserWrites("1", "7", "one") // served by the spare one, which is replaced; another waits for the chat
		b.awaitText("1", "served by "+b.awaitStarts(1)[0])
		pids := b.awaitStarts(3)
		if _, page := httpGet(t, "http://"+metrics+"/metrics", nil); !strings.Contains(page, `nanobot_agents_warm{agent="default"} 2`) {
			t.Errorf("the metrics do not have two waiting processes:\n%s", page)
		}
		b.net.UserWrites("1", "7", "/status")
		b.awaitText("1", "Processes that wait for a message: 2")
		if out, _ := b.runCommand("doctor"); !strings.Contains(out, "processes that stay running between turns: 2, with ") {
			t.Errorf("the doctor does not count the waiting processes:\n%s", out)
		}
		b.signal(end)
		b.awaitExit()
		b.awaitGone(pids)
	}
}

func TestAReloadReplacesTheProcessesThatWait(t *testing.T) {
	b, _ := warmBot(t)
	before := b.awaitStarts(1)
	content := musttest.Get(os.ReadFile(b.cfg))(t)
	b.configure(t, strings.Replace(string(content), "served", "newly served", 1))
	b.signal(syscall.SIGHUP)
	b.awaitGone(before)
	b.awaitStarts(2)
	b.net.UserWrites("1", "7", "one")
	b.awaitText("1", "newly served by")
}
