package blocks_test

import (
	"testing"

	"nanobot/terminal/blocks"
	"nanobot/terminal/protocoltest"
)

func TestBlocksIsAProtocol(t *testing.T) {
	protocoltest.Run(t, protocoltest.Suite{Questions: true, Supervisor: supervisor, Agent: func(t *testing.T, s protocoltest.Script) protocoltest.Agent {
		r := newFixture(t)
		r.settings.Approve = "always"
		var responses []string
		for _, text := range s.Says {
			responses = append(responses, "[READ_FILE path=\""+text+"\"]")
		}
		if s.Asks {
			responses = append(responses, "[RUN_COMMAND]\ntrue\n[/RUN_COMMAND]", "[READ_FILE path=\""+protocoltest.Answered+"\"]")
		}
		if s.Ends == protocoltest.Finishes {
			responses = append(responses, "[DONE]\nready\n[/DONE]")
		}
		r.script(map[protocoltest.Ending]string{protocoltest.Hangs: "hang", protocoltest.Dies: "crash"}[s.Ends], responses...)
		return protocoltest.Agent{Protocol: blocks.New(r.config), Config: r.config, Text: "go"}
	}})
}
