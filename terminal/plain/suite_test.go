package plain_test

import (
	"strings"
	"testing"

	"go.uber.org/goleak"

	"nanobot/config"
	"nanobot/terminal"
	"nanobot/terminal/plain"
	"nanobot/terminal/protocoltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPlainIsAProtocol(t *testing.T) {
	protocoltest.Run(t, protocoltest.Suite{Agent: func(_ *testing.T, s protocoltest.Script) protocoltest.Agent {
		cfg := config.Default().Terminal
		cfg.Command = "echo " + terminal.ShellQuote(strings.Join(s.Says, "\n")) + "\n" +
			map[protocoltest.Ending]string{protocoltest.Hangs: "sleep 1000", protocoltest.Dies: "exit 3"}[s.Ends]
		return protocoltest.Agent{Protocol: plain.Protocol{}, Config: cfg, Text: "go"}
	}})
}
