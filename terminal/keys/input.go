package keys

import (
	"context"
	"io"
	"sync"
	"time"
)

const (
	// stall is how long typing waits for a program that does not read. What was not read by then
	// stays in the queue, in order.
	stall = 5 * time.Second
	// mostQueued bounds what waits for a program that does not read before more is accepted, and
	// mostReplies the answers to its queries: a program asks for a few bytes and reads them.
	mostQueued, mostReplies = 16 << 20, 4 << 10
	// inputChunk is written at once, so that progress shows while a long text is typed.
	inputChunk = 1 << 10
)

// inputQueue writes to the input of a process in order. A process that does not read blocks the
// typing, and never the reading of its output.
type inputQueue struct {
	to io.Writer

	mu     sync.Mutex
	queue  []byte
	queued int64         // bytes that were ever put into the queue
	typed  int64         // bytes of these that were written or dropped
	flying int           // bytes that are being written
	more   chan struct{} // has an element when there is something new
	step   chan struct{} // closed when typed has grown
	closed bool
}

func newInputQueue(to io.Writer) *inputQueue {
	return &inputQueue{to: to, more: make(chan struct{}, 1), step: make(chan struct{})}
}

// run writes until the queue is closed.
func (q *inputQueue) run() {
	for range q.more {
		for {
			chunk := q.next()
			if len(chunk) == 0 {
				break
			}
			if _, err := q.to.Write(chunk); err != nil {
				q.close() // the program is gone
				return
			}
			q.advance(len(chunk))
		}
	}
}

func (q *inputQueue) next() []byte {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(len(q.queue), inputChunk)
	chunk := q.queue[:n:n]
	q.flying = n
	if q.queue = q.queue[n:]; len(q.queue) == 0 {
		q.queue = nil
	}
	return chunk
}

func (q *inputQueue) advance(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	q.flying = 0
	q.typed += int64(n)
	q.wakeLocked()
}

// wakeLocked wakes those who wait for typed to grow.
func (q *inputQueue) wakeLocked() {
	close(q.step)
	q.step = make(chan struct{})
}

// drop forgets what is queued. It reports whether the process still has to read something.
func (q *inputQueue) drop() (stuck bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	stuck = len(q.queue) > 0 || q.flying > 0
	q.typed += int64(len(q.queue))
	q.queue = nil
	q.wakeLocked()
	return stuck
}

// awaitWritten waits until nothing is being written. It reports false after the limit.
func (q *inputQueue) awaitWritten(limit time.Duration) bool {
	end := time.After(limit)
	for {
		q.mu.Lock()
		done, step := q.closed || q.flying == 0, q.step
		q.mu.Unlock()
		if done {
			return true
		}
		select {
		case <-step:
		case <-end:
			return false
		}
	}
}

// isStuck reports whether the process has to read something before what is typed next.
func (q *inputQueue) isStuck() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.queue) > 0 || q.flying > 0
}

// close ends run and every wait, and drops what is queued.
func (q *inputQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.closed = true
		q.queue = nil
		close(q.step)
		close(q.more)
	}
}

// add puts bytes into the queue, unless it has most bytes already. It returns the count of bytes
// after which they are typed, and false if they were not accepted.
func (q *inputQueue) add(p []byte, most int) (end int64, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || len(q.queue) >= most {
		return q.typed, false
	}
	q.queue = append(q.queue, p...)
	q.queued += int64(len(p))
	select {
	case q.more <- struct{}{}:
	default:
	}
	return q.queued, true
}

// write types bytes and returns when the process was given them, when it has read nothing for a
// while, or when ctx ends. It reports false if the queue was full.
func (q *inputQueue) write(ctx context.Context, p []byte) bool {
	if len(p) == 0 {
		return true
	}
	end, ok := q.add(p, mostQueued)
	if !ok {
		return false
	}
	for {
		q.mu.Lock()
		done, step := q.closed || q.typed >= end, q.step
		q.mu.Unlock()
		if done {
			return true
		}
		select {
		case <-step:
		case <-time.After(stall):
			return true
		case <-ctx.Done():
			return true
		}
	}
}
