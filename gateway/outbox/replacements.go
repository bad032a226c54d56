package outbox

import (
	"context"
	"errors"
	"sync"

	"nanobot/channels"
)

// messageID names a message on a network.
type messageID struct {
	chat channels.Chat
	id   string
}

// replacements decide between the delivery that replaces a shown message and the removal of that
// message, which has a Stop button that must go: the delivery is sent as a new message if the
// removal comes first.
type replacements struct {
	mu      sync.Mutex
	pending map[messageID]*replacement // the messages that a delivery is to replace
}

type replacement struct {
	removed bool   // the message is being removed
	cancel  func() // cancels the call that replaces the message; nil: there is none
}

// entry returns the entry of a message. The caller holds mu.
func (r *replacements) entry(id messageID) *replacement {
	e := r.pending[id]
	if e == nil {
		e = &replacement{}
		r.pending[id] = e
	}
	return e
}

// expect records that a delivery is to replace a message.
func (r *replacements) expect(id messageID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entry(id)
}

// errRemoved says that a message that was to be replaced is being removed. It may still exist.
var errRemoved = &channels.SendError{Err: errors.New("the message is being removed"), Permanent: true}

// unlessRemoved makes a call that changes a shown message. It returns errRemoved if the message is
// removed before the network confirms that.
func (r *replacements) unlessRemoved(ctx context.Context, id messageID, call func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	err := context.Canceled
	if r.begin(id, cancel) {
		err = call(ctx)
	}
	if !r.end(id, err == nil) {
		return errRemoved
	}
	return err
}

// begin records that a call is about to replace a message. It reports false if the message is being
// removed.
func (r *replacements) begin(id messageID, cancel func()) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.entry(id)
	e.cancel = cancel
	return !e.removed
}

// end records the end of that call. It reports false if the message was removed meanwhile.
func (r *replacements) end(id messageID, replaced bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.entry(id)
	e.cancel = nil
	if replaced && !e.removed {
		delete(r.pending, id)
	}
	return !e.removed
}

// remove records that a message is being removed, and cancels the call that replaces it. It reports
// false if no delivery is to replace the message any more.
func (r *replacements) remove(id messageID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.pending[id]
	if e == nil {
		return false
	}
	e.removed = true
	if e.cancel != nil {
		e.cancel()
	}
	return true
}

// forget is called when a delivery is settled, and when a message was removed: the network then
// refuses to edit it. A call in progress has still to learn that it was removed.
func (r *replacements) forget(id messageID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.pending[id]; e != nil && e.cancel == nil {
		delete(r.pending, id)
	}
}
