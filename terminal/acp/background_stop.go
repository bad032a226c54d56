package acp

import (
	"context"
	"time"

	"nanobot/internal/words"
)

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
	s.pushNotice(words.AgentEndedResumes)
	p.Agents.End(chat)
}
