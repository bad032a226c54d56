package schedule

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"nanobot/gateway/retry"
	"nanobot/gateway/store"
)

// Store is the part of the store that an Engine uses.
type Store interface {
	store.Schedules
	Inbound(ctx context.Context, id int64) (store.Inbound, bool, error)
}

// Message is a message of a schedule.
type Message struct {
	Schedule store.Schedule
	Spec     Spec
	// Occurrences are to be stored in the transaction of the message. The last one has caused it.
	Occurrences []store.Occurrence
}

// RefusedError is an error of Options.Deliver that another attempt cannot cure.
type RefusedError struct{ Reason string }

// Error returns the reason.
func (e RefusedError) Error() string { return e.Reason }

// Options configures an Engine.
type Options struct {
	Store Store
	// Deliver stores a message together with its occurrences, and returns its ID in the inbox. If
	// the last occurrence was stored before, it stores nothing and returns 0. After any error
	// except a RefusedError it is called again.
	Deliver func(context.Context, Message) (inbound int64, err error)
	// Admits reports whether a person has access.
	Admits func(ctx context.Context, channel, user string) (bool, error)
	// Observe, if not nil, is called with occurrences that were stored. The name of a schedule that
	// was made in a chat is Made.
	Observe func(schedule string, outcome store.OccurrenceOutcome)
	Now     func() time.Time // the wall clock; nil: time.Now
	Log     *zap.Logger
}

// Made is the name under which all schedules that were made in chats are observed.
const Made = "chat"

// Engine runs schedules. Its methods may be called from many goroutines.
type Engine struct {
	o     Options
	wake  chan struct{}
	stale atomic.Bool // another process has changed the schedules of the store

	mu         sync.Mutex
	configured map[string]Configured // of the operator; nil: the store has them already
	entries    map[string]*entry     // all schedules by name; nil until Run has read them

	// Of the goroutine of Run:
	awake     time.Time // the daemon has been running, with a steady clock, since then
	lastPass  time.Time // when runPending has last ended
	rechecked time.Time // when the access of all makers was last checked
	failures  int       // passes that have failed in a row
	lastError string
}

// entry is a schedule in memory. Only the goroutine of Run changes it.
type entry struct {
	store.Schedule
	plan *Plan // nil: the stored spec cannot be understood
	next time.Time
	// predecessor is the message of the last occurrence that had one; -1: it was not read yet.
	predecessor int64
}

const (
	// passEvery bounds the sleep, because the clock may be changed meanwhile.
	passEvery = 10 * time.Second
	// longestPause is the time between two passes from which on the daemon counts as having been
	// down: the machine was suspended, or its clock was set forward.
	longestPause = 3 * passEvery
	// recheckEvery is how often the access of all makers is checked.
	recheckEvery = time.Minute
	// retryAfter is the pause after an error of the store.
	retryAfter = time.Second
	// mostFailures is how many passes may fail before a Reload no longer waits for what is due: the
	// new schedules may be the cure.
	mostFailures = 60
	// farFuture is how far in the future the last occurrence may be after the clock was set back.
	// Beyond it, the clock was wrong before.
	farFuture = 25 * time.Hour
)

// New returns an Engine that does nothing before Run.
func New(o Options) *Engine {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Engine{o: o, wake: make(chan struct{}, 1)}
}

// now returns the wall clock without its monotonic reading, with the precision of the store.
func (e *Engine) now() time.Time { return e.o.Now().Round(0).Truncate(time.Microsecond) }

// Reload replaces the schedules of the operator. Occurrences that are due already run as the
// earlier ones say.
func (e *Engine) Reload(all map[string]Configured) {
	e.mu.Lock()
	e.configured = maps.Clone(all)
	if e.configured == nil {
		e.configured = map[string]Configured{}
	}
	e.mu.Unlock()
	e.wakeUp()
}

// Reread has the engine read the schedules of the store again, because another process has removed
// some.
func (e *Engine) Reread() {
	e.stale.Store(true)
	e.wakeUp()
}

func (e *Engine) wakeUp() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// Run runs the schedules until ctx ends.
func (e *Engine) Run(ctx context.Context) {
	for ctx.Err() == nil {
		wait := retryAfter
		err := e.runPending(ctx)
		if err == nil {
			wait = e.untilNext()
		}
		e.logError(ctx, err)
		if !retry.SleepUnless(ctx, wait, e.wake) {
			return
		}
	}
}

// logError logs an error when it differs from the last one.
func (e *Engine) logError(ctx context.Context, err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != "" && text != e.lastError && ctx.Err() == nil {
		e.o.Log.Error("schedules cannot run, will retry", zap.Error(err))
	}
	e.lastError = text
}

// untilNext returns how long the engine may sleep.
func (e *Engine) untilNext() time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	wait, now := passEvery, e.now()
	for _, s := range e.entries {
		if !s.next.IsZero() {
			wait = min(wait, max(s.next.Sub(now), 0))
		}
	}
	return wait
}

// runPending runs everything that is due. After an error it is to be called again.
func (e *Engine) runPending(ctx context.Context) error {
	now := e.now()
	if gap := now.Sub(e.lastPass); gap > longestPause || gap < 0 {
		e.awake = now
	}
	defer func() { e.lastPass = e.now() }() // a slow store is no downtime
	if e.entries == nil || e.stale.Load() {
		e.stale.Store(false) // before the reading, which then finds what was removed until now
		if err := e.read(ctx); err != nil {
			e.stale.Store(true)
			return err
		}
		// What was missed under a schedule that was changed since then does not run.
		if err := e.configure(ctx, now); err != nil {
			return err
		}
	}
	err := errors.Join(e.runDue(ctx, now), e.recheck(ctx, now))
	if e.failures++; err == nil {
		e.failures = 0
	} else if e.failures < mostFailures {
		return err // what is due runs before its schedule is changed
	}
	return errors.Join(err, e.configure(ctx, now))
}

// read reads the schedules of the store.
func (e *Engine) read(ctx context.Context) error {
	stored, err := e.o.Store.Schedules(ctx)
	if err != nil {
		return err
	}
	all := map[string]*entry{}
	for _, s := range stored {
		all[s.Name] = e.newEntry(s)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.entries = all
	return nil
}

// newEntry returns the entry of a schedule that is in the store.
func (e *Engine) newEntry(s store.Schedule) *entry {
	n := &entry{Schedule: s, predecessor: -1}
	var err error
	if n.plan, err = parseStored(s.Spec); err != nil {
		e.o.Log.Error("a schedule cannot be understood", zap.String("schedule", s.Name), zap.Error(err))
	}
	n.setNext()
	return n
}

func (s *entry) setNext() {
	s.next = time.Time{}
	if s.plan == nil {
		return
	}
	if first, ok := s.plan.first(s.Accounted); ok {
		s.next = first.due
	}
}

// snapshot returns the entries.
func (e *Engine) snapshot() []*entry {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Collect(maps.Values(e.entries))
}
