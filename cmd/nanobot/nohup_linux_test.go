package main

import (
	"os"
	"syscall"
	"testing"

	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/wanttest"
)

func TestADaemonUnderNohupReloadsAndItsAgentsIgnoreNoSignal(t *testing.T) {
	t.Parallel()
	b := &telegramBot{api: telegramtest.New(t)}
	b.cfg = telegramSetup{agent: `echo "{\"type\":\"message\",\"text\":\"ignored: $(sed -n 's/^SigIgn:.//p' /proc/$$/status)\"}"`}.writeConfig(t, b.api)
	b.program = startBinary(t, "sh", nil, "-c", `trap '' TSTP; exec nohup "$0" "$@"`, os.Args[0], "serve", "--config", b.cfg)
	b.api.UserSends(7, "hi")
	b.api.WaitForText(t, 7, "ignored: 0000000000000000")
	b.signal(syscall.SIGHUP)
	b.awaitLog("config reloaded")
	b.signal(syscall.SIGTERM)
	wanttest.Equal(t, "status", b.awaitExit(), 0)
}
