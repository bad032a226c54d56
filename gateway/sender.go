package gateway

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/events"
	"nanobot/gateway/retry"
	"nanobot/gateway/store"
)

const (
	// sendTimeout ends a send that hangs; what became of it is then unknown. Files get as much longer as a slow line needs for them.
	sendTimeout, slowLine = 2 * time.Minute, 64 << 10 // bytes a second
	// giveUp is how long a message is tried. Who has been away for longer will not miss it.
	giveUp = 24 * time.Hour
	// leastTries are made however old a message is: we may have been down all the time, or the clock was wrong when it was stored.
	leastTries = 20
	// firstPause and longestPause bound the wait between tries when the network does not say how long.
	firstPause, longestPause = time.Second, 5 * time.Minute
	// longestWait bounds it in any case: a time further off was set by a clock that was wrong.
	longestWait = time.Hour
	// sendingAtOnce and mostResting bound how many chats of a backlog are served and wait for their time at once, so that a large one costs
	// no memory. sweepEvery is how often the rest of them are looked for.
	sendingAtOnce, mostResting, sweepEvery = 256, 1024, 10 * time.Second
)

// doubt leads what people read of a send of which nobody knows whether it happened.
const doubt = "outcome unknown"

// senders send what is in the outbox: in order within a chat, each chat by itself, so that one that must wait delays no other. A chat
// has a goroutine only while it has something to send.
type senders struct {
	g   *Gateway
	ctx context.Context // sends end with it

	work    sync.WaitGroup
	mu      sync.Mutex
	quiet   *sync.Cond              // signalled when one of these gets less
	chats   map[channels.Chat]*lane // chats with a goroutine
	resting int                     // how many of them wait for their time
	aside   int                     // what else is done, such as removing a bubble
	left    bool                    // there were too many to wait for; they are on disk
	calls   map[int64]func()        // what ends the send of a parcel early
}

func newSenders(g *Gateway) *senders {
	s := &senders{g: g, chats: map[channels.Chat]*lane{}, calls: map[int64]func(){}}
	s.quiet = sync.NewCond(&s.mu)
	return s
}

func (s *senders) start(ctx context.Context) { s.ctx = ctx }

// wait returns when no goroutine is left. The senders' context must have ended.
func (s *senders) wait() { s.work.Wait() }

// idle returns when nothing is being sent or done aside but what waits for its time, or when ctx ends.
func (s *senders) idle(ctx context.Context) {
	s.until(ctx, func() bool { return len(s.chats) == s.resting && s.aside == 0 })
}

// until waits for a condition, which is asked under the lock, or for the end of ctx.
func (s *senders) until(ctx context.Context, done func() bool) {
	stop := context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.quiet.Broadcast()
	})
	defer stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for !done() && ctx.Err() == nil {
		s.quiet.Wait()
	}
}

// background does something on the side that idle and wait wait for.
func (s *senders) background(f func()) {
	s.count(&s.aside, 1)
	s.work.Go(func() {
		defer s.count(&s.aside, -1)
		f()
	})
}

func (s *senders) count(what *int, by int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*what += by
	s.quiet.Broadcast()
}

// post stores a letter and sees to it that it is sent.
func (s *senders) post(ctx context.Context, l store.Letter) error {
	chat := l.Parts[0].Chat
	s.mu.Lock()
	_, busy := s.chats[chat]
	s.mu.Unlock()
	l.Claim = !busy
	first, claimed, err := s.g.o.Store.Enqueue(ctx, l)
	if err != nil {
		return err
	}
	if claimed {
		s.serve(chat, &first)
	} else {
		s.serve(chat, nil)
	}
	runtime.Gosched() // to those who send: the agent's next word can wait
	return nil
}

// clear reports whether nothing waits to be sent to a chat.
func (s *senders) clear(chat channels.Chat) bool {
	s.mu.Lock()
	_, busy := s.chats[chat]
	s.mu.Unlock()
	if busy {
		return false
	}
	// What is pending is newer than what has failed.
	newest, err := s.g.o.Store.Undelivered(s.ctx, chat, 1)
	return err == nil && (len(newest) == 0 || newest[0].State != store.Pending)
}

// lane is a chat that is being served.
type lane struct {
	first *store.Parcel // marked sending already, or nil
	more  bool          // something came meanwhile
}

