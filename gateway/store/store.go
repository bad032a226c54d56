// Package store is the contract of what the gateway keeps on disk: the inbox, parts of messages,
// the outbox, cursors, transcripts, memories, records, access, questions and the spool of files on
// their way out. Every method that changes something returns once the change is durable. It knows
// nothing of agents or networks. The engines are in folders of their own.
package store

import (
	"context"
	"errors"
	"time"

	"nanobot/internal/sparse"
)

// ErrLocked says that another daemon works on the same state.
var ErrLocked = errors.New("another nanobot is running on this state")

// ErrUnusable says that a store cannot be worked with any more: it was removed, replaced or
// damaged.
var ErrUnusable = errors.New("the state cannot be used any more")

// ErrState says that a change asked for is not possible: there is no such row, or it is not in a
// state to be changed so.
var ErrState = errors.New("not in a state for that")

// ErrFull says that a change was refused because the disk takes no more. The store works again when
// there is room.
var ErrFull = errors.New("the disk of the state is full")

// ErrUnavailable says that the spool cannot take a file now, but may later: its disk is full,
// read-only or fails, or the process lacks file descriptors or memory.
var ErrUnavailable = errors.New("the spool takes no files now")

// ErrTooLarge says that a file is larger than was allowed, and ErrNoRoom that it would leave too
// little room on the disk.
var (
	ErrTooLarge = errors.New("the file is too large")
	ErrNoRoom   = sparse.ErrNoSpace
)

// ErrChanged says that a file was changed before or while it was copied into the spool.
var ErrChanged = errors.New("it changed before it was copied")

// Store is an engine. Its methods may be called from many goroutines. All times are by the store's
// clock: who calls it hands over durations only, so that the clocks of members do not matter.
type Store interface {
	Members
	Inbox
	Parts
	Outbox
	Transcripts
	Memories
	Records
	Access
	Questions
	Tokens
	Spool
	Views
	// Prune removes finished rows beyond the retention, and files that nothing refers to any more.
	Prune(ctx context.Context, keep Retention) error
	Close() error
}

// Retention says which finished rows are kept: those younger than Age, and at most Count of each
// table; 0 is no limit. That a message was received is remembered for longer, and what an
// unfinished or interrupted inbound message has sent is kept with it.
type Retention struct {
	Age   time.Duration
	Count int
}
