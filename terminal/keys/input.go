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
	// mostQueued bounds what waits for a program that does not read, and mostReplies the answers to
	// its queries among that. What is more is dropped.
	mostQueued, mostReplies = 16 << 20, 64 << 10
	// inputChunk is written at once, so that progress shows while a long text is typed.
	inputChunk = 1 << 10
)

// inputQueue types into a terminal in order. A program that does not read delays who types, and
// never who reads its output.
type inputQueue struct {
	to io.Writer

	mu     sync.Mutex
	queue  []byte
	queued int64         // bytes that were ever put into the queue
	typed  int64         // bytes of these that were written
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
	q.typed += int64(n)
	close(q.step)
	q.step = make(chan struct{})
}

// close lets nobody wait any longer and drops what is queued.
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

// add puts bytes into the queue, if they do not make it longer than most. It returns the count of
// bytes after which they are typed.
func (q *inputQueue) add(p []byte, most int) (end int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || len(q.queue)+len(p) > most {
		return q.typed
	}
	q.queue = append(q.queue, p...)
	q.queued += int64(len(p))
	select {
	case q.more <- struct{}{}:
	default:
	}
	return q.queued
}

// reply types the terminal's answer to a query. It never waits.
func (q *inputQueue) reply(p []byte) { q.add(p, mostReplies) }

// write types bytes and returns when the program was given them, when it has read nothing for a
// while, or when ctx ends.
func (q *inputQueue) write(ctx context.Context, p []byte) {
	if len(p) == 0 {
		return
	}
	end := q.add(p, mostQueued)
	for {
		q.mu.Lock()
		done, step := q.closed || q.typed >= end, q.step
		q.mu.Unlock()
		if done {
			return
		}
		timer := time.NewTimer(stall)
		select {
		case <-step:
			timer.Stop()
		case <-timer.C:
			return
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}
