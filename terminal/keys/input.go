package keys

import (
	"context"
	"io"
	"sync"
	"time"
)

const (
	// stallTimeout is how long typing waits for a program that does not read. The rest stays in the
	// queue, in order.
	stallTimeout = 5 * time.Second
	// maxQueued limits the bytes that wait for a program that does not read, and maxReplies the
	// replies to its terminal queries, which take only a few bytes.
	maxQueued, maxReplies = 16 << 20, 4 << 10
	// inputChunk is the size of one write, so that write notices progress within a long text.
	inputChunk = 1 << 10
)

// inputQueue writes to the input of a process, in order. A process that does not read blocks the
// typing, but never the reading of its output.
type inputQueue struct {
	to io.Writer

	mu       sync.Mutex
	queue    []byte
	queued   int64         // total bytes that were queued
	typed    int64         // total bytes that were written or discarded
	writing  int           // bytes of the current write
	wake     chan struct{} // has an element when there is new input
	progress chan struct{} // closed when typed has grown
	closed   bool
}

func newInputQueue(to io.Writer) *inputQueue {
	return &inputQueue{to: to, wake: make(chan struct{}, 1), progress: make(chan struct{})}
}

// run writes until the queue is closed.
func (q *inputQueue) run() {
	for range q.wake {
		for {
			chunk := q.next()
			if len(chunk) == 0 {
				break
			}
			if _, err := q.to.Write(chunk); err != nil {
				q.close() // the program has exited
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
	q.writing = n
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
	q.writing = 0
	q.typed += int64(n)
	q.notifyLocked()
}

// notifyLocked wakes the callers that wait for typed to grow.
func (q *inputQueue) notifyLocked() {
	close(q.progress)
	q.progress = make(chan struct{})
}

// discard removes everything that is queued. It reports whether there was unread input.
func (q *inputQueue) discard() (stuck bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	stuck = len(q.queue) > 0 || q.writing > 0
	q.typed += int64(len(q.queue))
	q.queue = nil
	q.notifyLocked()
	return stuck
}

// awaitWritten waits until no write is in progress. It reports false after the limit.
func (q *inputQueue) awaitWritten(limit time.Duration) bool {
	end := time.After(limit)
	for {
		q.mu.Lock()
		done, step := q.closed || q.writing == 0, q.progress
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

// isStuck reports whether earlier input is still unread.
func (q *inputQueue) isStuck() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.queue) > 0 || q.writing > 0
}

// close ends run and every wait, and discards the queue.
func (q *inputQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.closed = true
		q.queue = nil
		close(q.progress)
		close(q.wake)
	}
}

// add queues bytes unless the queue already has limit bytes. It returns the value of typed at which
// they are written.
func (q *inputQueue) add(p []byte, limit int) (end int64, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || len(q.queue) >= limit {
		return q.typed, false
	}
	q.queue = append(q.queue, p...)
	q.queued += int64(len(p))
	select {
	case q.wake <- struct{}{}:
	default:
	}
	return q.queued, true
}

// write queues bytes and returns when the process was given all of them, when it has read nothing
// for stallTimeout, or when ctx ends. It reports false if the queue was full or closed.
func (q *inputQueue) write(ctx context.Context, p []byte) bool {
	if len(p) == 0 {
		return true
	}
	end, ok := q.add(p, maxQueued)
	if !ok {
		return false
	}
	for {
		q.mu.Lock()
		done, step := q.closed || q.typed >= end, q.progress
		q.mu.Unlock()
		if done {
			return true
		}
		select {
		case <-step:
		case <-time.After(stallTimeout):
			return true
		case <-ctx.Done():
			return true
		}
	}
}
