// Package store is the contract of the gateway's durable state: the inbox, parts of messages, the
// outbox, cursors, transcripts, memories, records, access, questions, details of turns and the
// spool of files to send. Every method that changes something returns when the change is durable.
// It does not know agents or networks. The engines are in folders of their own.
package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"nanobot/internal/diskspace"
)

// ErrLocked says that another daemon uses the same state.
var ErrLocked = errors.New("another nanobot is running on this state")

// ErrUnusable says that the store can no longer be used, because it was removed, replaced or
// damaged.
var ErrUnusable = errors.New("the state cannot be used any more")

// ErrState says that a change is impossible: there is no such row, or its state does not allow the
// change.
var ErrState = errors.New("its state does not allow this")

// ErrFenced is an ErrState: another member has claimed what was to be changed, or this member is
// gone. Whoever gets it leaves the work to the other member.
var ErrFenced = fmt.Errorf("%w: another member has claimed it", ErrState)

// ErrFull says that a change was refused because the disk is full. The store works again when there
// is room.
var ErrFull = errors.New("the disk of the state is full")

// ErrUnavailable says that the spool cannot accept a file now, but may later: its disk is full,
// read-only or failing, or the process lacks file descriptors or memory.
var ErrUnavailable = errors.New("the spool cannot accept files now")

// ErrTooLarge says that a file exceeds the given limit, and ErrNoRoom that it would leave too
// little room on the disk.
var (
	ErrTooLarge = errors.New("the file is too large")
	ErrNoRoom   = diskspace.ErrNoSpace
)

// ErrChanged says that a file has changed before or while it was copied into the spool.
var ErrChanged = errors.New("it changed before it was copied")

// Mark adds one of the errors above to an error without changing its text.
func Mark(err, sentinel error) error { return markedError{err, sentinel} }

type markedError struct {
	error
	sentinel error
}

func (e markedError) Unwrap() []error { return []error{e.error, e.sentinel} }

// Store is an engine. Its methods may be called from many goroutines. All times are those of the
// store's clock: callers pass only durations, so that the clocks of members do not matter.
type Store interface {
	Members
	Forwards
	Inbox
	Changes
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
	Details
	Schedules
	Usage
	Quotas
	People
	Prover
	// CheckWritable returns an error if changes are not possible now.
	CheckWritable(ctx context.Context) error
	// Prune removes finished rows beyond the retention, and files without references.
	Prune(ctx context.Context, keep Retention) error
	Close() error
}

// Retention says which finished rows are kept: those younger than Age, and at most Count per table;
// 0 means no limit. The IDs of received messages are kept for longer, and the deliveries of an
// unfinished or interrupted inbound message are kept with it.
type Retention struct {
	Age   time.Duration
	Count int
	// Usage is how long usage is kept; 0: no limit.
	Usage time.Duration
	// Memories is how long the ID of a chat's last message is kept, if that is longer than those of
	// others. With it, the memories and the token of the chat are removed. 0: they are kept.
	Memories time.Duration
	// Zone is the time zone of the days to which usage is merged; nil: UTC.
	Zone *time.Location
}
