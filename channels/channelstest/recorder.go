package channelstest

import (
	"context"
	"slices"
	"sync"
	"time"

	"nanobot/channels"
)

// Recorder records the messages that a channel receives. Its lock is held while Reject is called,
// and must be taken to change the fields while the channel runs.
type Recorder struct {
	sync.Mutex
	All      []channels.Incoming           // the received messages
	Reject   func(channels.Incoming) error // if nil, everything is received
	Rejected int                           // number of messages that Reject has returned an error for

	more chan struct{}
}

// NewRecorder returns an empty recorder.
func NewRecorder() *Recorder { return &Recorder{more: make(chan struct{}, 1)} }

// Receive implements channels.Receive.
func (b *Recorder) Receive(_ context.Context, in channels.Incoming) error {
	b.Lock()
	defer b.Unlock()
	if b.Reject != nil {
		if err := b.Reject(in); err != nil {
			b.Rejected++
			return err
		}
	}
	b.All = append(b.All, in)
	select {
	case b.more <- struct{}{}:
	default:
	}
	return nil
}

// Messages returns a copy of All.
func (b *Recorder) Messages() []channels.Incoming {
	b.Lock()
	defer b.Unlock()
	return slices.Clone(b.All)
}

// Await waits until enough reports true, for waitLimit at most, and returns the messages.
func (b *Recorder) Await(enough func([]channels.Incoming) bool) (all []channels.Incoming, ok bool) {
	deadline := time.After(waitLimit)
	for {
		if all = b.Messages(); enough(all) {
			return all, true
		}
		select {
		case <-b.more:
		case <-deadline:
			return all, false
		}
	}
}
