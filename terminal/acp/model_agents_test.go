//go:build agents

package acp_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// model is a language model on loopback in the two dialects that agents speak. It wants to run one
// command, and then says what came of it.
type model struct {
	*httptest.Server
	command string
	t       *testing.T
}

func newModel(t *testing.T, command string) *model {
	m := &model{command: command, t: t}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", m.messages)
	mux.HandleFunc("POST /v1/messages/count_tokens", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"input_tokens":10}`)
	})
	mux.HandleFunc("POST /v1/chat/completions", m.completions)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		t.Logf("the model was asked for %s %s", r.Method, r.URL)
		http.NotFound(w, r)
	})
	m.Server = httptest.NewServer(mux)
	t.Cleanup(m.Close)
	return m
}

// shellTool finds the tool by which a command is run.
func shellTool(names []string) string {
	for _, name := range names {
		if lower := strings.ToLower(name); strings.HasSuffix(lower, "bash") {
			return name
		}
	}
	return ""
}

// decide says what the model does: run the command with a tool, or say something.
func (m *model) decide(request []byte, tools []string) (tool, text string) {
	tool = shellTool(tools)
	switch {
	case strings.Contains(string(request), "RESULT-OF-"+"COMMAND"):
		return "", "The command said RESULT-OF-COMMAND, so **all is well**."
	case strings.Contains(string(request), `"tool_result"`), strings.Contains(string(request), `"role":"tool"`):
		m.t.Logf("the model was told: %.2000s", request[strings.LastIndex(string(request), `"role":"user"`):])
		return "", "The command was not run."
	case tool == "":
		return "", "A title"
	}
	return tool, ""
}

// messages speaks Anthropic's dialect.
func (m *model) messages(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var q struct {
		Model  string
		Stream bool
		Tools  []struct{ Name string }
	}
	_ = json.Unmarshal(body, &q)
	var names []string
	for _, t := range q.Tools {
		names = append(names, t.Name)
	}
	tool, text := m.decide(body, names)
	block, delta, reason := `{"type":"text","text":""}`, fmt.Sprintf(`{"type":"text_delta","text":%q}`, text), "end_turn"
	if tool != "" {
		input, _ := json.Marshal(map[string]any{"command": m.command, "description": "Run the command", "timeout": 60_000})
		quoted, _ := json.Marshal(string(input))
		block = fmt.Sprintf(`{"type":"tool_use","id":"toolu_%d","name":%q,"input":{}}`, len(body), tool)
		delta, reason = `{"type":"input_json_delta","partial_json":`+string(quoted)+`}`, "tool_use"
	}
	usage := `{"input_tokens":10,"output_tokens":5}`
	if !q.Stream {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"msg_1","type":"message","role":"assistant","model":%q,"content":[{"type":"text","text":%q}],"stop_reason":"end_turn","stop_sequence":null,"usage":%s}`, q.Model, text, usage)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range [][2]string{
		{"message_start", fmt.Sprintf(`"message":{"id":"msg_1","type":"message","role":"assistant","model":%q,"content":[],"stop_reason":null,"stop_sequence":null,"usage":%s}`, q.Model, usage)},
		{"content_block_start", `"index":0,"content_block":` + block},
		{"content_block_delta", `"index":0,"delta":` + delta},
		{"content_block_stop", `"index":0`},
		{"message_delta", fmt.Sprintf(`"delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":5}`, reason)},
		{"message_stop", `"x":0`},
	} {
		fmt.Fprintf(w, "event: %s\ndata: {\"type\":%q,%s}\n\n", e[0], e[0], e[1])
	}
}

// completions speaks OpenAI's dialect.
func (m *model) completions(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var q struct {
		Tools []struct{ Function struct{ Name string } }
	}
	_ = json.Unmarshal(body, &q)
	var names []string
	for _, t := range q.Tools {
		names = append(names, t.Function.Name)
	}
	tool, text := m.decide(body, names)
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(delta, reason string) {
		fmt.Fprintf(w, `data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"fake","choices":[{"index":0,"delta":%s,"finish_reason":%s}]}`+"\n\n", delta, reason)
	}
	if tool != "" {
		input, _ := json.Marshal(map[string]any{"command": m.command, "description": "Run the command", "timeout": 60_000})
		quoted, _ := json.Marshal(string(input))
		send(fmt.Sprintf(`{"role":"assistant","tool_calls":[{"index":0,"id":"call_%d","type":"function","function":{"name":%q,"arguments":%s}}]}`, len(body), tool, quoted), "null")
		send(`{}`, `"tool_calls"`)
	} else {
		for _, word := range strings.SplitAfter(text, " ") {
			send(fmt.Sprintf(`{"role":"assistant","content":%q}`, word), "null")
		}
		send(`{}`, `"stop"`)
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}
