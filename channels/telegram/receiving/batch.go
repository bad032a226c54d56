package receiving

import (
	"context"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"nanobot/channels/telegram/updates"
	"nanobot/internal/tasks"
)

// acceptBatch accepts the updates of one poll, at most batchSize. Chats are accepted in parallel,
// so that they share group commits of the store; within a chat each update waits for the one before
// it. It retries until ctx ends, and reports whether all updates are stored.
func (in *acceptor) acceptBatch(ctx context.Context, all []*updates.Update) bool {
	in.pending.beginPoll()
	defer in.pending.endPoll()
	b := newUpdateBatch(all, in.r.lastStored)
	var names []string
	chats := map[string][]int{} // positions in the batch
	for i, u := range all {
		if !in.prepareUpdate(ctx, u) {
			b.markStored(i)
			continue
		}
		name := u.ChatID()
		if chats[name] == nil {
			names = append(names, name)
		}
		chats[name] = append(chats[name], i)
	}
	for _, positions := range chats {
		messages := make([]*updates.Message, len(positions))
		for n, i := range positions {
			if all[i].CallbackQuery == nil {
				messages[n] = all[i].Message
			}
		}
		updates.MarkJoined(messages)
	}
	var work errgroup.Group
	var failed atomic.Bool
	for _, name := range names {
		work.Go(func() error {
			tasks.GrowStack()
			for _, i := range chats[name] {
				if !in.retry(ctx, func() error {
					return in.acceptUpdate(ctx, all[i], func() string { return in.r.identity.formatCursor(b.cursor(i)) })
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
	updates        []*updates.Update
	isStored       []bool
	storedPrefix   int   // number of leading updates that are stored
	previousCursor int64 // the cursor before the batch; 0: none
}

func newUpdateBatch(all []*updates.Update, before int64) *updateBatch {
	return &updateBatch{updates: all, isStored: make([]bool, len(all)), previousCursor: before}
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
