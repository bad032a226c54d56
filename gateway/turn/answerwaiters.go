package turn

import (
	"sync"

	"nanobot/terminal"
)

// answerWaiters delivers answers to the turns that wait for them, by the ID of the question.
type answerWaiters struct {
	mu      sync.Mutex
	waiting map[string]chan reply
}

// reply is the answer to a question, or the reason why there is none.
type reply struct {
	answer terminal.Answer
	err    error
}

func (a *answerWaiters) expect(id string) <-chan reply {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.waiting == nil {
		a.waiting = map[string]chan reply{}
	}
	a.waiting[id] = make(chan reply, 1)
	return a.waiting[id]
}

func (a *answerWaiters) forget(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.waiting, id)
}

func (a *answerWaiters) deliver(id string, r reply) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if wait, ok := a.waiting[id]; ok {
		wait <- r
		delete(a.waiting, id)
	}
}
