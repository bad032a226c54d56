// Package access decides what an agent may do, and does it: reading and writing files, and running
// commands. A person is asked as the policy says, and an approval covers exactly what was shown.
package access

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

// Policy is the configuration of what an agent may do.
type Policy struct {
	Permissions      string            // ask, allow-reads, allow or deny
	Rules            map[string]string // exceptions by kind of tool
	AskTimeout       time.Duration     // that a person has to answer
	Files, Terminals bool              // whether the agent may use them at all
	TerminalTimeout  time.Duration     // that a command may run; 0: no limit
	TerminalMemory   int64             // bytes that a command may use; 0: no limit
	// PlanFolders are the agent's own folders, below which it may use the Markdown files in any
	// folder with the name plans.
	PlanFolders []string
}

// Session is what the agent of one session may do. Its requests are handled concurrently.
type Session struct {
	Table  *jobs.Table // the agent's terminals
	policy Policy
	env    terminal.ExecEnv
	log    func(level, text string) // without a turn
	grants grants                   // permissions for the whole session
	asking chan struct{}            // has an element while a question is open
}

// New returns the access of a session without any permissions. log is for decisions without a
// turn.
func New(p Policy, env terminal.ExecEnv, log func(level, text string)) *Session {
	return &Session{
		policy: p, env: env, log: log, asking: make(chan struct{}, 1),
		Table: jobs.NewTable(jobs.Options{
			Dir: env.Dir, Roots: env.Roots, Shell: env.Shell, ApplySandbox: env.ApplySandbox,
			Limits: jobs.Limits{Jobs: maxTerminals, MaxRuntime: p.TerminalTimeout, Memory: p.TerminalMemory},
		}),
	}
}

// Turn is a turn of the session: only during a turn people can be asked and commands start.
type Turn struct {
	view   *view.View
	over   <-chan struct{} // closed when the turn ends or is cancelled
	cancel context.CancelFunc
	grants grants // permissions until the end of the turn

	mu        sync.Mutex
	ended     bool
	questions sync.WaitGroup // open questions
}

// NewTurn returns a turn that ends with ctx at the latest.
func NewTurn(ctx context.Context, v *view.View) *Turn {
	ctx, cancel := context.WithCancel(ctx)
	return &Turn{view: v, over: ctx.Done(), cancel: cancel}
}

// End ends the turn and cancels its open questions.
func (t *Turn) End() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	t.cancel()
}

// Wait waits for the questions of a turn that has ended.
func (t *Turn) Wait() { t.questions.Wait() }

// isOver reports whether the turn has ended or is cancelled.
func (t *Turn) isOver() bool {
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
func (t *Turn) bind(ctx context.Context) (_ context.Context, done func(), ok bool) {
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

// BeginQuestion is bind for a question that waits until no other one is open.
func (s *Session) BeginQuestion(ctx context.Context, turn *Turn) (_ context.Context, done func(), ok bool) {
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

// RevokeEnded revokes the permissions of a tool call that has ended. It must be called after the
// view knows of the end: see addGrants.
func (t *Turn) RevokeEnded(id string) {
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

// Supports reports whether the agent may call a method.
func (s *Session) Supports(method string) bool {
	return method == methodPermission || s.policy.Files && (method == methodRead || method == methodWrite) ||
		s.policy.Terminals && strings.HasPrefix(method, methodTerminal)
}

// Handle handles a call of a client method. turn is nil if none is running.
func (s *Session) Handle(ctx context.Context, turn *Turn, method string, params json.RawMessage) (any, *rpc.Error) {
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
func (s *Session) handlePermission(ctx context.Context, turn *Turn, params json.RawMessage) (any, *rpc.Error) {
	ctx, done, ok := turn.bind(ctx)
	if !ok {
		return newResponse(nil), nil
	}
	defer done()
	return decider{s.policy, turn.view}.decideRequest(ctx, params,
		func(t *view.ToolCall, o *option) { s.addGrants(turn, t, o) })
}

// addGrants adds what the permission for a tool call covers: until the call ends, at the latest
// with the turn, or for the whole session.
func (s *Session) addGrants(turn *Turn, t *view.ToolCall, o *option) {
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
	turn.RevokeEnded(t.ID) // before the question, or while the person was asked
}
