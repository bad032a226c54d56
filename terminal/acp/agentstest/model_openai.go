package agentstest

import (
	"fmt"
	"net/http"
	"strings"
)

// completions implements OpenAI's API of chat completions.
func (m *Model) completions(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Stream  bool
		Options struct {
			Usage bool `json:"include_usage"`
		} `json:"stream_options"`
		Tools []struct{ Function struct{ Name string } }
	}
	request, err := readRequest(r, &q)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	for _, t := range q.Tools {
		request.Tools = append(request.Tools, t.Function.Name)
	}
	reply := m.reply(request)
	used := m.count(reply)
	usage := fmt.Sprintf(`{"prompt_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d},"completion_tokens":%d,"completion_tokens_details":{"reasoning_tokens":%d},"total_tokens":%d}`,
		used.Input, used.Cached, used.Output, used.Thought, used.Input+used.Output)
	if !q.Stream {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"c1","object":"chat.completion","created":1,"model":"fake","choices":[{"index":0,"message":{"role":"assistant","content":%s},"finish_reason":"stop"}],"usage":%s}`,
			quote(reply.Text), usage)
		return
	}
	send := stream(w)
	choice := func(delta, reason string) {
		send(`data: {"id":"c%d","object":"chat.completion.chunk","created":1,"model":"fake","choices":[{"index":0,"delta":%s,"finish_reason":%s}]}`,
			len(request.Body), delta, reason)
	}
	reason := `"stop"`
	if reply.Tool != "" {
		choice(fmt.Sprintf(`{"role":"assistant","tool_calls":[{"index":0,"id":"call_%d","type":"function","function":{"name":%q,"arguments":%s}}]}`,
			len(request.Body), reply.Tool, quote(reply.arguments())), "null")
		reason = `"tool_calls"`
	} else {
		for _, word := range strings.SplitAfter(reply.Text, " ") {
			choice(`{"role":"assistant","content":`+quote(word)+`}`, "null")
		}
	}
	if reply.hang(r) {
		return
	}
	choice(`{}`, reason)
	if q.Options.Usage {
		send(`data: {"id":"c%d","object":"chat.completion.chunk","created":1,"model":"fake","choices":[],"usage":%s}`, len(request.Body), usage)
	}
	send("data: [DONE]")
}

// responses implements OpenAI's Responses API.
func (m *Model) responses(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Tools []struct{ Name string }
	}
	request, err := readRequest(r, &q)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	for _, t := range q.Tools {
		request.Tools = append(request.Tools, t.Name)
	}
	reply := m.reply(request)
	used := m.count(reply)
	send := stream(w)
	event := func(name, fields string) { send("event: %s\ndata: {\"type\":%q,%s}", name, name, fields) }
	id := len(request.Body)
	event("response.created", fmt.Sprintf(`"response":{"id":"resp_%d","object":"response","status":"in_progress","output":[]}`, id))
	item := fmt.Sprintf(`{"type":"function_call","id":"fc_%d","call_id":"call_%d","name":%q,"arguments":%s}`, id, id, reply.Tool, quote(reply.arguments()))
	if reply.Tool == "" {
		item = fmt.Sprintf(`{"type":"message","id":"msg_%d","role":"assistant","status":"completed","content":[{"type":"output_text","text":%s,"annotations":[]}]}`, id, quote(reply.Text))
		event("response.output_item.added", fmt.Sprintf(`"output_index":0,"item":{"type":"message","id":"msg_%d","role":"assistant","status":"in_progress","content":[]}`, id))
		event("response.output_text.delta", fmt.Sprintf(`"item_id":"msg_%d","output_index":0,"content_index":0,"delta":%s`, id, quote(reply.Text)))
	}
	if reply.hang(r) {
		return
	}
	event("response.output_item.done", `"output_index":0,"item":`+item)
	event("response.completed", fmt.Sprintf(`"response":{"id":"resp_%d","object":"response","status":"completed","output":[%s],`+
		`"usage":{"input_tokens":%d,"input_tokens_details":{"cached_tokens":%d},"output_tokens":%d,"output_tokens_details":{"reasoning_tokens":%d},"total_tokens":%d}}`,
		id, item, used.Input, used.Cached, used.Output, used.Thought, used.Input+used.Output))
}
