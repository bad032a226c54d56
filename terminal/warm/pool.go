package warm

import (
	"context"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"
)

// Process is a process that a Pool keeps for a chat, with the protocol's state of it. If
// it has a method InUse() bool, it is not ended as idle while that returns true. If it has a method
// Memory() int64, which returns the bytes that it uses, it counts for Room.MaxMemory.
type Process interface {
	comparable
	// Close ends the process and returns when it is dead. It may take a while; the pool calls it
	// once, while no turn uses the process.
	Close()
	// Reusable reports whether another turn can use the process. The pool calls it at the end of a
	// turn and closes a process that is not reusable.
	Reusable() bool
}

// Pool keeps one process for each chat between its turns, for a limited time and as far as there is
// room, and runs one turn of a chat at a time. It knows nothing of what is said to the processes.
type Pool[P Process] struct {
	// IdleTime is how long a process is kept after the last turn of its chat, and Room how many
	// are. Neither may be changed after the first turn.
	IdleTime time.Duration
	Room
	// MaxInUse is how long after the last turn a process in use is kept; 0: without a limit.
	MaxInUse time.Duration
	// OnLimit, if not nil, is called before the pool ends a process that is in use, because of a
	// limit. nil: processes in use are never ended for Room.
	OnLimit func(process P, limit Limit)

	mu        sync.Mutex
	chats     map[string]*Entry[P] // those with a turn or a process
	processes int                  // of all chats
	memory    int64                // of these processes, as far as it was measured
	restarts  restarts
	closed    bool
	ending    sync.WaitGroup // processes that are being closed
}

// Entry is the entry of one chat in a Pool. The turn that has acquired it uses it until
// Release.
type Entry[P Process] struct {
	pool   *Pool[P]
	chat   string
	turn   chan struct{} // has an element while a turn runs
	turns  int           // that run or wait; the pool's mutex guards it and what follows
	users  []string      // IDs of the people whose messages the process has worked on
	idleAt time.Time     // the end of the last turn, or the last use between turns
	turnAt time.Time     // the end of the last turn
	timer  *time.Timer   // of IdleTime, while no turn runs or waits
	// process is changed only by the running turn, or while none runs; the zero value means none.
	process    P
	memory     int64     // of the process when it was measured
	measuredAt time.Time // zero: it was not
}

// Acquire waits until no other turn of the chat runs, and returns the chat's entry, which must be
// released. user is the ID of the message's sender; "": unknown.
func (p *Pool[P]) Acquire(ctx context.Context, chat, user string) (*Entry[P], error) {
	e := p.addTurn(chat, user)
	select {
	case e.turn <- struct{}{}:
		return e, nil
	case <-ctx.Done():
		p.removeTurn(e)
		return nil, context.Cause(ctx)
	}
}

func (p *Pool[P]) addTurn(chat, user string) *Entry[P] {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.chats[chat]
	if e == nil {
		e = &Entry[P]{pool: p, chat: chat, turn: make(chan struct{}, 1)}
		if p.chats == nil {
			p.chats = map[string]*Entry[P]{}
		}
		p.chats[chat] = e
	}
	if user != "" && !slices.Contains(e.users, user) {
		e.users = append(e.users, user)
	}
	e.turns++
	e.stopTimer()
	return e
}

// removeTurn removes a turn whose context ended before it ran.
func (p *Pool[P]) removeTurn(e *Entry[P]) {
	p.mu.Lock()
	e.turns--
	closeProcess := p.settleChat(e)
	p.mu.Unlock()
	closeProcess()
}

// settleChat decides about a chat's process after a turn. The caller holds the mutex, and calls the
// returned function after unlocking it.
func (p *Pool[P]) settleChat(e *Entry[P]) (closeProcess func()) {
	switch {
	case e.turns > 0:
	case !e.hasProcess():
		p.removeChat(e)
	case p.closed:
		p.removeChat(e)
		return e.process.Close
	default:
		p.startTimer(e)
	}
	return func() {}
}

// Process returns the chat's process, if it has one. Only the turn that has acquired the entry may
// call it.
func (e *Entry[P]) Process() (process P, ok bool) { return e.process, e.hasProcess() }

func (e *Entry[P]) hasProcess() bool {
	var none P
	return e.process != none
}

// SetProcess stores the chat's process, which was just started. If there are too many, the pool
// ends idle ones.
func (e *Entry[P]) SetProcess(process P) {
	p := e.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	p.countRestart(e.chat)
	p.uncountProcess(e)
	p.processes++
	p.endExcessProcesses()
	e.process = process
}

// RemoveProcess removes a process that the turn has closed.
func (e *Entry[P]) RemoveProcess() {
	p := e.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	p.uncountProcess(e)
	var none P
	e.process = none
}

