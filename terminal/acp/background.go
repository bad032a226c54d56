package acp

import (
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
	if err := b.view.Close(false); err != nil {
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
