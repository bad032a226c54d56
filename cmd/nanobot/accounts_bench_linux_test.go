package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/musttest"
)

// BenchmarkTelegramAccountsIdle reports the private memory of daemons that have answered somebody
// on each account and wait for more: what each further account costs of thirty with their own
// agents in one daemon, and what thirty daemons with one account each have.
func BenchmarkTelegramAccountsIdle(b *testing.B) {
	const accounts = 30
	binary := buildBinary(b)
	for b.Loop() {
		one := privateMemoryOfAccounts(b, binary, 1)
		b.ReportMetric((privateMemoryOfAccounts(b, binary, accounts)-one)/(accounts-1), "MiB/account")
		b.ReportMetric(accounts*one, "MiB-of-thirty-daemons")
	}
	b.ReportMetric(0, "ns/op")
}

// privateMemoryOfAccounts returns the private memory of an idle daemon with some accounts, in MiB.
func privateMemoryOfAccounts(b *testing.B, binary string, accounts int) float64 {
	b.Helper()
	dir := b.TempDir()
	var apis []*telegramtest.Server
	var agents, routes, sections []string
	for i := range accounts {
		api := telegramtest.New(b)
		apis = append(apis, api)
		token := fmt.Sprintf("token%d", i)
		musttest.Do(b, os.WriteFile(filepath.Join(dir, token), []byte(api.Token), 0o600))
		agents = append(agents, fmt.Sprintf(`"agent-%d": {"command": %q, "protocol": "rich"}`, i, trivialAgent))
		routes = append(routes, fmt.Sprintf(`{"match": {"channel": "telegram.bot-%d"}, "agent": "agent-%d"}`, i, i))
		sections = append(sections, fmt.Sprintf(`{"name": "bot-%d", "enabled": true, "token": "file:%s", "apiBase": %q, "allowFrom": ["7"]}`, i, token, api.URL))
	}
	cfg := filepath.Join(dir, "config.json")
	musttest.Do(b, os.WriteFile(cfg, []byte(`{"terminal": {"command": "true"}, "agents": {`+strings.Join(agents, ",")+`},
		"routes": [`+strings.Join(routes, ",")+`], "channels": {"telegram": [`+strings.Join(sections, ",")+`]}}`), 0o600))
	daemon := startRelease(b, binary, cfg)
	for _, api := range apis {
		api.UserSends(7, "hello")
		api.WaitForCount(b, 7, 1)
		api.AwaitPoll(b)
	}
	_, private := idleMemory(b, daemon.PID())
	musttest.Do(b, daemon.End())
	return private
}
