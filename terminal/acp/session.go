package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"

	"nanobot/internal/words"
	"nanobot/terminal"
	"nanobot/terminal/acp/access"
	"nanobot/terminal/acp/form"
	"nanobot/terminal/acp/rpc"
	"nanobot/terminal/acp/view"
)

const (
	// maxQueuedUpdates and maxQueuedBytes limit the updates that are queued between turns.
	maxQueuedUpdates = 2000
	maxQueuedBytes   = 1 << 20
)

// update is a session/update: the ID of its session, its kind and the complete JSON.
type update struct {
	session string
	Kind    string
	Raw     json.RawMessage
}

// session is a conversation with an agent. Its updates are handled in order; requests are handled
// concurrently.
type session struct {
	agent  *agent
	env    terminal.ExecEnv
	access *access.Session
	links  form.Links
	tasks  tasks

	updateMu   sync.Mutex // held while an update is handled, to keep their order
	background background
	mu         sync.Mutex // protects the fields below
	id         string     // "" until the agent has named it
	// replaying is set while the agent replays earlier turns; lastUpdate is the time of the last
	// update.
	replaying  bool
	lastUpdate time.Time
	// idStored means that the chat's memory has stored the ID. If the memory is empty then, /new
	// has cleared it.
	idStored bool
	// chosen are the settings that people have chosen, and unrestored those that could not be set
	// again, with the values that the session had then. Only the chat's turn uses them.
	chosen       []chosenSetting
	unrestored   []chosenSetting
	lastError    string      // of the last prompt; "": it succeeded. Only the chat's turn uses it
	turn         *activeTurn // nil between turns
	opening      *activeTurn // the turn that opens the session, until it is open
	queued       []update    // updates before the first turn, or where nothing can be sent between turns
	queuedBytes  int         // total size of queued
	details      sessionDetails
	words        words.Words // of the last turn
	reportedInfo terminal.AgentInfo
	reportedAt   time.Time // the time of reportedInfo
	workedAt     time.Time // when the agent last worked although there was no turn
}

// activeTurn is the turn that a session works on.
type activeTurn struct {
	t       terminal.Turn
	view    *view.View
	access  *access.Turn
	started atomic.Bool // the agent has started to work
}

func newSession(a *agent, env terminal.ExecEnv) *session {
	name := a.initResponse.Info.Title
	if name == "" {
		name = a.initResponse.Info.Name
	}
	policy := a.cfg.access()
	policy.PlanFolders = a.quirks.planFolders(lookupEnv(env.Env, "HOME"))
	return &session{
		agent: a, env: env, details: sessionDetails{agent: terminal.OneLine(name, 60)},
		access: access.New(policy, env, a.Log),
	}
}

// newActiveTurn returns a turn of the session that ends with ctx at the latest.
func (s *session) newActiveTurn(ctx context.Context, t terminal.Turn) *activeTurn {
	v := view.New(t, s.access.Table)
	return &activeTurn{t: t, view: v, access: access.NewTurn(ctx, v)}
}

// hasID reports whether the session has this ID.
func (s *session) hasID(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.id == id
}

// startTurn makes t the active turn and shows the updates since the last turn.
func (s *session) startTurn(ctx context.Context, t terminal.Turn) *activeTurn {
	r := s.newActiveTurn(ctx, t)
	s.updateMu.Lock()
	defer s.updateMu.Unlock()
	s.flushBackground()
	s.background.setTurn(t)
	s.mu.Lock()
	s.turn, s.words = r, t.Words
	r.view.SetCost(s.details.cost)
	s.details.counted = cmp.Or(s.details.counted, s.details.cost)
	late := s.queued
	s.queued, s.queuedBytes = nil, 0
	s.mu.Unlock()
	for _, u := range late {
		r.view.Update(u.Raw)
	}
	if len(late) > 0 {
		r.view.EmitPending() // the answer becomes a separate message
	}
	r.view.ShowWorking()
	s.reportInfo(true)
	return r
}

