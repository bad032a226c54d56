// Package lanes runs the turns of each chat in order, and the turns of different chats side by
// side. It knows nothing of networks and of what a turn does.
package lanes

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/retry"
	"nanobot/gateway/store"
)

// Store is what lanes need of the store: it decides which message is next.
type Store interface {
	Claim(ctx context.Context, most int) ([]store.Inbound, error)
	Receive(ctx context.Context, a store.ReceiveRequest) (store.ReceiveResult, error)
}

// Turn is one message that is worked on.
type Turn interface {
	comparable
	// Run works on the message and records how that ended. ctx ends when the turn must not be
	// waited for any longer.
	Run(ctx context.Context)
	// Drop is called instead of Run when the program ends: the message stays claimed on disk.
	Drop()
	// Over reports whether the agent has ended, so that there is nothing left to stop.
	Over() bool
}

// Options is what lanes are made of.
type Options[T Turn] struct {
	// Slots is how many turns may run at the same time.
	Slots int
	Store Store
	// Begin makes the turn of a message that was claimed. It must not block.
	Begin func(store.Inbound, *Slot) T
	Log   *zap.Logger
}

// Lanes runs messages in order within a chat, and chats side by side, as many as there are slots.
// Which chat is next is decided by the store, so a chat that waits costs no memory.
type Lanes[T Turn] struct {
	o     Options[T]
	slots *slots
	locks chatLocks
	claim claims
	// claims is how many turns the dispatcher claims next.
	claims int

	wake     chan struct{}      // there may be a message to claim
	beat     chan struct{}      // the dispatcher offers one whenever it comes round
	starting chan registered[T] // turns that Run is to start
	settled  chan struct{}      // closed when nothing is claimed any more
	ended    chan struct{}      // closed when no turn is started any more

	mu     sync.Mutex
	active map[channels.Chat]T
	turns  sync.WaitGroup // registered and not removed
}

// registered is a turn that has been registered and is about to run.
type registered[T Turn] struct {
	turn T
	chat channels.Chat
	slot *Slot
}

// New returns lanes. Run does the work.
func New[T Turn](o Options[T]) *Lanes[T] {
	return &Lanes[T]{
		o: o, claims: 1, slots: newSlots(o.Slots), wake: make(chan struct{}, 1), beat: make(chan struct{}),
		starting: make(chan registered[T]), settled: make(chan struct{}), ended: make(chan struct{}), active: map[channels.Chat]T{},
	}
}

// Run claims messages until ctx ends, and starts turns until killed ends, with which turns are
// told to end. It returns when all of them have. Run is called once.
func (l *Lanes[T]) Run(ctx, killed context.Context) {
	var work sync.WaitGroup
	defer work.Wait()
	defer close(l.ended)
	work.Go(func() {
		defer close(l.settled)
		l.dispatch(ctx)
	})
	for {
		select {
		case s := <-l.starting:
			work.Go(func() { l.work(killed, s) })
		case <-killed.Done():
			return
		}
	}
}

// dispatch claims messages until ctx ends.
func (l *Lanes[T]) dispatch(ctx context.Context) {
	for {
		select {
		case l.slots.taken <- struct{}{}:
		case l.beat <- struct{}{}:
			continue
		case <-ctx.Done():
			return
		}
		claimed, err := l.claimNext(ctx)
		if claimed && err == nil {
			continue
		}
		if err != nil && ctx.Err() == nil {
			l.o.Log.Error("cannot read the inbox, will retry", zap.Error(err))
			if !retry.Sleep(ctx, time.Second) {
				return
			}
			continue
		}
		if !l.awaitWork(ctx) {
			return
		}
	}
}

// awaitWork waits until there may be something to claim. It reports false when ctx has ended.
func (l *Lanes[T]) awaitWork(ctx context.Context) bool {
	for {
		select {
		case <-l.wake:
			return true
		case l.beat <- struct{}{}:
		case <-ctx.Done():
			return false
		}
	}
}

// mostClaims bounds how many turns are claimed in one step, so that others who write to the store
// need not wait long. The number doubles from 1 while there is as much to claim: a message that is
// received meanwhile finds a free slot.
const mostClaims = 16