// serve sees to it that a goroutine sends what a chat has pending. first is a parcel that is marked sending already, or nil.
func (s *senders) serve(chat channels.Chat, first *store.Parcel) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, busy := s.chats[chat]
	if !busy {
		l = &lane{}
		s.chats[chat] = l
		s.work.Go(func() { s.deliver(chat, l) })
	}
	l.more = true
	if first != nil {
		l.first = first
	}
}

// deliver sends a chat's parcels until there are none.
func (s *senders) deliver(chat channels.Chat, l *lane) {
	for {
		first, ok := s.take(chat, l)
		if !ok {
			return
		}
		if first != nil && !s.send(*first) {
			continue // what came behind the last look has said so
		}
		for p, ok := s.next(chat); ok && s.send(p); p, ok = s.next(chat) {
		}
	}
}

// take returns what a lane is to begin with. It reports false, and the lane is no more, when there is nothing to do.
func (s *senders) take(chat channels.Chat, l *lane) (first *store.Parcel, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first, l.first = l.first, nil
	if l.more && s.ctx.Err() == nil {
		l.more = false
		return first, true
	}
	delete(s.chats, chat)
	s.quiet.Broadcast()
	if first != nil { // it was not sent
		s.work.Go(func() { s.settle(*first, store.Settlement{State: store.Pending}) })
	}
	return nil, false
}

// next returns the parcel to send, once its time has come.
func (s *senders) next(chat channels.Chat) (store.Parcel, bool) {
	for {
		p, ok, err := s.g.o.Store.NextParcel(s.ctx, chat)
		wait := firstPause
		switch {
		case err == nil && (ok || p.NotBefore.IsZero()), s.ctx.Err() != nil:
			return p, ok && err == nil
		case err == nil && time.Until(p.NotBefore) > longestWait:
			s.settle(p, store.Settlement{State: store.Pending, Reason: p.Err, Doubtful: p.Doubtful})
			continue
		case err == nil: // its time has not come
			wait = time.Until(p.NotBefore)
		default:
			s.g.o.Log.Error("cannot read the outbox, will retry", zap.Stringer("chat", chat), zap.Error(err))
		}
		if !s.rest(wait) {
			return p, false
		}
	}
}

// rest waits for a parcel's time. It reports false when there is no use in that: we end, or so many wait that this one is better left on
// disk until they are fewer.
func (s *senders) rest(wait time.Duration) bool {
	s.mu.Lock()
	if s.resting >= mostResting {
		s.left = true
		s.quiet.Broadcast()
		s.mu.Unlock()
		return false
	}
	s.resting++
	s.quiet.Broadcast()
	s.mu.Unlock()
	defer s.count(&s.resting, -1)
	return retry.Sleep(s.ctx, wait)
}

// send makes one try and records what became of it. It reports whether the chat has more to send.
func (s *senders) send(p store.Parcel) (more bool) {
	ch, ok := s.g.o.Channels[p.Out.Chat.Channel]
	if !ok {
		const reason = "the channel is not enabled any more"
		s.g.o.Log.Error("message not delivered", zap.Stringer("chat", p.Out.Chat), zap.Int64("id", p.ID), zap.String("error", reason))
		defer s.g.tell(events.Event{What: events.Failed, Chat: p.Out.Chat, Item: p.Item})
		return s.settle(p, store.Settlement{State: store.Failed, Reason: reason, Doubtful: p.Doubtful})
	}
	p.Out.Key = p.Key()
	p.Out.Repeat = p.Doubtful && !repeatable(ch)
	ctx, cancel := context.WithTimeout(s.ctx, patience(p.Out))
	s.calling(p.ID, cancel)
	receipt, safe, err := s.hand(ctx, ch, p)
	s.calling(p.ID, nil)
	cancel()
	state, notBefore := s.judge(safe, p, err)
	defer s.g.tell(events.Event{What: became[state], Chat: p.Out.Chat, Item: p.Item})
	if state == store.Sent {
		return s.settle(p, store.Settlement{State: state, Receipt: receipt.ID})
	}
	reason, doubtful := failure(err, safe, p.Doubtful)
	log := s.g.o.Log.With(zap.Stringer("chat", p.Out.Chat), zap.Int64("id", p.ID), zap.Int("try", p.Tries), zap.Error(err))
	switch {
	case state == store.Failed:
		log.Error("message not delivered")
	case state == store.Unknown:
		log.Warn("message may not have been delivered")
	case p.Err != reason: // once an error, not once a try
		log.Warn("send failed, will retry", zap.Time("not_before", notBefore))
	}
	return s.settle(p, store.Settlement{State: state, Reason: reason, Doubtful: doubtful, NotBefore: notBefore})
}

