package acp

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"nanobot/terminal"
	"nanobot/terminal/acp/rpc"
	"nanobot/terminal/acp/view"
	"nanobot/terminal/jobs"
)

// maxTerminals limits the terminals of a session.
const maxTerminals = 64

// accessPolicy is the configuration of what an agent may do.
type accessPolicy struct {
	Permissions      string            // ask, allow-reads, allow or deny
	Rules            map[string]string // exceptions by kind of tool
	AskTimeout       time.Duration     // that a person has to answer
	Files, Terminals bool              // whether the agent may use them at all
	TerminalTimeout  time.Duration     // that a command may run; 0: no limit
	TerminalMemory   int64             // bytes that a command may use; 0: no limit
}

// accessSession is what the agent of one session may do. Its requests are handled concurrently.
type accessSession struct {
	Table  *jobs.Table // the agent's terminals
	policy accessPolicy
	env    terminal.ExecEnv
	log    func(level, text string) // without a turn
	grants grants                   // permissions for the whole session
	asking chan struct{}            // has an element while a question is open
}

// newAccess returns the access of a session without any permissions. log is for decisions without a
// turn.
func newAccess(p accessPolicy, env terminal.ExecEnv, log func(level, text string)) *accessSession {
	return &accessSession{
		policy: p, env: env, log: log, asking: make(chan struct{}, 1),
		Table: jobs.NewTable(jobs.Options{
			Dir: env.Dir, Roots: env.Roots, Shell: env.Shell, ApplySandbox: env.ApplySandbox,
			Limits: jobs.Limits{Jobs: maxTerminals, MaxRuntime: p.TerminalTimeout, Memory: p.TerminalMemory},
		}),
	}
}

// accessTurn is a turn of the session: only during a turn people can be asked and commands start.
type accessTurn struct {
	view   *view.View
	over   <-chan struct{} // closed when the turn ends or is cancelled
	cancel context.CancelFunc
	grants grants // permissions until the end of the turn

	mu        sync.Mutex
	ended     bool
	questions sync.WaitGroup // open questions
}

// newAccessTurn returns a turn that ends with ctx at the latest.
func newAccessTurn(ctx context.Context, v *view.View) *accessTurn {
	ctx, cancel := context.WithCancel(ctx)
	return &accessTurn{view: v, over: ctx.Done(), cancel: cancel}
}

// end ends the turn and cancels its open questions.
func (t *accessTurn) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	t.cancel()
}

// wait waits for the questions of a turn that has ended.
func (t *accessTurn) wait() { t.questions.Wait() }

// isOver reports whether the turn has ended or is cancelled.
func (t *accessTurn) isOver() bool {
	select {
	case <-t.over:
		return true
	default:
		return false
	}
}

// bind ties a question to its turn: the turn waits for the question to end, and the end of the turn
// cancels the question. ok is false if no turn is running, so that nobody can be asked. The caller
// calls done after the question.
func (t *accessTurn) bind(ctx context.Context) (_ context.Context, done func(), ok bool) {
	if t == nil {
		return nil, nil, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return nil, nil, false
	}
	ctx, cancel := context.WithCancel(ctx)
	answered := make(chan struct{})
	t.questions.Go(func() { // started under mu before the end, so before anybody waits for it
		select {
		case <-t.over:
			cancel()
			<-answered
		case <-answered:
		}
	})
	return ctx, func() {
		cancel()
		close(answered)
	}, true
}

// beginQuestion is bind for a question that waits until no other one is open.
func (s *accessSession) beginQuestion(ctx context.Context, turn *accessTurn) (_ context.Context, done func(), ok bool) {
	ctx, unbind, ok := turn.bind(ctx)
	if !ok {
		return nil, nil, false
	}
	select {
	case s.asking <- struct{}{}:
		return ctx, func() { <-s.asking; unbind() }, true
	case <-ctx.Done():
		unbind()
		return nil, nil, false
	}
}

// revokeEnded revokes the permissions of a tool call that has ended. It must be called after the
// view knows of the end: see addGrants.
func (t *accessTurn) revokeEnded(id string) {
	if known := t.view.Tool(id); !known.Running() {
		t.grants.revoke(id)
	}
}

// methodPermission and the others are the methods that an agent may call.
const (
	methodPermission = "session/request_permission"
	methodRead       = "fs/read_text_file"
	methodWrite      = "fs/write_text_file"
	methodCreate     = "terminal/create"
	methodTerminal   = "terminal/" // a prefix
)

// supports reports whether the agent may call a method.
func (s *accessSession) supports(method string) bool {
	return method == methodPermission || s.policy.Files && (method == methodRead || method == methodWrite) ||
		s.policy.Terminals && strings.HasPrefix(method, methodTerminal)
}

// handle handles a call of a client method. turn is nil if none is running.
func (s *accessSession) handle(ctx context.Context, turn *accessTurn, method string, params json.RawMessage) (any, *rpc.Error) {
	switch method {
	case methodPermission:
		return s.handlePermission(ctx, turn, params)
	case methodRead:
		return s.readFile(ctx, turn, params)
	case methodWrite:
		return s.writeFile(ctx, turn, params)
	case methodCreate:
		return s.createTerminal(ctx, turn, params)
	}
	return s.callTerminal(ctx, turn, method, params)
}

// handlePermission handles session/request_permission. The end of the turn cancels the question.
func (s *accessSession) handlePermission(ctx context.Context, turn *accessTurn, params json.RawMessage) (any, *rpc.Error) {
	ctx, done, ok := turn.bind(ctx)
	if !ok {
		return newPermissionAnswer(nil), nil
	}
	defer done()
	return permissionDecider{s.policy, turn.view}.decideRequest(ctx, params, func(t *view.ToolCall, o *permissionOption) { s.addGrants(turn, t, o) })
}

// addGrants adds what the permission for a tool call covers: until the call ends, at the latest
// with the turn, or for the whole session.
func (s *accessSession) addGrants(turn *accessTurn, t *view.ToolCall, o *permissionOption) {
	covers := grantsFor(t, s.env.Dir)
	if o.Kind == "allow_always" {
		for i := range covers {
			covers[i].tool = ""
		}
		s.grants.add(covers...)
		return
	}
	if t.ID == "" {
		return
	}
	turn.grants.add(covers...)
	turn.revokeEnded(t.ID) // before the question, or while the person was asked
}
