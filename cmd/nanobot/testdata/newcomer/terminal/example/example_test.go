package example_test

import (
	"strings"
	"testing"

	"nanobot/config"
	"nanobot/terminal"
	"nanobot/terminal/example"
	"nanobot/terminal/protocoltest"
)

func TestExampleIsAProtocol(t *testing.T) {
	protocoltest.Run(t, protocoltest.Suite{Agent: func(_ *testing.T, s protocoltest.Script) protocoltest.Agent {
		cfg := config.Default().Terminal
		cfg.Command = "echo " + strings.Join(s.Says, "; echo ") + "\n" +
			map[protocoltest.Ending]string{protocoltest.Hangs: "sleep 1000", protocoltest.Dies: "exit 3"}[s.Ends]
		return protocoltest.Agent{Protocol: example.Describe().Open(terminal.OpenOptions{Config: cfg}), Config: cfg, Text: "go"}
	}})
}
