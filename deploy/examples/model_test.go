package examples_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// modelResponses are the responses of the model, in order.
var modelResponses = []string{
	"Let me see.\n```json\n" + `{"analysis": "A prompt.", "plan": "I write the file.", "commands": [{"keystrokes": "echo by a model > made\n", "duration": 3}]}` + "\n```",
	`{"analysis": "Done, I think.", "plan": "", "commands": [], "task_complete": true}`,
	`{"analysis": "The file is written.", "plan": "", "commands": [], "task_complete": true}`,
}

// modelLines are the lines of a run with modelResponses.
var modelLines = []line{
	progress("A prompt.\n\nI write the file."), progress("Done, I think."), progress("The file is written."), message("The file is written."),
}

// fakeModel is a step's before: it starts a model with an OpenAI-compatible API on loopback and
// writes a config for it.
func fakeModel(transport, command string) func(*testing.T, string) {
	return func(t *testing.T, workspace string) {
		t.Helper()
		var asked atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var in struct {
				Model    string
				Messages []struct{ Role, Content string }
			}
			if err := json.NewDecoder(r.Body).Decode(&in); err != nil || r.URL.Path != "/v1/chat/completions" || in.Model != "small" || len(in.Messages) == 0 {
				http.Error(w, "no such request", http.StatusBadRequest)
				return
			}
			all := ""
			for _, m := range in.Messages {
				all += m.Content
			}
			if !strings.Contains(all, "Task Description:\nWrite a file.\n\nCurrent terminal state:\nCurrent Terminal Screen:\n") && asked.Load() == 0 {
				http.Error(w, "the task is missing: "+all, http.StatusBadRequest)
				return
			}
			n := int(asked.Add(1)) - 1
			_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"message": map[string]any{"content": modelResponses[min(n, len(modelResponses)-1)]}}}})
		}))
		t.Cleanup(server.Close)
		_ = os.Remove(filepath.Join(workspace, "made"))
		putFile(t, filepath.Join(workspace, "config.json"), []byte(fmt.Sprintf(
			`{"terminal": {"command": %q, "protocol": "keys", "timeout": 300, "env": {"OPENAI_BASE_URL": "%s/v1", "MODEL": "small"}, "keys": {"agent": %q}}}`,
			command, server.URL, transport)))
	}
}
