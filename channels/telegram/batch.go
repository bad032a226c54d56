package telegram

import (
	"context"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// acceptBatch accepts the updates of one poll, at most batchSize. Chats are accepted in parallel,
// so that they share group commits of the store; within a chat each update waits for the one before
// it. It retries until ctx ends, and reports whether all updates are stored.
func (in *receiver) acceptBatch(ctx context.Context, updates []*update) bool {
	in.beginPoll()
	defer in.endPoll()
	b := newUpdateBatch(updates, in.c.lastStored)
	var names []string
	chats := map[string][]int{} // positions in the batch
	for i, u := range updates {
		if !in.prepareUpdate(ctx, u) {
			b.markStored(i)
			continue
		}
		name := u.chat()
		if chats[name] == nil {
			names = append(names, name)
		}
		chats[name] = append(chats[name], i)
	}
	for _, positions := range chats {
		messages := make([]*message, len(positions))
		for n, i := range positions {
			if updates[i].CallbackQuery == nil {
				messages[n] = updates[i].Message
			}
		}
		markJoined(messages)
	}
	var work errgroup.Group
	var failed atomic.Bool
	for _, name := range names {
		work.Go(func() error {
			for _, i := range chats[name] {
				if !in.retry(ctx, func() error {
					return in.acceptUpdate(ctx, updates[i], func() string { return in.c.formatCursor(b.cursor(i)) })
				}) {
					failed.Store(true)
					break
				}
				b.markStored(i)
			}
			return nil
		})
	}
	_ = work.Wait() // nothing returns an error
	return !failed.Load()
}

// updateBatch records which updates of a poll are stored. The cursor passes an update only if all
// updates before it are stored.
type updateBatch struct {
	mu             sync.Mutex
	updates        []*update
	isStored       []bool
	storedPrefix   int   // number of leading updates that are stored
	previousCursor int64 // the cursor before the batch; 0: none
}

func newUpdateBatch(updates []*update, before int64) *updateBatch {
	return &updateBatch{updates: updates, isStored: make([]bool, len(updates)), previousCursor: before}
}

func (b *updateBatch) markStored(i int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.isStored[i] = true
	for b.storedPrefix < len(b.isStored) && b.isStored[b.storedPrefix] {
		b.storedPrefix++
	}
}

// cursor returns the update ID to store as the cursor with the update at a position; 0: none.
func (b *updateBatch) cursor(i int) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch b.storedPrefix {
	case i:
		return b.updates[i].ID
	case 0:
		return b.previousCursor
	}
	return b.updates[b.storedPrefix-1].ID
}
