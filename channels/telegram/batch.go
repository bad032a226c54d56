package telegram

import (
	"context"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// acceptAll accepts the updates of one poll, which are at most batchSize. Chats are accepted side
// by side, so that they share commits of the store; within a chat each update waits for the one
// before it. It reports whether all are stored, and gives up only when ctx ends.
func (in *intake) acceptAll(ctx context.Context, updates []*update) bool {
	in.beginPoll()
	defer in.endPoll()
	b := newBatch(updates, in.c.cursor)
	var names []string
	chats := map[string][]int{} // positions in the batch
	for i, u := range updates {
		if !in.prepare(ctx, u) {
			b.stored(i)
			continue
		}
		name := u.chat()
		if chats[name] == nil {
			names = append(names, name)
		}
		chats[name] = append(chats[name], i)
	}
	var work errgroup.Group
	var failed atomic.Bool
	for _, name := range names {
		work.Go(func() error {
			for _, i := range chats[name] {
				if !in.insist(ctx, func() error {
					return in.accept(ctx, updates[i], func() string { return in.c.writeCursor(b.cursor(i)) })
				}) {
					failed.Store(true)
					break
				}
				b.stored(i)
			}
			return nil
		})
	}
	_ = work.Wait() // nothing returns an error
	return !failed.Load()
}

// batch knows which updates of a poll are stored. The cursor lies behind an update only if all
// before it are stored, so that it never passes a message that is not.
type batch struct {
	mu      sync.Mutex
	updates []*update
	done    []bool
	prefix  int   // so many from the beginning are stored
	before  int64 // the cursor before the batch; 0: there is none
}

func newBatch(updates []*update, before int64) *batch {
	return &batch{updates: updates, done: make([]bool, len(updates)), before: before}
}

func (b *batch) stored(i int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done[i] = true
	for b.prefix < len(b.done) && b.done[b.prefix] {
		b.prefix++
	}
}

// cursor returns the id of the last update that the cursor may pass when the update at a position
// is stored with it; 0 if there is none.
func (b *batch) cursor(i int) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch b.prefix {
	case i:
		return b.updates[i].ID
	case 0:
		return b.before
	}
	return b.updates[b.prefix-1].ID
}
