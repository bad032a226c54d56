package acp

import (
	"context"
	"time"

	"nanobot/internal/words"
	"nanobot/terminal"
	"nanobot/terminal/acp/view"
	"nanobot/terminal/warm"
)

// maxPushDelays is how many PushDelays a text between turns waits while the agent works on.
const maxPushDelays = 5

// background is the work of an agent between turns. The session's updateMu guards it.
type background struct {
	turn  *terminal.Turn // the last turn; nil: there was none, or nothing can be sent after it
	view  *view.View     // shows the agent's updates since the last push; nil: there were none
	timer *time.Timer    // of PushDelay
	since time.Time      // when the first text of view came; zero: there is none
}

// setTurn makes t the turn after which the agent may work in the background.
func (b *background) setTurn(t terminal.Turn) {
	if b.turn = &t; !t.MayPush() {
		b.turn = nil
	}
}

// showBetweenTurns shows an update between turns: what the agent says is a message of its own. It
// reports false if nothing can be sent now. The caller holds updateMu.
func (s *session) showBetweenTurns(u update) bool {
	b := &s.background
	if b.turn == nil {
		return false
	}
	isText, delay := u.Kind == "agent_message_chunk", s.agent.timeouts.PushDelay
	if !isText && !b.since.IsZero() && time.Since(b.since) > maxPushDelays*delay {
		s.flushBackground() // not while the agent writes: that would cut a sentence
	}
	switch {
	case b.view == nil:
		b.view = view.NewBackground(*b.turn, s.access.Table)
		b.timer = time.AfterFunc(delay, s.pushBackground)
	case isText || b.since.IsZero(): // a text does not wait for the end of the work
		b.timer.Reset(delay)
	}
	if isText && b.since.IsZero() {
		b.since = time.Now()
	}
	b.view.Update(u.Raw)
	s.agent.touch()
	return true
}

// pushBackground sends what the agent has said between turns.
func (s *session) pushBackground() {
	s.updateMu.Lock()
	defer s.updateMu.Unlock()
	s.flushBackground()
}

// flushBackground is pushBackground for callers that hold updateMu.
func (s *session) flushBackground() {
	b := &s.background
	if b.timer != nil {
		b.timer.Stop()
	}
	if b.view == nil {
		return
	}
	if err := b.view.Close(false, nil); err != nil {
		s.agent.Log("warning", "message between turns not sent: "+err.Error())
	}
	b.view, b.since = nil, time.Time{}
}

// endBackground sends what the agent has said between turns, for the last time.
func (s *session) endBackground() {
	s.updateMu.Lock()
	defer s.updateMu.Unlock()
	s.flushBackground()
	s.background.turn = nil
}

// InUse reports whether the agent works in the background: a command or a task of it is running.
func (a *agent) InUse() bool {
	s := a.currentSession()
	if s == nil {
		return false
	}
	return s.tasks.count() > 0 || s.access.Table.Running() > 0
}

// announceEnd tells the chat that the agent is ended although it works in the background.
func (a *agent) announceEnd(limit warm.Limit) {
	s := a.currentSession()
	if s == nil {
		return
	}
	s.updateMu.Lock()
	defer s.updateMu.Unlock()
	s.flushBackground()
	t := s.background.turn
	if t == nil {
		return
	}
	text := t.Words.Text(words.BackgroundTooMany)
	if limit == warm.TimeLimit {
		text = t.Words.Text(words.BackgroundTooLong, int(maxBackground/time.Hour))
	}
	_ = t.Push(terminal.Frame{Kind: terminal.Message, Text: text}) // the gateway logs a message that it cannot store
}

// workingTime is how long after an update between turns the agent counts as working.
const workingTime = 10 * time.Second

// notifyTime is the time to queue a notification for an agent that reads nothing.
const notifyTime = 100 * time.Millisecond

// StopCommands kills the commands that a chat's agent has left running. If there are none, it tells
// the agent to stop its own work between turns.
func (p *Protocol) StopCommands(chat string) (ended int, told bool) {
	for key, a := range p.Agents.All() {
		s := a.currentSession()
		if s == nil || key != chat {
			continue
		}
		n := s.access.Table.KillAll() + p.EndLeftCommands(chat)
		ended += n
		if n == 0 && s.worksBetweenTurns() {
			told = true
			a.cancelBackground(s)
			time.AfterFunc(p.StopTimeout, func() { p.endUnstopped(chat, a, s) })
		}
	}
	return ended, told
}

// worksBetweenTurns reports whether the agent works although there is no turn.
func (s *session) worksBetweenTurns() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.turn == nil && (s.tasks.count() > 0 || time.Since(s.workedAt) < workingTime)
}

// recordWork records that the agent works although there is no turn. The caller holds mu.
func (s *session) recordWork(u update) {
	switch u.Kind {
	case "agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan":
		s.workedAt = time.Now()
	}
}

// cancelBackground tells the agent to stop its work between turns, before any later prompt.
func (a *agent) cancelBackground(s *session) {
	ctx, cancel := context.WithTimeout(context.Background(), notifyTime)
	defer cancel()
	s.mu.Lock()
	id := s.id
	s.workedAt = time.Time{}
	s.mu.Unlock()
	if err := a.Notify(ctx, "session/cancel", map[string]string{"sessionId": id}); err != nil {
		a.Log("warning", "the agent was not told to stop: "+err.Error())
	}
}

// endUnstopped ends an agent that was told to stop its tasks and has not, if that does not end the
// conversation. Otherwise the tasks no longer count.
func (p *Protocol) endUnstopped(chat string, a *agent, s *session) {
	current, ok := p.Agents.Find(chat)
	if !ok || current != a || a.currentSession() != s || !s.worksBetweenTurns() {
		return
	}
	if !a.initResponse.canRestore() {
		s.tasks.forgetAll()
		return
	}
	s.noticePusher()(words.AgentEndedResumes)
	p.Agents.End(chat)
}
