package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"nanobot/gateway/ledger"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// listUsage returns the rows of nanobot usage --json without how long turns took.
func (b *bot) listUsage(t *testing.T, arguments ...string) string {
	t.Helper()
	out := musttest.Get(programCommand(t, append([]string{"usage", "--json", "--config", b.cfg}, arguments...)...).Output())(t)
	var rows []ledger.Row
	musttest.Do(t, json.Unmarshal(out, &rows))
	for i := range rows {
		rows[i].Seconds = 0
	}
	return string(musttest.Get(json.Marshal(rows))(t))
}

func TestUsageIsListedWhetherTheDaemonRunsOrNot(t *testing.T) {
	b := newBot(t)
	musttest.Do(t, os.WriteFile(filepath.Join(filepath.Dir(b.cfg), "agent.sh"), []byte(
		`echo '{"type":"usage","input_tokens":30,"output_tokens":4,"cost":0.25,"model":"m"}'; echo '{"type":"message","text":"worked"}'`), 0o600))
	b.configure(t, `{"terminal": {"command": "sh agent.sh", "protocol": "rich"}`+anybody)
	musttest.Do(t, os.RemoveAll(filepath.Join(filepath.Dir(b.cfg), ".nanobot"))) // the daemon was never started
	wanttest.Equal(t, "before", b.listUsage(t), "[]")
	b.program = startProgram(t, "serve", "--config", b.cfg)
	b.net.UserWrites("1", "505", "hello")
	b.awaitText("1", "worked")
	const row = `"turns":1,"seconds":0,"input_tokens":30,"output_tokens":4,"cost":0.25}]`
	for deadline := time.Now().Add(waitTimeout); b.listUsage(t) == "[]"; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the turn does not count")
		}
	}
	b.signal(syscall.SIGTERM)
	wanttest.Equal(t, "status", b.awaitExit(), 0)
	for by, want := range map[string]string{"user": "net:505", "chat": "net:1", "agent": "default", "model": "m"} {
		wanttest.Equal(t, "by "+by, b.listUsage(t, "--by", by, "--since", "24h"), `[{"`+by+`":"`+want+`",`+row)
	}
	out := musttest.Get(b.runCommand("usage"))(t)
	if fields := strings.Fields(out); !strings.Contains(out, "USER") || fields[len(fields)-1] != "$0.25" {
		t.Errorf("the table is %s", out)
	}
	for _, bad := range [][]string{{"--by", "time"}, {"--since", "-1h"}} {
		if out, err := b.runCommand(append([]string{"usage"}, bad...)...); err == nil {
			t.Errorf("%q: accepted: %s", bad, out)
		}
	}
}
