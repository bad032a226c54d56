package turn

import (
	"sync"

	"nanobot/terminal"
)

// answers brings answers to the turns that wait for them.
type answers struct {
	mu    sync.Mutex
	waits map[string]chan terminal.Answer
}

func (a *answers) expect(id string) <-chan terminal.Answer {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.waits == nil {
		a.waits = map[string]chan terminal.Answer{}
	}
	a.waits[id] = make(chan terminal.Answer, 1)
	return a.waits[id]
}

func (a *answers) forget(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.waits, id)
}

func (a *answers) deliver(id string, answer terminal.Answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if wait, ok := a.waits[id]; ok {
		wait <- answer
		delete(a.waits, id)
	}
}
