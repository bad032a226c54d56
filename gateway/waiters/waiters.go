// Package waiters delivers values to the goroutines that wait for them. It knows nothing of what
// the values are about.
package waiters

import "sync"

// Waiters are goroutines that wait for values by key. The zero value has none. Its methods are safe
// for concurrent use.
type Waiters[V any] struct {
	mu    sync.Mutex
	byKey map[string]map[chan V]bool
}

// Wait returns a channel that gets the next value of a key. The caller calls leave when it no
// longer waits.
func (w *Waiters[V]) Wait(key string) (next <-chan V, leave func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byKey == nil {
		w.byKey = map[string]map[chan V]bool{}
	}
	if w.byKey[key] == nil {
		w.byKey[key] = map[chan V]bool{}
	}
	c := make(chan V, 1)
	w.byKey[key][c] = true
	return c, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if delete(w.byKey[key], c); len(w.byKey[key]) == 0 {
			delete(w.byKey, key)
		}
	}
}

// Deliver gives a value to all that wait for the key, and reports whether there were any.
func (w *Waiters[V]) Deliver(key string, v V) (waited bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.byKey[key] {
		c <- v
		waited = true
	}
	delete(w.byKey, key)
	return waited
}
