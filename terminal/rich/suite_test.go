package rich_test

import (
	"fmt"
	"testing"

	"go.uber.org/goleak"

	"nanobot/config"
	"nanobot/terminal/protocoltest"
	"nanobot/terminal/rich"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRichIsAProtocol(t *testing.T) {
	protocoltest.Run(t, protocoltest.Suite{Questions: true, Agent: func(_ *testing.T, s protocoltest.Script) protocoltest.Agent {
		cfg := config.Default().Terminal
		cfg.Interactive = true
		frame := func(kind, text string) { cfg.Command += fmt.Sprintf("echo '{\"type\":%q,\"text\":%q}'\n", kind, text) }
		cfg.Command = ""
		for _, text := range s.Says {
			frame("message", text)
		}
		if s.Asks {
			frame("ask", "Really?")
			cfg.Command += "read -r envelope; read -r answer; case $answer in *'\"text\":\"yes\"'*) ;; *) exit 4 ;; esac\n"
			frame("message", protocoltest.Answered)
		}
		cfg.Command += map[protocoltest.Ending]string{protocoltest.Hangs: "sleep 1000", protocoltest.Dies: "exit 3"}[s.Ends]
		return protocoltest.Agent{Protocol: rich.Protocol{}, Config: cfg, Text: "go"}
	}})
}
