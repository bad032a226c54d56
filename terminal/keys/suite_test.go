package keys_test

import (
	"testing"

	"nanobot/terminal/keys"
	"nanobot/terminal/protocoltest"
)

func TestKeysIsAProtocol(t *testing.T) {
	for _, turns := range []bool{false, true} {
		t.Run(map[bool]string{false: "session", true: "turn"}[turns], func(t *testing.T) {
			protocoltest.Run(t, protocoltest.Suite{Supervisor: supervisor, Agent: func(t *testing.T, s protocoltest.Script) protocoltest.Agent {
				behaviour := script{Turn: turns, Then: map[protocoltest.Ending]string{protocoltest.Hangs: "hang", protocoltest.Dies: "crash"}[s.Ends]}
				for _, text := range s.Says {
					behaviour.Responses = append(behaviour.Responses, encodeResponse(text))
				}
				if last := len(s.Says) - 1; s.Ends == protocoltest.Finishes {
					behaviour.Responses[last] = taskDone(s.Says[last])
				}
				r := newFixture(t, behaviour)
				r.config.Env = map[string]string{"HOME": r.work}
				return protocoltest.Agent{Protocol: keys.New(r.config), Config: r.config, Text: "go"}
			}})
		})
	}
}

func TestScreenIsAProtocol(t *testing.T) {
	protocoltest.Run(t, protocoltest.Suite{Supervisor: supervisor, AfterTimeout: "done", Agent: func(t *testing.T, s protocoltest.Script) protocoltest.Agent {
		program := ""
		for _, text := range s.Says {
			program += "echo " + text + "\n"
		}
		program += map[protocoltest.Ending]string{protocoltest.Hangs: "while :; do printf .; sleep 0.2; done", protocoltest.Dies: "read line; exit 3", protocoltest.Finishes: "read line"}[s.Ends]
		r := newScreen(t, program)
		return protocoltest.Agent{Protocol: r.protocol, Config: r.config, Text: "go"}
	}})
}
