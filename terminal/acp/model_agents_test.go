//go:build agents

package acp_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"nanobot/terminal/acp/agentstest"
)

// command prints what the model looks for, and does not contain it.
const command = `printf 'RESULT-OF-%s\n' COMMAND`

// newModel returns a model that wants to run one command, and then says what came of it.
func newModel(t *testing.T) *httptest.Server {
	return agentstest.NewModel(t, func(r agentstest.Request) agentstest.Reply {
		shell := r.Tool("bash")
		switch {
		case strings.Contains(r.Body, "RESULT-OF-"+"COMMAND"):
			return agentstest.Reply{Text: "The command said RESULT-OF-COMMAND, so **all is well**."}
		case r.ToolResults() > 0:
			t.Logf("the model was told: %.2000s", r.Body[strings.LastIndex(r.Body, `"role":"user"`):])
			return agentstest.Reply{Text: "The command was not run."}
		case shell == "":
			return agentstest.Reply{Text: "A title"}
		}
		return agentstest.Reply{Tool: shell, Input: map[string]any{"command": command, "description": "Run the command", "timeout": 60_000}}
	})
}