// askWhileOpening lets the agent ask the person of a turn while the turn opens the session, because
// a sign-in may need a link. end withdraws the questions.
func (s *session) askWhileOpening(ctx context.Context, t terminal.Turn) (end func()) {
	r := s.newActiveTurn(ctx, t)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opening = r
	return func() {
		s.mu.Lock()
		s.opening = nil
		s.mu.Unlock()
		r.access.End()
		r.access.Wait()
		r.view.Discard()
	}
}

// endTurn detaches the active turn and cancels its open questions.
func (s *session) endTurn() {
	s.updateMu.Lock()
	defer s.updateMu.Unlock()
	s.detachTurn()
}

// detachTurn is endTurn for callers that hold updateMu or run on the reader's goroutine.
func (s *session) detachTurn() {
	s.reportInfo(true)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn != nil {
		if cost := s.details.takeCost(); cost > 0 {
			s.turn.t.Report(terminal.Usage{Model: cmp.Or(s.details.usedModel, s.details.modelName()), Cost: cost})
		}
		s.turn.access.End()
		s.turn = nil
	}
}

// handleUpdate handles an update of the session with this ID.
func (s *session) handleUpdate(id string, raw json.RawMessage) {
	s.updateMu.Lock()
	defer s.updateMu.Unlock()
	var head struct {
		Kind string `json:"sessionUpdate"`
	}
	_ = json.Unmarshal(raw, &head) // an update without a kind is ignored later
	u := update{id, head.Kind, raw}
	s.mu.Lock()
	known, turn := s.id, s.turn
	if known == "" {
		s.queueUpdate(u)
	}
	s.mu.Unlock()
	switch {
	case known == "":
	case known != id:
		s.agent.Log("debug", "an update of another session was ignored: "+u.Kind)
	default:
		s.applyUpdate(turn, u)
	}
}

// applyUpdate handles an update of this session.
func (s *session) applyUpdate(turn *activeTurn, u update) {
	s.mu.Lock()
	u = s.translateModeUpdate(u)
	changed := s.details.apply(u)
	replaying := s.replaying
	s.lastUpdate = time.Now()
	if !replaying {
		s.tasks.track(u, s.agent.timeouts.ToolCallTime)
	}
	if turn == nil && !replaying {
		s.recordWork(u)
	}
	s.mu.Unlock()
	if turn == nil && u.Kind == "tool_call_update" {
		s.agent.forgetEnded(u)
	}
	if turn == nil && !replaying && !changed && !s.showBetweenTurns(u) {
		s.mu.Lock()
		s.queueUpdate(u)
		s.mu.Unlock()
	}
	if turn == nil || replaying {
		return
	}
	if !changed {
		turn.started.Store(true)
	}
	if changed {
		s.reportInfo(u.Kind == "available_commands_update")
	}
	turn.view.Update(u.Raw)
	if u.Kind == "tool_call" || u.Kind == "tool_call_update" {
		var c struct {
			ID rpc.Optional[string] `json:"toolCallId"`
		}
		_ = json.Unmarshal(u.Raw, &c) // a call without an ID has no permissions
		turn.access.RevokeEnded(c.ID.V)
	}
}

// queueUpdate queues an update for the next turn. The caller holds mu.
func (s *session) queueUpdate(u update) {
	if len(s.queued) < maxQueuedUpdates && s.queuedBytes+len(u.Raw) <= maxQueuedBytes {
		s.queued = append(s.queued, u)
		s.queuedBytes += len(u.Raw)
	}
}

// setID sets the session's ID and handles the updates that came before it was known.
func (s *session) setID(id string) {
	s.updateMu.Lock()
	defer s.updateMu.Unlock()
	s.mu.Lock()
	early := s.queued
	s.id, s.queued, s.queuedBytes = id, nil, 0
	s.mu.Unlock()
	for _, u := range early {
		if u.session == id {
			s.applyUpdate(nil, u)
		}
	}
}
