package acptest

import (
	"encoding/json"
	"time"
)

// startPrompt handles a prompt in the background. With -queueing it waits for the prompts before
// it, and is cancelled together with them.
func (a *agent) startPrompt(m message) {
	if !a.queueing {
		go a.handleRequest(m)
		return
	}
	var p struct {
		SessionID string `json:"sessionId"`
	}
	_ = json.Unmarshal(m.Params, &p) // the schema was checked
	s := a.findSession(p.SessionID)
	a.mu.Lock()
	first := a.prompts == 0
	a.mu.Unlock()
	if first && s != nil {
		a.addSession(s) // an earlier cancel does not count
	}
	a.mu.Lock()
	before, done := a.lastPrompt, make(chan struct{})
	a.prompts++
	a.lastPrompt = done
	a.mu.Unlock()
	go func() {
		if before != nil {
			<-before
		}
		if s != nil && s.isCancelled() {
			a.endPrompt(m)
			a.sendMessage(message{ID: m.ID, Result: json.RawMessage(`{"stopReason":"cancelled"}`)})
		} else {
			a.handleRequest(m)
		}
		close(done)
	}()
}

// endPrompt counts a prompt that is about to be answered.
func (a *agent) endPrompt(m message) {
	if m.Method == "session/prompt" && a.queueing {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.prompts--
	}
}

// awaitPrompt executes "steer": it waits until another prompt waits for this one.
func (r *promptRun) awaitPrompt(string) error {
	for !r.s.isCancelled() {
		r.mu.Lock()
		n := r.prompts
		r.mu.Unlock()
		if n > 1 {
			return nil
		}
		time.Sleep(5 * time.Millisecond)
	}
	return nil
}
