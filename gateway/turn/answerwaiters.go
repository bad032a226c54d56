package turn

import (
	"sync"

	"nanobot/terminal"
)

// answerWaiters delivers answers to the turns that wait for them, by the ID of the question.
type answerWaiters struct {
	mu      sync.Mutex
	waiting map[string]chan terminal.Answer
}

func (a *answerWaiters) expect(id string) <-chan terminal.Answer {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.waiting == nil {
		a.waiting = map[string]chan terminal.Answer{}
	}
	a.waiting[id] = make(chan terminal.Answer, 1)
	return a.waiting[id]
}

func (a *answerWaiters) forget(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.waiting, id)
}

func (a *answerWaiters) deliver(id string, answer terminal.Answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if wait, ok := a.waiting[id]; ok {
		wait <- answer
		delete(a.waiting, id)
	}
}
