package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/musttest"
)

// keysAgent is an agent of protocol keys that types shell lines, one a step, and then says that it
// is done.
func keysAgent(t *testing.T, lines ...string) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("#!/bin/sh\nn=0\nwhile read -r told; do n=$((n+1)); case $n in\n")
	step := func(analysis string, done bool, commands ...map[string]any) string {
		raw := musttest.Get(json.Marshal(struct {
			Analysis string           `json:"analysis"`
			Plan     string           `json:"plan"`
			Commands []map[string]any `json:"commands"`
			Done     bool             `json:"task_complete"`
		}{analysis, "", append([]map[string]any{}, commands...), done}))(t)
		return "printf '%s\\n' '" + strings.ReplaceAll(string(raw), "'", `'\''`) + "'"
	}
	for i, line := range lines {
		b.WriteString(string(rune('1'+i)) + ") " + step("I type.", false, map[string]any{"keystrokes": line + "\n", "duration": 0.5}) + ";;\n")
	}
	b.WriteString("*) " + step("All is done.", true) + ";;\nesac; done\n")
	return b.String()
}

func TestATerminalAndAllThatRunsInItIsGoneWithAKilledDaemon(t *testing.T) {
	t.Parallel()
	b := startTelegramBot(t, telegramSetup{
		protocol: "keys", terminal: `, "timeout": 600, "env": {"HOME": "` + t.TempDir() + `"}`,
		agent: keysAgent(t, "sleep 1000 & setsid sh -c 'echo $$ > detached; exec sleep 1000' & nohup sleep 1000 > /dev/null & until test -s detached; do :; done; jobs -p > jobs; cat detached >> jobs; echo $$ >> jobs; mv jobs pids", strings.Repeat(" ", 3)+"sleep 1000"),
	})
	b.api.UserSends(7, "start")
	pids := b.awaitFile("pids")
	if len(pids) < 4 {
		t.Fatalf("the processes are %q", pids)
	}
	b.restart(syscall.SIGKILL, func() {})
	b.awaitMessage(7, "I was restarted while working on this.")
	for _, pid := range pids {
		b.awaitProcessExit(pid)
	}
	// The next message finds a new terminal.
	b.api.UserSends(7, "again")
	b.awaitMessage(7, "All is done.")
	shell := b.awaitFile("pids")[len(b.awaitFile("pids"))-1]
	b.api.UserSends(7, "/new")
	b.awaitProcessExit(shell)
}

func TestATerminalHasTheSandboxOfItsAgent(t *testing.T) {
	requireLandlock(t)
	dir := outsideTemp(t)
	work := filepath.Join(dir, "work")
	musttest.Do(t, os.Mkdir(work, 0o755))
	musttest.Do(t, os.WriteFile(filepath.Join(work, "agent.sh"), []byte(keysAgent(t,
		"cat ../token.txt ../config.json > found 2> refused; ulimit -n >> found; env | grep -c token-of-the-bot >> found; mv found result")), 0o600))
	cfg := `{"workspace": "work", "http": {"token": "env:BOT_TOKEN_OF_TEST"}, "terminal": {"command": "sh agent.sh", "protocol": "keys", "env": {"HOME": "` + work + `"}, "sandbox": "landlock", "limits": {"files": 77}}` + anybody
	t.Setenv("BOT_TOKEN_OF_TEST", "token-of-the-bot-hush-hush")
	b := startBotIn(t, dir, cfg, map[string]string{"token.txt": "hush"})
	b.net.UserWrites("1", "7", "look around")
	b.awaitText("1", "All is done.")
	// The model does not wait for the end of what it has typed.
	raw, err := os.ReadFile(filepath.Join(work, "result"))
	for until := time.Now().Add(telegramtest.WaitLimit); err != nil && time.Now().Before(until); time.Sleep(5 * time.Millisecond) {
		raw, err = os.ReadFile(filepath.Join(work, "result"))
	}
	if string(raw) != "77\n0\n" {
		t.Errorf("in the terminal there is %q, %v", raw, err)
	}
}
