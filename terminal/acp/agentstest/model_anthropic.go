package agentstest

import (
	"fmt"
	"net/http"
)

// messages implements Anthropic's API.
func (m *Model) messages(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Model  string
		Stream bool
		Tools  []struct{ Name string }
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
	input := fmt.Sprintf(`"input_tokens":%d,"cache_read_input_tokens":%d,"cache_creation_input_tokens":0`, used.Input-used.Cached, used.Cached)
	if !q.Stream {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"msg_1","type":"message","role":"assistant","model":%s,"content":[{"type":"text","text":%s}],"stop_reason":"end_turn","stop_sequence":null,"usage":{%s,"output_tokens":%d}}`,
			quote(q.Model), quote(reply.Text), input, used.Output)
		return
	}
	block, delta, reason := `{"type":"text","text":""}`, `{"type":"text_delta","text":`+quote(reply.Text)+`}`, "end_turn"
	if reply.Tool != "" {
		block = fmt.Sprintf(`{"type":"tool_use","id":"toolu_%d","name":%q,"input":{}}`, len(request.Body), reply.Tool)
		delta, reason = `{"type":"input_json_delta","partial_json":`+quote(reply.arguments())+`}`, "tool_use"
	}
	send := stream(w)
	event := func(name, fields string) { send("event: %s\ndata: {\"type\":%q,%s}", name, name, fields) }
	event("message_start", fmt.Sprintf(`"message":{"id":"msg_%d","type":"message","role":"assistant","model":%s,"content":[],"stop_reason":null,"stop_sequence":null,"usage":{%s,"output_tokens":1}}`,
		len(request.Body), quote(q.Model), input))
	event("content_block_start", `"index":0,"content_block":`+block)
	event("content_block_delta", `"index":0,"delta":`+delta)
	if reply.hang(r) {
		return
	}
	event("content_block_stop", `"index":0`)
	event("message_delta", fmt.Sprintf(`"delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":%d}`, reason, used.Output))
	event("message_stop", `"x":0`)
}
