package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"nanobot/internal/musttest"
	"nanobot/internal/procfs"
	"nanobot/internal/wanttest"
	"nanobot/terminal/acp"
)

func TestWhatIsSaidOfAgentsThatThereIsNoRoomFor(t *testing.T) {
	t.Parallel()
	metrics := freeAddress(t)
	b := startBot(t, `{"terminal": {"protocol": "acp", "command": "`+acpAgent(t, "")+`", "acp": {"keptMemory": 1}}, "gateway": {"maxConcurrent": 1}, "http": {"listen": "`+freeAddress(t)+`", "metricsListen": "`+metrics+`"}`+anybody)
	expect := func(restarted string) {
		t.Helper()
		if _, page := httpGet(t, "http://"+metrics+"/metrics", nil); !strings.Contains(page, `nanobot_agents_restarted_total{agent="default"} `+restarted+"\n") {
			t.Errorf("the metrics do not have %s restarts:\n%s", restarted, page)
		}
	}
	for _, chat := range []string{"1", "2"} { // only one of two agents is kept
		b.net.UserWrites(chat, "7", "hello")
		b.awaitText(chat, "You said: hello")
	}
	expect("0")
	b.net.UserWrites("1", "7", "again")
	b.awaitText("1", "You said: again")
	expect("1")
	b.net.UserWrites("1", "7", "/status")
	b.awaitText("1", "Agents were started again 1 time, because not all could be kept running; the operator can raise acp.keptMemory.")
	if out, _ := b.runCommand("doctor"); !strings.Contains(out, "started again because not all can be kept running: 1") || !strings.Contains(out, "raise acp.keptMemory in "+b.cfg) {
		t.Errorf("the doctor does not say that agents are started again:\n%s", out)
	}
	b.awaitLog("agents are started again because there is no room")

	content := musttest.Get(os.ReadFile(b.cfg))(t)
	b.configure(t, strings.Replace(string(content), `"keptMemory": 1}`, `"keptMemory": 4096}`, 1))
	b.signal(syscall.SIGHUP)
	b.awaitLog("config reloaded")
	for _, text := range []string{"there is room", "for both"} {
		for _, chat := range []string{"1", "2"} {
			b.net.UserWrites(chat, "7", text)
			b.awaitText(chat, "You said: "+text)
		}
	}
	expect("0")
	if out, _ := b.runCommand("doctor"); !strings.Contains(out, "processes that stay running between turns: 2, with ") || strings.Contains(out, "raise acp.keptMemory") {
		t.Errorf("the doctor does not say what stays running:\n%s", out)
	}
}

func TestAgentsOfAProtocolShareTheMemoryForKeptOnes(t *testing.T) {
	t.Parallel()
	dir := writeConfigDir(t, `{"terminal": {"command": "x", "protocol": "acp"}, "agents": {"b": {"command": "y", "protocol": "acp", "acp": {"maxKept": 16}}}, "gateway": {"maxConcurrent": 30}}`)
	cfg := musttest.Get(loadConfig(filepath.Join(dir, "config.json")))(t)
	for name, most := range map[string]int{"default": 0, "b": 16} {
		own, _ := cfg.ForAgent(name)
		got := musttest.Get(newProtocol(own))(t).(*acp.Protocol).Agents.Room
		wanttest.Equal(t, "agents whatever memory they use:", got.MinProcesses, 30)
		wanttest.Equal(t, "agents at most:", got.MaxProcesses, most)
		wanttest.Equal(t, "memory:", got.MaxMemory, procfs.UsableMemory()/8)
	}
}
