package agentstest

import (
	"fmt"
	"net/http"
	"strings"
)

// generate implements Google's API: the call is the name of a model and a verb behind a colon.
func (m *Model) generate(w http.ResponseWriter, r *http.Request) {
	_, verb, _ := strings.Cut(r.PathValue("call"), ":")
	var q struct {
		Tools []struct {
			FunctionDeclarations []struct{ Name string }
		}
	}
	request, err := readRequest(r, &q)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	for _, t := range q.Tools {
		for _, f := range t.FunctionDeclarations {
			request.Tools = append(request.Tools, f.Name)
		}
	}
	if verb == "countTokens" {
		fmt.Fprint(w, `{"totalTokens":10}`)
		return
	}
	reply := m.reply(request)
	part := `{"text":` + quote(reply.Text) + `}`
	if reply.Tool != "" {
		part = fmt.Sprintf(`{"functionCall":{"name":%q,"args":%s}}`, reply.Tool, reply.arguments())
	}
	used := m.count(reply)
	answer := func(part, reason string) string {
		return fmt.Sprintf(`{"candidates":[{"content":{"role":"model","parts":[%s]}%s,"index":0}],`+
			`"usageMetadata":{"promptTokenCount":%d,"cachedContentTokenCount":%d,"candidatesTokenCount":%d,"thoughtsTokenCount":%d,"totalTokenCount":%d},`+
			`"modelVersion":"fake"}`, part, reason, used.Input, used.Cached, used.Output-used.Thought, used.Thought, used.Input+used.Output)
	}
	stop := `,"finishReason":"STOP"`
	if verb != "streamGenerateContent" {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, answer(part, stop))
		return
	}
	send := stream(w)
	if reply.Hang {
		send("data: %s", answer(part, ""))
		reply.hang(r)
		return
	}
	send("data: %s", answer(part, stop))
}
