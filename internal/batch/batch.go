// Package batch implements group commit: callers that arrive during a commit share the next one. It
// does not know what is committed.
package batch

import (
	"runtime"
	"sync"
)

// Queue executes the items of its callers in batches, one batch after the other. A batch runs in
// the goroutine of one of its callers, the leader, so that a single caller needs no other
// goroutine.
type Queue[T any] struct {
	run      func([]T)
	maxBatch int

	mu      sync.Mutex
	waiting []waiter[T]
	leading bool // a caller is executing a batch
	closed  bool
	idle    sync.Cond // signalled when there is no leader any more
}

type waiter[T any] struct {
	item T
	done chan bool // true: the item was executed; false: the caller becomes the leader
}

// New returns a queue. maxBatch bounds the items of a batch, and thus the wait of its first caller.
// run must not panic.
func New[T any](maxBatch int, run func([]T)) *Queue[T] {
	q := &Queue[T]{run: run, maxBatch: maxBatch}
	q.idle.L = &q.mu
	return q
}

// Do returns when the item was executed in a batch. It reports false, without executing it, if the
// queue is closed.
func (q *Queue[T]) Do(x T) bool {
	w := waiter[T]{item: x}
	lead, ok := q.join(&w)
	if ok && (lead || !<-w.done) {
		q.lead()
	}
	return ok
}

// join appends an item to the queue and reports whether its caller becomes the leader.
func (q *Queue[T]) join(w *waiter[T]) (lead, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false, false
	}
	lead = !q.leading
	if !lead {
		w.done = make(chan bool, 1)
	}
	q.leading = true
	q.waiting = append(q.waiting, *w)
	return lead, true
}

// lead executes a batch that begins with the leader's own item, and makes the first caller of the
// next batch its leader.
func (q *Queue[T]) lead() {
	batch, others := q.nextBatch()
	q.run(batch)
	for _, turn := range others {
		turn <- true
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) > 0 {
		q.waiting[0].done <- false
		return
	}
	q.leading = false
	q.idle.Broadcast()
}

// nextBatch removes the next batch from the queue. Callers whose items were just executed often
// return immediately, so it yields to them first.
func (q *Queue[T]) nextBatch() (batch []T, others []chan bool) {
	for before := 0; ; {
		runtime.Gosched()
		q.mu.Lock()
		n := len(q.waiting)
		if n > before && n < q.maxBatch && n > 1 {
			before = n
			q.mu.Unlock()
			continue
		}
		defer q.mu.Unlock()
		n = min(n, q.maxBatch)
		batch = make([]T, n)
		for i, w := range q.waiting[:n] {
			if batch[i] = w.item; i > 0 {
				others = append(others, w.done)
			}
		}
		left := copy(q.waiting, q.waiting[n:])
		clear(q.waiting[left:])
		q.waiting = q.waiting[:left]
		return batch, others
	}
}

// Close waits until all items are executed. Later items are refused.
func (q *Queue[T]) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for q.leading {
		q.idle.Wait()
	}
}