// Release ends the turn. A process that is not reusable is dead when it returns.
func (e *Entry[P]) Release() {
	p := e.pool
	if process, ok := e.Process(); ok && !process.Reusable() { // the next turn must not find it
		e.RemoveProcess()
		process.Close()
	}
	e.measure()
	p.mu.Lock()
	<-e.turn
	e.turns--
	e.idleAt = time.Now()
	e.turnAt = e.idleAt
	closeProcess := p.settleChat(e)
	p.endExcessProcesses()
	p.mu.Unlock()
	closeProcess()
}

// expireChat ends the process of a chat that was idle for IdleTime.
func (p *Pool[P]) expireChat(e *Entry[P]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !p.isIdle(e):
	case e.inUse() && (p.MaxInUse == 0 || time.Since(e.turnAt) < p.MaxInUse):
		p.restartTimer(e)
	case e.inUse():
		p.endForLimit(e, TimeLimit)
	default:
		p.endIdleProcess(e)
	}
}

// isIdle reports whether a chat is still in the pool and no turn of it runs or waits. The caller
// holds the mutex.
func (p *Pool[P]) isIdle(e *Entry[P]) bool { return e.turns == 0 && p.chats[e.chat] == e }

// Idle returns the chats whose processes no turn uses, with the IDs of the people whose messages
// each process has worked on.
func (p *Pool[P]) Idle() map[string][]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	idle := map[string][]string{}
	for _, e := range p.chats {
		if p.isIdle(e) {
			idle[e.chat] = slices.Clone(e.users)
		}
	}
	return idle
}

// Touch restarts the idle time of a chat's process that was used between turns.
func (p *Pool[P]) Touch(chat string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.chats[chat]; e != nil && p.isIdle(e) {
		p.restartTimer(e)
	}
}

// startTimer starts the idle time of a chat at its idleAt. The caller holds the mutex.
func (p *Pool[P]) startTimer(e *Entry[P]) {
	e.timer = time.AfterFunc(time.Until(e.idleAt.Add(p.IdleTime)), func() { p.expireChat(e) })
}

func (e *Entry[P]) stopTimer() {
	if e.timer != nil {
		e.timer.Stop()
		e.timer = nil
	}
}

// restartTimer restarts the idle time of an idle chat. The caller holds the mutex.
func (p *Pool[P]) restartTimer(e *Entry[P]) {
	e.stopTimer()
	e.idleAt = time.Now()
	p.startTimer(e)
}

// inUse reports whether the process is used between turns.
func (e *Entry[P]) inUse() bool {
	u, ok := any(e.process).(interface{ InUse() bool })
	return ok && u.InUse()
}

// Find returns the process of a chat, whether a turn uses it or not.
func (p *Pool[P]) Find(chat string) (process P, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.chats[chat]; e != nil && e.hasProcess() {
		return e.process, true
	}
	return process, false
}

// All returns the processes of all chats, idle or used by a turn.
func (p *Pool[P]) All() iter.Seq2[string, P] {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := map[string]P{} // a copy, so that the mutex is not held while the caller works
	for chat, e := range p.chats {
		if e.hasProcess() {
			all[chat] = e.process
		}
	}
	return maps.All(all)
}

// End ends the process of a chat, unless a turn uses it, without waiting for its death.
func (p *Pool[P]) End(chat string) { p.EndIdle(chat) }

// EndIdle is End, and reports whether there was a process to end.
func (p *Pool[P]) EndIdle(chat string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.chats[chat]
	if e == nil || !p.isIdle(e) {
		return false
	}
	p.endIdleProcess(e)
	return true
}

// ReportDeath tells the pool that the process of a chat has died. While a turn uses the process,
// the turn notices itself.
func (p *Pool[P]) ReportDeath(chat string, process P) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.chats[chat]; e != nil && p.isIdle(e) && e.process == process {
		p.endIdleProcess(e)
	}
}

// endIdleProcess removes an idle chat and ends its process, without waiting. The caller holds the
// mutex.
func (p *Pool[P]) endIdleProcess(e *Entry[P]) {
	p.removeChat(e)
	p.ending.Go(e.process.Close)
}

// endForLimit ends the process of an idle chat although it is in use. The caller holds the mutex.
func (p *Pool[P]) endForLimit(e *Entry[P], limit Limit) {
	p.removeChat(e)
	p.ending.Go(func() {
		if p.OnLimit != nil {
			p.OnLimit(e.process, limit)
		}
		e.process.Close()
	})
}

// removeChat removes a chat that no turn uses. The caller holds the mutex.
func (p *Pool[P]) removeChat(e *Entry[P]) {
	e.stopTimer()
	p.uncountProcess(e)
	delete(p.chats, e.chat)
}

// Close ends all processes that no turn uses, and lets turns keep none from now on. It returns when
// they are dead.
func (p *Pool[P]) Close() {
	p.mu.Lock()
	p.closed = true
	for _, e := range p.chats {
		if p.isIdle(e) {
			p.endIdleProcess(e)
		}
	}
	p.mu.Unlock()
	p.ending.Wait()
}
