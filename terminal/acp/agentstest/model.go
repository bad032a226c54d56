package agentstest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Request is a request of an agent to the model.
type Request struct {
	Body  string
	Tools []string // tools that the model may call
}

// Tool returns the first tool whose name ends with the suffix, ignoring case, or "".
func (r Request) Tool(suffix string) string {
	for _, name := range r.Tools {
		if strings.HasSuffix(strings.ToLower(name), strings.ToLower(suffix)) {
			return name
		}
	}
	return ""
}

// ToolResults counts the results of tool calls in the request.
func (r Request) ToolResults() int {
	return strings.Count(r.Body, `"type":"tool_result"`) + strings.Count(r.Body, `"role":"tool"`)
}

// Reply is the model's reply: a tool call or a text.
type Reply struct {
	Tool  string // "" for a text
	Input any
	Text  string
}

// model is a language model with the APIs of Anthropic and OpenAI.
type model struct {
	reply func(Request) Reply
	t     testing.TB
}

// NewModel returns a server on loopback that replies as a language model with the results of reply.
func NewModel(t testing.TB, reply func(Request) Reply) *httptest.Server {
	m := &model{reply: reply, t: t}
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
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// input encodes the input of a tool as a string, as both APIs do.
func (r Reply) input() string {
	input, _ := json.Marshal(r.Input)
	quoted, _ := json.Marshal(string(input))
	return string(quoted)
}

// messages implements Anthropic's API.
func (m *model) messages(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var q struct {
		Model  string
		Stream bool
		Tools  []struct{ Name string }
	}
	_ = json.Unmarshal(body, &q)
	request := Request{Body: string(body)}
	for _, t := range q.Tools {
		request.Tools = append(request.Tools, t.Name)
	}
	reply := m.reply(request)
	block, delta, reason := `{"type":"text","text":""}`, fmt.Sprintf(`{"type":"text_delta","text":%q}`, reply.Text), "end_turn"
	if reply.Tool != "" {
		block = fmt.Sprintf(`{"type":"tool_use","id":"toolu_%d","name":%q,"input":{}}`, len(body), reply.Tool)
		delta, reason = `{"type":"input_json_delta","partial_json":`+reply.input()+`}`, "tool_use"
	}
	usage := `{"input_tokens":10,"output_tokens":5}`
	if !q.Stream {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"msg_1","type":"message","role":"assistant","model":%q,"content":[{"type":"text","text":%q}],"stop_reason":"end_turn","stop_sequence":null,"usage":%s}`, q.Model, reply.Text, usage)
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

// completions implements OpenAI's API.
func (m *model) completions(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var q struct {
		Tools []struct{ Function struct{ Name string } }
	}
	_ = json.Unmarshal(body, &q)
	request := Request{Body: string(body)}
	for _, t := range q.Tools {
		request.Tools = append(request.Tools, t.Function.Name)
	}
	reply := m.reply(request)
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(delta, reason string) {
		fmt.Fprintf(w, `data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"fake","choices":[{"index":0,"delta":%s,"finish_reason":%s}]}`+"\n\n", delta, reason)
	}
	if reply.Tool != "" {
		send(fmt.Sprintf(`{"role":"assistant","tool_calls":[{"index":0,"id":"call_%d","type":"function","function":{"name":%q,"arguments":%s}}]}`, len(body), reply.Tool, reply.input()), "null")
		send(`{}`, `"tool_calls"`)
	} else {
		for _, word := range strings.SplitAfter(reply.Text, " ") {
			send(fmt.Sprintf(`{"role":"assistant","content":%q}`, word), "null")
		}
		send(`{}`, `"stop"`)
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}
