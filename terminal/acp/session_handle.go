package acp

import (
	"context"
	"encoding/json"
	"strings"
)

// handle answers what the agent asks of us.
func (s *session) handle(ctx context.Context, method string, params json.RawMessage) (any, *rpcError) {
	terminals := strings.HasPrefix(method, "terminal/")
	switch {
	case method == "session/request_permission",
		s.cfg.Files && (method == "fs/read_text_file" || method == "fs/write_text_file"),
		s.cfg.Terminals && terminals:
	default:
		return nil, &rpcError{Code: codeNoMethod, Message: "unknown method " + method}
	}
	var p struct {
		Session  string `json:"sessionId"`
		Terminal string `json:"terminalId"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, &rpcError{Code: codeInvalidParams, Message: "params: " + err.Error()}
	}
	s.mu.Lock()
	id, turn := s.id, s.turn
	s.mu.Unlock()
	if id != "" && p.Session != id {
		return nil, &rpcError{Code: codeInvalidParams, Message: "unknown session " + p.Session}
	}
	if turn != nil {
		turn.begun.Store(true)
	}
	permit := func(c ownCall) *rpcError { return s.permit(ctx, turn, c) }
	switch {
	case terminals:
		return s.terminal(ctx, turn, method, p.Terminal, params)
	case method == "fs/read_text_file":
		return readFile(s.place, params, permit)
	case method == "fs/write_text_file":
		return writeFile(s.place, params, permit)
	}
	return s.permission(ctx, turn, params)
}

// permission asks for what the agent wants to do. When the turn ends, so does the question.
func (s *session) permission(ctx context.Context, turn *running, params json.RawMessage) (any, *rpcError) {
	ctx, done, ok := s.whileAsking(ctx, turn)
	if !ok { // there is nobody to be asked
		return map[string]any{"outcome": map[string]string{"outcome": "cancelled"}}, nil
	}
	defer done()
	return permissions{turn.t, s.cfg, turn.view}.answer(ctx, params, func(t *tool, o *permissionOption) { s.granted(turn, t, o) })
}

// granted opens what the permission for a tool call covers: until that ends, and at the latest with
// the turn, or for the session.
func (s *session) granted(turn *running, t *tool, o *permissionOption) {
	covers := grantsOf(t, t.named)
	if o.Kind == "allow_always" {
		for i := range covers {
			covers[i].tool = ""
		}
		s.always.add(covers...)
		return
	}
	if t.id == "" {
		return
	}
	turn.grants.add(covers...)
	if known := turn.view.known(t.id); !known.running() { // already, or while the person was asked
		turn.grants.close(t.id)
	}
}

// terminal carries out terminal/*. Commands are started only while a turn runs that can be stopped.
func (s *session) terminal(ctx context.Context, turn *running, method, id string, params json.RawMessage) (any, *rpcError) {
	create := method == "terminal/create"
	switch {
	case create && turn == nil:
		return nil, &rpcError{Code: codeCancelled, Message: "commands are started only while a prompt is worked on"}
	case create && turn.isOver():
		return nil, &rpcError{Code: codeCancelled, Message: "the turn has ended"}
	case turn != nil && method == "terminal/release":
		turn.view.remember(id) // it stays on show
	}
	if create {
		if rerr := s.permit(ctx, turn, commandCall(s.place.Dir, params)); rerr != nil {
			return nil, rerr
		}
		if turn.isOver() {
			return nil, &rpcError{Code: codeCancelled, Message: "the turn has ended"}
		}
	}
	result, err := terminalCall(ctx, s.table, s.place, method, params)
	if create && err == nil {
		turn.view.note("info", "terminal: %s", commandLine(params))
		if turn.isOver() { // meanwhile
			ended, cancel := context.WithCancel(ctx)
			cancel()                                                             // Release ends the command and does not wait for it
			_ = s.table.Release(ended, result.(map[string]string)["terminalId"]) //nolint:forcetypeassert // which create makes
		}
	}
	return result, err
}
