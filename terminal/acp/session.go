package acp

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"

	"nanobot/terminal"
	"nanobot/terminal/jobs"
)

const (
	// maxLate and maxLateBytes bound what an agent says while no turn runs.
	maxLate      = 2000
	maxLateBytes = 1 << 20
	// maxTerminals is how many terminals a session may have.
	maxTerminals = 64
)

// update is what an agent tells of a session: its kind and all of it.
type update struct {
	Kind string
	Raw  json.RawMessage
}

// session is a conversation with an agent. What the agent says of it is taken in order; what it
// asks is answered beside that.
type session struct {
	agent *agent
	cfg   Settings
	place terminal.ExecEnv
	table *jobs.Table
	// always is what a person has allowed for the whole session; asking is held by the question of
	// our own that is open.
	always grants
	asking chan struct{}

	feed sync.Mutex // held while an update is taken, so that they stay in order
	mu   sync.Mutex // guards what follows
	id   string     // "": the agent has not said it yet
	// hidden says that what comes was said in earlier turns; heard is when the last of it came.
	hidden bool
	heard  time.Time
	// saved says that the chat's memory keeps the id, so that it was emptied if it is not there.
	saved bool
	turn  *running // nil: between two turns
	late  []spoken // of that time
	size  int      // in bytes, of late
	about about
	told  terminal.AgentInfo
	when  time.Time // it was told
}

// spoken is an update of the session of this id.
type spoken struct {
	session string
	update
}

// running is the turn that a session works on.
type running struct {
	over   <-chan struct{} // closed when the turn ends or is to stop
	cancel context.CancelFunc
	t      terminal.Turn
	view   *view
	asks   sync.WaitGroup // questions that are open
	begun  atomic.Bool    // the agent has done something
	grants grants         // permissions of this turn
}

func newSession(a *agent, place terminal.ExecEnv) *session {
	name := a.hello.Info.Title
	if name == "" {
		name = a.hello.Info.Name
	}
	return &session{
		agent: a, cfg: a.cfg, place: place, about: about{agent: terminal.OneLine(name, 60)}, asking: make(chan struct{}, 1),
		table: jobs.NewTable(jobs.Options{
			Dir: place.Dir, Roots: place.Roots, Shell: place.Shell, Confine: place.ApplySandbox,
			Limits: jobs.Limits{
				Jobs: maxTerminals, Wall: time.Duration(a.cfg.TerminalTimeout) * time.Second,
				Memory: int64(a.cfg.TerminalMemory) << 20,
			},
		}),
	}
}

// is says whether the session has this id.
func (s *session) is(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.id == id
}

// begin lets a turn see what the session says, from what it said since the last one on.
func (s *session) begin(ctx context.Context, t terminal.Turn) *running {
	ctx, cancel := context.WithCancel(ctx)
	r := &running{over: ctx.Done(), cancel: cancel, t: t, view: newView(t, s.table)}
	s.feed.Lock()
	defer s.feed.Unlock()
	s.mu.Lock()
	s.turn = r
	late := s.late
	s.late, s.size = nil, 0
	s.mu.Unlock()
	for _, u := range late {
		r.view.update(u.Raw)
	}
	if len(late) > 0 {
		r.view.pause() // the answer is a message of its own
	}
	s.tell(true)
	return r
}

// isOver says whether the turn has ended or is to stop.
func (r *running) isOver() bool {
	select {
	case <-r.over:
		return true
	default:
		return false
	}
}

// end lets the turn that runs see no more. Permissions that are still asked for are cancelled.
func (s *session) end() {
	s.feed.Lock()
	defer s.feed.Unlock()
	s.answered()
}

// answered does the same where no update can be under way.
func (s *session) answered() {
	s.tell(true)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn != nil {
		s.turn.cancel()
		s.turn = nil
	}
}

// take takes what the agent says of the session of this id.
func (s *session) take(id string, raw json.RawMessage) {
	s.feed.Lock()
	defer s.feed.Unlock()
	var head struct {
		Kind string `json:"sessionUpdate"`
	}
	_ = json.Unmarshal(raw, &head) // what has no kind is unknown to all
	u := update{Kind: head.Kind, Raw: raw}
	s.mu.Lock()
	known, turn := s.id, s.turn
	if known == "" {
		s.keep(spoken{id, u})
	}
	s.mu.Unlock()
	switch {
	case known == "":
	case known != id:
		s.agent.log("debug", "an update of another session was ignored: "+u.Kind)
	default:
		s.show(turn, u)
	}
}

// show takes an update of this session.
func (s *session) show(turn *running, u update) {
	s.mu.Lock()
	changed := s.about.apply(u)
	hidden := s.hidden
	s.heard = time.Now()
	if turn == nil && !hidden && !changed {
		s.keep(spoken{s.id, u})
	}
	s.mu.Unlock()
	if turn == nil || hidden {
		return
	}
	if !changed {
		turn.begun.Store(true)
	}
	if changed {
		s.tell(u.Kind == "available_commands_update")
	}
	turn.view.update(u.Raw)
	turn.ended(u)
}

// ended closes the permissions of a tool call that an update says has ended. It is called behind
// the view's update: see granted.
func (r *running) ended(u update) {
	if u.Kind != "tool_call" && u.Kind != "tool_call_update" {
		return
	}
	var c struct {
		ID maybe[string] `json:"toolCallId"`
	}
	_ = json.Unmarshal(u.Raw, &c) // one without an id has no permissions
	if t := r.view.known(c.ID.v); !t.running() {
		r.grants.close(t.id)
	}
}

// keep puts an update aside. The caller holds mu.
func (s *session) keep(u spoken) {
	if len(s.late) < maxLate && s.size+len(u.Raw) <= maxLateBytes {
		s.late = append(s.late, u)
		s.size += len(u.Raw)
	}
}

// named gives the session the id that the agent has made for it, with what was said of it before.
func (s *session) named(id string) {
	s.feed.Lock()
	defer s.feed.Unlock()
	s.mu.Lock()
	early := s.late
	s.id, s.late, s.size = id, nil, 0
	s.mu.Unlock()
	for _, u := range early {
		if u.session == id {
			s.show(nil, u.update)
		}
	}
}
