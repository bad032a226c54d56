// Package lanes runs the turns of each chat in order, and the turns of different chats in parallel.
// It does not know channels, agents, or the work that a turn does.
package lanes

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/retry"
	"nanobot/gateway/store"
	"nanobot/internal/tasks"
)

// Store is the part of the store that Lanes uses. The store decides which message is next.
type Store interface {
	Claim(ctx context.Context, c store.ClaimRequest) ([]store.Inbound, error)
	NextClaim(ctx context.Context, c store.ClaimRequest) (time.Duration, bool, error)
	Receive(ctx context.Context, a store.ReceiveRequest) (store.ReceiveResult, error)
}

// Turn is the work on one message.
type Turn interface {
	comparable
	// Run works on the message and records the outcome. ctx ends when the gateway no longer waits
	// for the turn.
	Run(ctx context.Context)
	// Drop is called instead of Run during a shutdown: the message stays claimed on disk.
	Drop()
	// AgentEnded reports whether the agent has ended, so that there is nothing left to stop.
	AgentEnded() bool
}

// Options configures Lanes.
type Options[T Turn] struct {
	// Slots is the number of turns that may run at the same time.
	Slots int
	Store Store
	// Claims says which messages may be claimed, without a limit, and reports false if none may be;
	// nil: all. When it has changed, Wake is called.
	Claims func() (store.ClaimRequest, bool)
	// NewTurn returns the turn of a claimed message. It must not block.
	NewTurn func(store.Inbound, *Slot) T
	Log     *zap.Logger
}

// Lanes runs messages in order within a chat and chats in parallel, up to the number of slots. The
// store chooses the next chat, so a waiting chat costs no memory.
type Lanes[T Turn] struct {
	o       Options[T]
	slots   *slots
	locks   chatLocks
	pending pendingClaim
	// nextClaims is the number of turns that the dispatcher claims next.
	nextClaims int

	wake           chan struct{} // there may be a message to claim
	heartbeat      chan struct{} // the dispatcher offers an element in every iteration of its loop
	runBegun       chan struct{} // closed when Run begins
	dispatcherDone chan struct{} // closed when the dispatcher has ended

	startMu sync.Mutex
	// startTurn starts the goroutine of a turn. Run sets it when it begins, and to nil when it
	// starts no more turns.
	startTurn func(registeredTurn[T])

	mu     sync.Mutex
	active map[channels.Chat]T
	turns  sync.WaitGroup // registered turns that are not removed yet
}

// registeredTurn is a turn that can be found by its chat and is about to run.
type registeredTurn[T Turn] struct {
	turn T
	chat channels.Chat
	slot *Slot
}

// New returns Lanes that claim nothing before Run is called.
func New[T Turn](o Options[T]) *Lanes[T] {
	return &Lanes[T]{
		o: o, nextClaims: 1, slots: newSlots(o.Slots), wake: make(chan struct{}, 1), heartbeat: make(chan struct{}),
		runBegun: make(chan struct{}), dispatcherDone: make(chan struct{}), active: map[channels.Chat]T{},
	}
}

// Run claims messages until ctx ends, and starts turns until killed ends. killed is also the parent
// context of the turns. Run returns when all turns have ended, and is called once.
func (l *Lanes[T]) Run(ctx, killed context.Context) {
	var work sync.WaitGroup
	defer work.Wait()
	l.setStart(func(s registeredTurn[T]) {
		work.Go(func() {
			tasks.GrowStack()
			l.runTurn(killed, s)
		})
	})
	defer l.setStart(nil)
	close(l.runBegun)
	work.Go(func() {
		defer close(l.dispatcherDone)
		l.dispatch(ctx)
	})
	<-killed.Done()
}

func (l *Lanes[T]) setStart(start func(registeredTurn[T])) {
	l.startMu.Lock()
	defer l.startMu.Unlock()
	l.startTurn = start
}

