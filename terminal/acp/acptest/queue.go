package acptest

import (
	"encoding/json"
	"time"
)

// startPrompt handles a prompt in the background. With -queueing it waits for the prompts before
// it, and is cancelled together with them.
func (a *agent) startPrompt(m message) {
	if !a.queueing {
		a.mu.Lock()
		a.prompts++
		a.mu.Unlock()
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
	if m.Method == "session/prompt" {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.prompts--
	}
}

// steer handles a message for the running prompt. Without one, or with the text "too late", it
// takes none. It confirms the text "confirm late" only when the prompt has ended.
func (a *agent) steer(s *session, prompt json.RawMessage) (any, error) {
	var parts []struct{ Text string }
	if err := json.Unmarshal(prompt, &parts); err != nil || !a.steering {
		a.failClient("_session/steering: %s", prompt)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.prompts == 0 || parts[0].Text == "too late" {
		return fields{"outcome": "promptRequired", "reason": "noRunningTurn"}, nil
	}
	s.steered = append(s.steered, parts[0].Text)
	for parts[0].Text == "confirm late" && a.prompts > 0 {
		a.mu.Unlock()
		time.Sleep(5 * time.Millisecond)
		a.mu.Lock()
	}
	return fields{"outcome": "injected"}, nil
}

// awaitPrompt executes "steer": it waits until another prompt waits for this one, or until a
// message was added to this one, which it repeats.
func (r *promptRun) awaitPrompt(string) error {
	for !r.s.isCancelled() {
		r.mu.Lock()
		n, added := r.prompts, r.s.steered
		r.s.steered = nil
		r.mu.Unlock()
		for _, text := range added {
			r.sendText(r.s, "added: "+text)
		}
		if n > 1 || len(added) > 0 {
			return nil
		}
		time.Sleep(5 * time.Millisecond)
	}
	return nil
}
