package examples_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// modelKey is the key that the streaming model accepts.
const modelKey = "sk-not-a-real-key-4711"

// fakeStream is a step's before: it starts a model on loopback that streams server-sent events and
// repeats the words of the person, and writes a config for it. fault is "cut" for a response that
// ends early, "broken" for a connection that is closed, or a status.
func fakeStream(fault string) func(*testing.T, string) {
	return func(t *testing.T, workspace string) {
		t.Helper()
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			serveStream(w, r, fault)
		}))
		t.Cleanup(server.Close)
		putFile(t, filepath.Join(workspace, "config.json"), []byte(fmt.Sprintf(
			`{"terminal": {"command": "python3 agent.py", "protocol": "rich", "providers": {"any": {"apiKeys": [%q], "baseUrl": "%s/v1", "models": ["small"]}}}}`,
			modelKey, server.URL)))
	}
}

func serveStream(w http.ResponseWriter, r *http.Request, fault string) {
	var in struct {
		Model    string
		Stream   bool
		Messages []struct{ Role, Content string }
	}
	err := json.NewDecoder(r.Body).Decode(&in)
	status, _ := strconv.Atoi(fault)
	switch {
	case err != nil || r.URL.Path != "/v1/chat/completions" || in.Model != "small" || !in.Stream:
		status = http.StatusBadRequest
	case r.Header.Get("Authorization") != "Bearer "+modelKey:
		status = http.StatusUnauthorized
	}
	if status != 0 { // servers repeat the key in such answers
		http.Error(w, `{"error":{"message":"Incorrect API key provided: `+modelKey+`"}}`, status)
		return
	}
	var said []string
	for _, m := range in.Messages {
		if m.Role == "user" {
			said = append(said, m.Content)
		}
	}
	answer := "You said: " + strings.Join(said, ", ")
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprint(w, ": a comment\n\ndata: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":null},\"finish_reason\":null}]}\n\n")
	for i, letter := range strings.Split(answer, "") {
		if fault != "" && i == len("You said: hel") {
			_ = http.NewResponseController(w).Flush()
			if fault == "broken" {
				panic(http.ErrAbortHandler)
			}
			return
		}
		piece, _ := json.Marshal(letter)
		fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{\"content\":%s},\"finish_reason\":null}]}\n\n", piece)
	}
	fmt.Fprint(w, "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: {\"choices\":[],\"usage\":{}}\n\ndata: [DONE]\n\n")
}

func TestTheModelForgetsTheConversationAfterNew(t *testing.T) {
	t.Parallel()
	skipWithout(t, "python3")
	program := builtProgram(t)
	workspace := copyFolder(t, "llm")
	fakeStream("")(t, workspace)
	chat := exec.Command(program, "chat", "--config", filepath.Join(workspace, "config.json"))
	chat.Stdin = strings.NewReader("hello\nand\n/new\nhi\n")
	out, err := chat.Output()
	if text := string(out); err != nil || !strings.Contains(text, "You said: hello, and\n") || !strings.Contains(text, "You said: hi\n") {
		t.Errorf("%v:\n%s", err, text)
	}
}

// noKey is a step's after: the key is neither in the output nor in the log.
func noKey(t *testing.T, r result) {
	t.Helper()
	if strings.Contains(r.stdout+r.stderr, modelKey[:10]) {
		t.Errorf("the key is shown:\n%s%s", r.stdout, r.stderr)
	}
}
