// Package batch implements group commit: callers that arrive during a commit share the next one.
package batch

import (
	"runtime"
	"sync"
)

// Queue does what its callers bring, one batch after the other, in the goroutine of one of the
// callers: nobody has to be woken when there is only one.
type Queue[T any] struct {
	do   func([]T)
	most int

	mu      sync.Mutex
	waiting []waiter[T]
	leading bool // one of the callers is at work
	closed  bool
	idle    sync.Cond // signalled when nobody leads any more
}

type waiter[T any] struct {
	brings T
	turn   chan bool // true: it is done; false: its caller is to lead
}

// New returns a queue. At most so many share a batch, which bounds how long the first of them
// waits. Do must not panic.
func New[T any](most int, do func([]T)) *Queue[T] {
	q := &Queue[T]{do: do, most: most}
	q.idle.L = &q.mu
	return q
}

// Do returns when what is brought was in a batch. It reports false, and nothing is done, if the
// queue was closed before.
func (q *Queue[T]) Do(x T) bool {
	w := waiter[T]{brings: x}
	lead, ok := q.join(&w)
	if ok && (lead || !<-w.turn) {
		q.lead()
	}
	return ok
}

// join puts somebody in line and says whether they are to lead.
func (q *Queue[T]) join(w *waiter[T]) (lead, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false, false
	}
	lead = !q.leading
	if !lead {
		w.turn = make(chan bool, 1)
	}
	q.leading = true
	q.waiting = append(q.waiting, *w)
	return lead, true
}

// lead does what waits, its own first, and lets one of those lead who came meanwhile.
func (q *Queue[T]) lead() {
	batch, others := q.gather()
	q.do(batch)
	for _, turn := range others {
		turn <- true
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) > 0 {
		q.waiting[0].turn <- false
		return
	}
	q.leading = false
	q.idle.Broadcast()
}

// gather takes what waits. Callers who were just answered often come right back, so it lets them
// run before it looks.
func (q *Queue[T]) gather() (batch []T, others []chan bool) {
	for before := 0; ; {
		runtime.Gosched()
		q.mu.Lock()
		n := len(q.waiting)
		if n > before && n < q.most && n > 1 {
			before = n
			q.mu.Unlock()
			continue
		}
		defer q.mu.Unlock()
		n = min(n, q.most)
		batch = make([]T, n)
		for i, w := range q.waiting[:n] {
			if batch[i] = w.brings; i > 0 {
				others = append(others, w.turn)
			}
		}
		left := copy(q.waiting, q.waiting[n:])
		clear(q.waiting[left:])
		q.waiting = q.waiting[:left]
		return batch, others
	}
}

// Close returns when what was brought is done. What comes later is refused.
func (q *Queue[T]) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for q.leading {
		q.idle.Wait()
	}
}
