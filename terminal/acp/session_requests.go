package acp

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"nanobot/terminal/acp/form"
	"nanobot/terminal/acp/rpc"
	"nanobot/terminal/acp/view"
)

// handleRequest handles the agent's calls of client methods.
func (s *session) handleRequest(ctx context.Context, method string, params json.RawMessage) (any, *rpc.Error) {
	terminals := strings.HasPrefix(method, "terminal/")
	switch {
	case method == "session/request_permission", method == elicitMethod,
		s.cfg.Files && (method == "fs/read_text_file" || method == "fs/write_text_file"),
		s.cfg.Terminals && terminals:
	default:
		return nil, &rpc.Error{Code: rpc.CodeNoMethod, Message: "unknown method " + method}
	}
	var p struct {
		Session  string `json:"sessionId"`
		Terminal string `json:"terminalId"`
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
	if id != "" && p.Session != id && (method != elicitMethod || p.Session != "") { // which may belong to a request instead
		return nil, &rpc.Error{Code: rpc.CodeInvalidParams, Message: "unknown session " + p.Session}
	}
	if turn != nil {
		turn.started.Store(true)
		turn.view.RecordLife()
	}
	permit := func(c clientCall) *rpc.Error { return s.checkPermission(ctx, turn, c) }
	switch {
	case terminals:
		return s.handleTerminal(ctx, turn, method, p.Terminal, params)
	case method == elicitMethod:
		return s.handleElicitation(ctx, turn, params)
	case method == "fs/read_text_file":
		return readFile(s.env, params, permit)
	case method == "fs/write_text_file":
		return s.handleWrite(turn, params, permit)
	}
	return s.handlePermission(ctx, turn, params)
}

// elicitMethod is the method of an elicitation.
const elicitMethod = "elicitation/create"

// handleElicitation handles elicitation/create. Forms and links are asked one after the other, so
// that it is clear what a text answers. The end of the turn cancels the request.
func (s *session) handleElicitation(ctx context.Context, turn *activeTurn, params json.RawMessage) (any, *rpc.Error) {
	ctx, done, ok := s.bindToTurn(ctx, turn)
	if !ok { // no turn is running, so nobody can be asked
		return form.Cancelled, nil
	}
	defer done()
	select {
	case s.questionSemaphore <- struct{}{}:
		defer func() { <-s.questionSemaphore }()
	case <-ctx.Done():
		return form.Cancelled, nil
	}
	return s.links.Answer(ctx, params, turn.view, time.Duration(s.cfg.AskTimeout)*time.Second)
}

// handleWrite handles fs/write_text_file, and counts the file among the turn's changes.
func (s *session) handleWrite(turn *activeTurn, params json.RawMessage, permit func(clientCall) *rpc.Error) (any, *rpc.Error) {
	result, rerr := writeFile(s.env, params, permit)
	var p struct {
		Path string `json:"path"`
	}
	if rerr == nil && turn != nil && json.Unmarshal(params, &p) == nil {
		turn.view.RecordWrite(p.Path)
	}
	return result, rerr
}

// handlePermission handles session/request_permission. The end of the turn cancels the question.
func (s *session) handlePermission(ctx context.Context, turn *activeTurn, params json.RawMessage) (any, *rpc.Error) {
	ctx, done, ok := s.bindToTurn(ctx, turn)
	if !ok { // no turn is running, so nobody can be asked
		return map[string]any{"outcome": map[string]string{"outcome": "cancelled"}}, nil
	}
	defer done()
	return permissionDecider{s.cfg, turn.view}.decideRequest(ctx, params, func(t *view.ToolCall, o *permissionOption) { s.addGrants(turn, t, o) })
}

// addGrants adds what the permission for a tool call covers: until the call ends, at the latest
// with the turn, or for the whole session.
func (s *session) addGrants(turn *activeTurn, t *view.ToolCall, o *permissionOption) {
	covers := grantsFor(t, s.env.Dir)
	if o.Kind == "allow_always" {
		for i := range covers {
			covers[i].tool = ""
		}
		s.sessionGrants.add(covers...)
		return
	}
	if t.ID == "" {
		return
	}
	turn.grants.add(covers...)
	if known := turn.view.Tool(t.ID); !known.Running() { // before the question, or while the person was asked
		turn.grants.revoke(t.ID)
	}
}

// handleTerminal handles terminal/*. Commands start only while a turn is running, because /stop
// stops them with the turn.
func (s *session) handleTerminal(ctx context.Context, turn *activeTurn, method, id string, params json.RawMessage) (any, *rpc.Error) {
	create := method == "terminal/create"
	switch {
	case create && turn == nil:
		return nil, &rpc.Error{Code: rpc.CodeCancelled, Message: "commands are started only while a prompt is worked on"}
	case create && turn.isOver():
		return nil, &rpc.Error{Code: rpc.CodeCancelled, Message: "the turn has ended"}
	case turn != nil && method == "terminal/release":
		turn.view.SaveTail(id) // its last lines stay on the board
	}
	if create { // checkPermission logs the command
		if rerr := s.checkPermission(ctx, turn, newCommandCall(s.env.Dir, params)); rerr != nil {
			return nil, rerr
		}
		if turn.isOver() {
			return nil, &rpc.Error{Code: rpc.CodeCancelled, Message: "the turn has ended"}
		}
	}
	result, err := terminalCall(ctx, s.table, s.env, method, params)
	if create && err == nil {
		if turn.isOver() { // while the command was being started
			ended, cancel := context.WithCancel(ctx)
			cancel()                                                             // with an ended context, Release kills the command without waiting
			_ = s.table.Release(ended, result.(map[string]string)["terminalId"]) //nolint:forcetypeassert // which create makes
		}
	}
	return result, err
}