// failure is the stored reason of a send that failed, and whether the send, or one before it, may have been carried out. safe says that
// doing it again has no second effect, before that an earlier try may have been carried out.
func failure(err error, safe, before bool) (reason string, doubtful bool) {
	reason = err.Error()
	for strings.HasPrefix(reason, doubt) {
		reason = strings.TrimLeft(strings.TrimPrefix(reason, doubt), ": ")
	}
	var se *channels.SendError
	switch {
	case errors.As(err, &se) && se.Unknown && !se.Permanent && !safe:
		return doubt + ": " + reason, true
	case before: // that this try was refused does not undo the earlier one
		return doubt + " of an earlier try; then: " + reason, true
	}
	return reason, false
}

// calling notes that a parcel is being sent, or with nil that it is not any more.
func (s *senders) calling(parcel int64, end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if end == nil {
		delete(s.calls, parcel)
	} else {
		s.calls[parcel] = end
	}
}

// busy reports whether anything is being sent.
func (s *senders) busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.calls) > 0
}

// recall ends sends that are still waiting for their network, which the store will not have repeated.
func (s *senders) recall(parcels []int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range parcels {
		if end := s.calls[id]; end != nil {
			end()
		}
	}
}

// patience is how long a send may take.
func patience(o channels.Outgoing) time.Duration {
	var size int64
	for _, f := range o.Media {
		size += f.Size
	}
	return sendTimeout + time.Duration(size/slowLine)*time.Second
}

// became says in the watchers' words what a send came to.
var became = map[store.State]events.What{
	store.Sent: events.Sent, store.Pending: events.Retrying, store.Failed: events.Failed, store.Unknown: events.Unknown,
}

// judge says what a send's error means for the parcel. safe says that doing it again has no second effect.
func (s *senders) judge(safe bool, p store.Parcel, err error) (store.State, time.Time) {
	now := time.Now()
	var se *channels.SendError
	known := errors.As(err, &se)
	switch {
	case err == nil:
		return store.Sent, time.Time{}
	case known && se.Permanent, p.Tries >= leastTries && now.Sub(p.Queued) > giveUp:
		return store.Failed, time.Time{}
	case known && se.Unknown && !safe && s.g.set().AtMostOnce:
		return store.Unknown, time.Time{}
	case known && se.After > 0:
		return store.Pending, now.Add(min(se.After, longestWait))
	case s.ctx.Err() != nil:
		return store.Pending, time.Time{}
	}
	pause := firstPause << min(max(p.Tries-1, 0), 10)
	return store.Pending, now.Add(min(pause, longestPause))
}

// settle records a send until the store takes it: to forget a send that happened would repeat it. It reports whether the chat has more.
func (s *senders) settle(p store.Parcel, end store.Settlement) (more bool) {
	ctx := context.WithoutCancel(s.ctx)
	_ = retry.Until(s.ctx, func() (err error) {
		if more, err = s.g.o.Store.Settle(ctx, p.ID, end); errors.Is(err, store.ErrState) {
			more, err = true, nil // settled already; better look
		}
		return err
	}, func(err error) {
		s.g.o.Log.Error("send not recorded, will retry", zap.Int64("id", p.ID), zap.Error(err))
	})
	return more
}

func repeatable(ch channels.Channel) bool {
	r, ok := ch.(channels.Repeater)
	return ok && r.Repeatable()
}

// resume serves the chats that an earlier run left something for, and those that there were too many of to wait for.
func (s *senders) resume(ctx context.Context) error {
	for {
		if err := s.sweep(ctx); err != nil {
			s.g.o.Log.Error("cannot read the outbox, will retry", zap.Error(err))
		} else {
			s.until(ctx, func() bool { return s.left })
		}
		if !retry.Sleep(ctx, sweepEvery) {
			return nil
		}
		s.mu.Lock()
		s.left = false
		s.mu.Unlock()
	}
}

// sweep serves all chats with something to send, a few at a time.
func (s *senders) sweep(ctx context.Context) error {
	for after := ""; ; {
		chats, err := s.g.o.Store.ChatsToSend(ctx, after, sendingAtOnce)
		if ctx.Err() != nil || err == nil && len(chats) == 0 {
			return nil //nolint:nilerr // told to end
		}
		if err != nil {
			return err
		}
		for _, chat := range chats {
			s.serve(chat, nil)
			after = chat.String()
			s.until(ctx, func() bool { return len(s.chats)-s.resting < sendingAtOnce })
		}
	}
}