// claimNext begins the next turns, in the slot that the caller has taken and in others that are
// free. They are claimed in one step on disk. It reports false when there is nothing to claim.
func (l *Lanes[T]) claimNext(ctx context.Context) (bool, error) {
	slots := 1 + l.slots.takeFree(l.claims-1)
	end := l.claim.begin()
	claimed, err := l.o.Store.Claim(ctx, slots)
	begun := make([]registered[T], 0, len(claimed))
	for _, inbound := range claimed {
		begun = append(begun, l.register(inbound))
	}
	end()
	l.slots.free(slots - len(claimed))
	if len(claimed) == slots { // though there may have been less than l.claims
		l.claims = min(2*l.claims, mostClaims)
	} else {
		l.claims = 1
	}
	for _, s := range begun {
		l.start(s)
	}
	return len(claimed) > 0, err
}

// Accept stores a message and, if a slot is free and nothing of the chat comes before it, starts
// its turn: in one step on disk.
func (l *Lanes[T]) Accept(ctx context.Context, a store.ReceiveRequest) (store.ReceiveResult, error) {
	defer l.Lock(a.In.Chat)() // before the slot, which others could use meanwhile
	select {
	case l.slots.taken <- struct{}{}:
		a.Claim = true
	default:
	}
	result, err := l.o.Store.Receive(ctx, a)
	if err == nil && result.Disposition == store.Claimed {
		l.start(l.register(result.Inbound))
		return result, nil
	}
	if a.Claim {
		<-l.slots.taken
	}
	if err != nil {
		return result, fmt.Errorf("store message: %w", err)
	}
	if result.Disposition == store.Queued && result.Running == 0 { // otherwise the end of that turn wakes
		l.Wake()
	}
	return result, nil
}

// register makes the turn of a message that was claimed, so that it can be found and stopped.
func (l *Lanes[T]) register(inbound store.Inbound) registered[T] {
	s := registered[T]{chat: inbound.In.Chat, slot: &Slot{of: l.slots, held: true}}
	s.turn = l.o.Begin(inbound, s.slot)
	l.turns.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.active[s.chat] = s.turn
	return s
}

// start has Run start a turn. When Run has ended, the turn stays claimed on disk for the next start
// of the program.
func (l *Lanes[T]) start(s registered[T]) {
	select {
	case l.starting <- s:
	case <-l.ended:
		s.turn.Drop()
		l.remove(s)
	}
}

func (l *Lanes[T]) work(ctx context.Context, s registered[T]) {
	defer l.remove(s)
	l.Lock(s.chat)() // a command that is being carried out comes first
	s.turn.Run(ctx)
}

// remove forgets a turn and gives its slot back.
func (l *Lanes[T]) remove(s registered[T]) {
	l.mu.Lock()
	if l.active[s.chat] == s.turn { // the chat's next turn may have begun already
		delete(l.active, s.chat)
	}
	l.mu.Unlock()
	s.slot.Release()
	l.turns.Done()
}

// Wait waits for the turns that run, once the first context of Run has ended. Nothing must be
// accepted any more.
func (l *Lanes[T]) Wait() {
	<-l.settled
	l.turns.Wait()
}

// Wake says that there may be a message to claim.
func (l *Lanes[T]) Wake() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Beat receives whenever the dispatcher comes round, which shows that it works.
func (l *Lanes[T]) Beat() <-chan struct{} { return l.beat }

// Full reports whether all slots are taken.
func (l *Lanes[T]) Full() bool { return len(l.slots.taken) == cap(l.slots.taken) }

// Running returns the turn that runs in a chat, if there is one.
func (l *Lanes[T]) Running(chat channels.Chat) (T, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t, ok := l.active[chat]
	if !ok || t.Over() {
		var none T
		return none, false
	}
	return t, true
}

// All returns the turns that run.
func (l *Lanes[T]) All() []T {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]T, 0, len(l.active))
	for _, t := range l.active {
		all = append(all, t)
	}
	return all
}

// Lock locks a chat: nothing of it is stored and none of its turns begins to work until the caller
// unlocks it.
func (l *Lanes[T]) Lock(chat channels.Chat) (unlock func()) { return l.locks.lock(chat) }

// AwaitClaim waits for the claim in progress, if there is one, whose turn cannot be found yet.
func (l *Lanes[T]) AwaitClaim() { l.claim.wait() }
