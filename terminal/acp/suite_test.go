package acp_test

import (
	"testing"

	"nanobot/config"
	"nanobot/terminal"
	"nanobot/terminal/acp"
	"nanobot/terminal/protocoltest"
)

func TestACPIsAProtocol(t *testing.T) {
	protocoltest.Run(t, protocoltest.Suite{Questions: true, Agent: func(t *testing.T, s protocoltest.Script) protocoltest.Agent {
		d := newFixture(t, "", func(c *config.Terminal) { settings(c).Permissions = "ask" })
		text := ""
		for _, say := range s.Says {
			text += "say " + say + "\n"
		}
		if s.Asks {
			text += "ask 1 execute Do it\nsay " + protocoltest.Answered + "\n"
		}
		text += map[protocoltest.Ending]string{protocoltest.Hangs: "await", protocoltest.Dies: "exit 3", protocoltest.Finishes: "stop end_turn"}[s.Ends]
		return protocoltest.Agent{Protocol: acp.New(terminal.OpenOptions{Config: d.cfg}), Config: d.cfg, Text: text}
	}})
}
