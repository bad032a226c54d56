// Package forward passes incoming messages on to the member that keeps their chat, and receives
// those that other members have passed on. It does not know what a message means.
package forward

import (
	"context"
	"errors"
	"slices"
	"sync"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// Options configures Forwards.
type Options struct {
	Store store.Forwards
	// Receive receives a message at this member. It is store.ErrKept, and has done nothing, if the
	// message is to be forwarded.
	Receive func(ctx context.Context, in channels.Incoming) error
	// Keeps reports whether this member has an agent or commands of a chat.
	Keeps func(chat string) bool
	Log   *zap.Logger
}

// Forwards receives messages at the member that keeps their chat: only that one can stop its turn,
// answer its agent or end its session.
type Forwards struct{ o Options }

// New returns Forwards.
func New(o Options) *Forwards { return &Forwards{o} }

// Receive receives a message of a network, or forwards it.
func (f *Forwards) Receive(ctx context.Context, in channels.Incoming) error {
	err := f.o.Receive(ctx, in)
	if errors.Is(err, store.ErrKept) {
		err = f.o.Store.Forward(ctx, in)
	}
	return err
}

// Run receives what other members have forwarded, and releases the chats that this member keeps no
// longer, until ctx ends.
func (f *Forwards) Run(ctx context.Context, beats <-chan store.Beat) {
	r := receiver{Forwards: f, busy: map[channels.Chat]bool{}, ended: make(chan received)}
	defer r.work.Wait()
	for {
		var err error
		select {
		case b := <-beats:
			err = r.handle(ctx, b)
		case e := <-r.ended:
			delete(r.busy, e.chat)
			if err = e.err; err == nil && e.n > 0 {
				err = r.receiveAll(ctx)
			}
		case <-ctx.Done():
			return
		}
		if err != nil && ctx.Err() == nil {
			f.o.Log.Error("cannot receive forwarded messages, will retry", zap.Error(err))
		}
	}
}

// receiver receives forwarded messages: those of a chat in order, those of different chats at the
// same time, so that a chat delays no other.
type receiver struct {
	*Forwards
	busy  map[channels.Chat]bool // messages of the chat are being received
	ended chan received
	work  sync.WaitGroup
}

// received says how many messages of a chat were received, and why no more.
type received struct {
	chat channels.Chat
	n    int
	err  error
}

func (r *receiver) handle(ctx context.Context, b store.Beat) (err error) {
	if b.Forwarded {
		err = r.receiveAll(ctx)
	}
	if ended := slices.DeleteFunc(slices.Clone(b.Keeps), r.o.Keeps); len(ended) > 0 {
		err = errors.Join(err, r.o.Store.Release(ctx, ended))
	}
	return err
}

// maxRead is how many forwarded messages are read at once.
const maxRead = 100

// receiveAll begins to receive the forwarded messages of the chats that are not busy.
func (r *receiver) receiveAll(ctx context.Context) error {
	all, err := r.o.Store.Forwarded(ctx, maxRead)
	if err != nil {
		return err
	}
	byChat := map[channels.Chat][]store.Forwarded{}
	for _, m := range all {
		byChat[m.In.Chat] = append(byChat[m.In.Chat], m)
	}
	for chat, messages := range byChat {
		if r.busy[chat] {
			continue
		}
		r.busy[chat] = true
		r.work.Go(func() {
			n, err := r.receiveEach(ctx, messages)
			select {
			case r.ended <- received{chat, n, err}:
			case <-ctx.Done():
			}
		})
	}
	return nil
}

// receiveEach receives the messages of a chat in order, and returns how many. If another member
// keeps the chat now, the store passes the rest on to that one.
func (f *Forwards) receiveEach(ctx context.Context, messages []store.Forwarded) (n int, err error) {
	for _, m := range messages {
		m.In.Stored = true
		err := f.o.Receive(ctx, m.In)
		if errors.Is(err, store.ErrKept) {
			break
		}
		if err == nil {
			err = f.o.Store.DropForwarded(ctx, m.ID)
		}
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}
