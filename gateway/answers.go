package gateway

import "sync"

// answers brings answers to the turns that wait for them.
type answers struct {
	mu    sync.Mutex
	waits map[string]chan string
}

func (a *answers) expect(id string) <-chan string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.waits == nil {
		a.waits = map[string]chan string{}
	}
	a.waits[id] = make(chan string, 1)
	return a.waits[id]
}

func (a *answers) forget(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.waits, id)
}

func (a *answers) tell(id, text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if wait, ok := a.waits[id]; ok {
		wait <- text
		delete(a.waits, id)
	}
}
