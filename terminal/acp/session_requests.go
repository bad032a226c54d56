package acp

import (
	"context"
	"encoding/json"

	"nanobot/terminal/acp/access"
	"nanobot/terminal/acp/form"
	"nanobot/terminal/acp/rpc"
)

// elicitMethod is the method of an elicitation.
const elicitMethod = "elicitation/create"

// handleRequest handles the agent's calls of client methods.
func (s *session) handleRequest(ctx context.Context, method string, params json.RawMessage) (any, *rpc.Error) {
	if method != elicitMethod && !s.access.Supports(method) {
		return nil, &rpc.Error{Code: rpc.CodeNoMethod, Message: "unknown method " + method}
	}
	var p struct {
		Session string `json:"sessionId"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, &rpc.Error{Code: rpc.CodeInvalidParams, Message: "params: " + err.Error()}
	}
	s.mu.Lock()
	id, turn := s.id, s.turn
	if turn == nil && method == elicitMethod {
		turn = s.opening
	}
	s.mu.Unlock()
	// which may belong to a request instead
	if id != "" && p.Session != id && (method != elicitMethod || p.Session != "") {
		return nil, &rpc.Error{Code: rpc.CodeInvalidParams, Message: "unknown session " + p.Session}
	}
	var access *access.Turn
	if turn != nil {
		turn.started.Store(true)
		turn.view.RecordLife()
		access = turn.access
	}
	if method != elicitMethod {
		return s.access.Handle(ctx, access, method, params)
	}
	// Forms and links are asked one after the other, so that it is clear what a text answers.
	ctx, done, ok := s.access.BeginQuestion(ctx, access)
	if !ok {
		return form.Cancelled, nil
	}
	defer done()
	return s.links.Answer(ctx, params, turn.view, s.agent.cfg.askTimeout())
}
