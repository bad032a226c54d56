package agentstest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// Request is a request of an agent to the model.
type Request struct {
	Body  string
	Tools []string // tools that the model may call
}

// Tool returns the first tool whose name ends with one of the suffixes, ignoring case, or "".
func (r Request) Tool(suffixes ...string) string {
	for _, suffix := range suffixes {
		for _, name := range r.Tools {
			if strings.HasSuffix(strings.ToLower(name), strings.ToLower(suffix)) {
				return name
			}
		}
	}
	return ""
}

// toolResults are the marks of a tool's result in the bodies of the four APIs.
var toolResults = []string{`"type":"tool_result"`, `"role":"tool"`, `"type":"function_call_output"`, `"functionResponse":`}

// ToolResults counts the results of tool calls in the request.
func (r Request) ToolResults() int { return r.ToolResultsAfter(0) }

// ToolResultsAfter counts the results of tool calls after an offset in the body.
func (r Request) ToolResultsAfter(offset int) (n int) {
	for _, mark := range toolResults {
		n += strings.Count(r.Body[offset:], mark)
	}
	return n
}

// Reply is the model's reply: a tool call or a text.
type Reply struct {
	Tool  string // "" for a text
	Input any
	Text  string
	Aside bool // it is no part of the conversation, such as a title
	Hang  bool // after the text the model sends nothing until the agent hangs up
}

// Model is a language model on loopback with the APIs of Anthropic, OpenAI and Google.
type Model struct {
	URL   string
	reply func(Request) Reply

	mu      sync.Mutex
	replies int   // in conversations
	used    Usage // by them
	asides  []Usage
}

// NewModel returns a model that replies with the results of reply. It logs requests that it does
// not know.
func NewModel(t testing.TB, reply func(Request) Reply) *Model {
	m := &Model{reply: reply}
	s := httptest.NewServer(m.handler(t.Logf))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	m.URL = s.URL
	return m
}

func (m *Model) handler(logf func(string, ...any)) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", m.messages)
	mux.HandleFunc("POST /v1/messages/count_tokens", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"input_tokens":10}`)
	})
	mux.HandleFunc("POST /v1/chat/completions", m.completions)
	mux.HandleFunc("POST /v1/responses", m.responses)
	mux.HandleFunc("POST /v1beta/models/{call}", m.generate)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		logf("the model was asked for %s %s", r.Method, r.URL)
		http.NotFound(w, r)
	})
	return mux
}

// readRequest decodes the body of a request into q and returns it.
func readRequest(r *http.Request, q any) (Request, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return Request{}, err
	}
	return Request{Body: string(body)}, json.Unmarshal(body, q)
}

// stream begins a reply as a stream of events. The returned function sends one event and says
// whether the agent still listens.
func stream(w http.ResponseWriter) func(format string, args ...any) {
	w.Header().Set("Content-Type", "text/event-stream")
	return func(format string, args ...any) {
		fmt.Fprintf(w, format+"\n\n", args...)
		_ = http.NewResponseController(w).Flush()
	}
}

// hang waits until the agent hangs up, if the reply says so.
func (r Reply) hang(q *http.Request) bool {
	if r.Hang {
		<-q.Context().Done()
	}
	return r.Hang
}

// arguments encodes the input of a tool as JSON.
func (r Reply) arguments() string {
	input, _ := json.Marshal(r.Input)
	return string(input)
}

// quote encodes a text as JSON.
func quote(text string) string {
	quoted, _ := json.Marshal(text)
	return string(quoted)
}
