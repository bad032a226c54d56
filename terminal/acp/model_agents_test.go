//go:build agents

package acp_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"nanobot/terminal/acp/agentstest"
)

// command prints the text that the model looks for. The command itself does not contain the text.
const command = `printf 'RESULT-OF-%s\n' COMMAND`

// newModel returns a model that asks for one command and then reports the result.
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