// dispatch claims messages until ctx ends.
func (l *Lanes[T]) dispatch(ctx context.Context) {
	for {
		select {
		case l.slots.taken <- struct{}{}:
		case l.heartbeat <- struct{}{}:
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

// awaitWork waits until there may be a message to claim. It reports false when ctx has ended.
func (l *Lanes[T]) awaitWork(ctx context.Context) bool {
	var wait time.Duration
	var waits bool
	if request, ok := l.claims(); ok {
		var err error
		wait, waits, err = l.o.Store.NextClaim(ctx, request)
		if err != nil && ctx.Err() == nil {
			l.o.Log.Error("cannot read the inbox, will retry", zap.Error(err))
			wait, waits = time.Second, true
		}
	}
	var due <-chan time.Time // nil: no message waits for further ones
	if waits {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		due = timer.C
	}
	for {
		select {
		case <-l.wake:
			return true
		case <-due:
			return true
		case l.heartbeat <- struct{}{}:
		case <-ctx.Done():
			return false
		}
	}
}

// maxClaims bounds the turns that one transaction claims, so that other writers of the store do not
// wait long. The dispatcher starts with one claim and doubles the number while the backlog fills
// all of them. An idle gateway thus leaves slots free for messages that arrive.
const maxClaims = 16

// claimNext claims the next turns in one transaction: one for the slot that the caller has
// acquired, and more for other free slots. It reports false when there is nothing to claim.
func (l *Lanes[T]) claimNext(ctx context.Context) (bool, error) {
	request, ok := l.claims()
	if !ok {
		<-l.slots.taken
		return false, nil
	}
	slots := 1 + l.slots.tryAcquire(l.nextClaims-1)
	request.Limit = slots
	end := l.pending.begin()
	claimed, err := l.o.Store.Claim(ctx, request)
	begun := make([]registeredTurn[T], 0, len(claimed))
	for _, inbound := range claimed {
		begun = append(begun, l.register(inbound))
	}
	end()
	l.slots.releaseUnused(slots - len(claimed))
	if len(claimed) == slots { // fewer slots than l.nextClaims may have been free
		l.nextClaims = min(2*l.nextClaims, maxClaims)
	} else {
		l.nextClaims = 1
	}
	for _, s := range begun {
		l.start(s)
	}
	return len(claimed) > 0, err
}

// Accept stores a message. If a slot is free and the chat's queue is empty, the same transaction
// claims the message, and Accept starts its turn.
func (l *Lanes[T]) Accept(ctx context.Context, request store.ReceiveRequest) (store.ReceiveResult, error) {
	result, claimed, err := l.receive(ctx, request)
	if err != nil {
		return result, err
	}
	if result.Disposition == store.Claimed {
		l.start(claimed) // without the chat's lock, for which the turn would have to wait
		return result, nil
	}
	isNext := result.Disposition == store.Queued || result.Disposition == store.Joined || result.Released
	if isNext && result.Running == 0 { // otherwise the end of the running turn wakes the dispatcher
		l.Wake()
	}
	return result, nil
}

// receive stores a message and registers its turn, if the message was claimed.
func (l *Lanes[T]) receive(ctx context.Context, request store.ReceiveRequest) (
	result store.ReceiveResult, claimed registeredTurn[T], err error,
) {
	defer l.Lock(request.In.Chat)() // lock before the slot is acquired, so that others can use the slot during the wait
	if request.Gather == 0 && l.mayClaim(request) {
		select {
		case l.slots.taken <- struct{}{}:
			request.Claim = true
		default:
		}
	}
	result, err = l.o.Store.Receive(ctx, request)
	if err == nil && result.Disposition == store.Claimed {
		return result, l.register(result.Inbound), nil
	}
	if request.Claim {
		<-l.slots.taken
	}
	if err != nil {
		err = fmt.Errorf("store message: %w", err)
	}
	return result, claimed, err
}

// claims returns which messages may be claimed.
func (l *Lanes[T]) claims() (store.ClaimRequest, bool) {
	if l.o.Claims == nil {
		return store.ClaimRequest{}, true
	}
	return l.o.Claims()
}

// mayClaim reports whether a message may be claimed.
func (l *Lanes[T]) mayClaim(request store.ReceiveRequest) bool {
	c, ok := l.claims()
	return ok && !slices.Contains(c.ExceptAgents, cmp.Or(request.Agent, store.DefaultAgent)) &&
		!slices.Contains(c.ExceptChannels, request.In.Chat.Channel)
}

// register creates the turn of a claimed message, so that the turn can be found and stopped.
func (l *Lanes[T]) register(inbound store.Inbound) registeredTurn[T] {
	s := registeredTurn[T]{chat: inbound.In.Chat, slot: &Slot{of: l.slots, held: true}}
	s.turn = l.o.NewTurn(inbound, s.slot)
	l.turns.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.active[s.chat] = s.turn
	return s
}

// start starts a turn in a goroutine that Run waits for. After the end of Run, the turn stays
// claimed on disk for the next start of the gateway.
func (l *Lanes[T]) start(s registeredTurn[T]) {
	<-l.runBegun
	if !l.tryStart(s) {
		s.turn.Drop()
		l.remove(s)
	}
}

// tryStart reports false if Run starts no more turns.
func (l *Lanes[T]) tryStart(s registeredTurn[T]) bool {
	l.startMu.Lock()
	defer l.startMu.Unlock()
	if l.startTurn == nil {
		return false
	}
	l.startTurn(s)
	return true
}

func (l *Lanes[T]) runTurn(ctx context.Context, s registeredTurn[T]) {
	defer l.remove(s)
	l.Lock(s.chat)() // wait for a command that is running in this chat
	s.turn.Run(ctx)
}

// remove unregisters a turn and releases its slot.
func (l *Lanes[T]) remove(s registeredTurn[T]) {
	l.mu.Lock()
	if l.active[s.chat] == s.turn { // the chat's next turn may be registered already
		delete(l.active, s.chat)
	}
	l.mu.Unlock()
	s.slot.Release()
	l.turns.Done()
}

// WaitForTurns waits for the running turns, after the first context of Run has ended. Accept must
// not be called any more.
func (l *Lanes[T]) WaitForTurns() {
	<-l.dispatcherDone
	l.turns.Wait()
}

// Wake tells the dispatcher that there may be a message to claim.
func (l *Lanes[T]) Wake() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Heartbeat returns a channel that delivers an element in every iteration of the dispatcher's loop.
// The health check uses it to detect a dispatcher that hangs.
func (l *Lanes[T]) Heartbeat() <-chan struct{} { return l.heartbeat }

// Full reports whether all slots are in use.
func (l *Lanes[T]) Full() bool { return len(l.slots.taken) == cap(l.slots.taken) }

// RunningTurn returns the turn that runs in a chat, if there is one.
func (l *Lanes[T]) RunningTurn(chat channels.Chat) (T, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t, ok := l.active[chat]
	if !ok || t.AgentEnded() {
		var none T
		return none, false
	}
	return t, true
}

// RunningTurns returns the turns of all chats.
func (l *Lanes[T]) RunningTurns() []T {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]T, 0, len(l.active))
	for _, t := range l.active {
		all = append(all, t)
	}
	return all
}

// Lock locks a chat: until the caller unlocks it, no message of the chat is queued, no command is
// carried out, and no claimed turn starts to work.
func (l *Lanes[T]) Lock(chat channels.Chat) (unlock func()) { return l.locks.lock(chat) }

// AwaitClaim waits for the claim in progress, if there is one. Its turn runs on disk and cannot be
// found in memory yet.
func (l *Lanes[T]) AwaitClaim() { l.pending.wait() }
