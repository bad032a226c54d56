package schedule

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"nanobot/gateway/store"
)

// runDue runs the schedules that are due. A schedule that fails does not delay others.
func (e *Engine) runDue(ctx context.Context, now time.Time) error {
	var failures []error
	for _, s := range e.snapshot() {
		if s.Accounted.Sub(now) > farFuture {
			failures = append(failures, e.account(ctx, s, now, nil))
		}
		for !s.next.IsZero() && !s.next.After(now) && ctx.Err() == nil {
			if err := e.run(ctx, s, now); err != nil {
				failures = append(failures, fmt.Errorf("run schedule %s: %w", s.Name, err))
				break
			}
		}
	}
	return errors.Join(failures...)
}

// run accounts for the occurrences of a schedule until now, up to the last one that can run.
func (e *Engine) run(ctx context.Context, s *entry, now time.Time) error {
	if ok, err := e.admitted(ctx, s, now); !ok || err != nil {
		return err
	}
	moments, more := s.plan.between(s.Accounted, now)
	latest, existing := -1, 0 // the last one that exists, and how many do
	for i, m := range moments {
		if m.exists {
			latest, existing = i, existing+1
		}
	}
	all := s.occurrences(moments, more, e.lateReason)
	if latest < 0 {
		return e.account(ctx, s, now, all)
	}
	runs, err := e.predecessorRuns(ctx, s)
	if err != nil {
		return err
	}
	if runs {
		all[latest].Reason = "the previous occurrence is still running"
		return e.account(ctx, s, now, all)
	}
	all = all[:latest+1]
	all[latest].Outcome = store.CaughtUp
	if !more && existing == 1 && moments[latest].due.After(e.awake) {
		all[latest].Outcome, all[latest].Reason = store.Ran, ""
	}
	return e.deliver(ctx, s, all)
}

// deliver has the message of the last occurrence stored together with all of them.
func (e *Engine) deliver(ctx context.Context, s *entry, all []store.Occurrence) error {
	last := &all[len(all)-1]
	inbound, err := e.o.Deliver(ctx, Message{s.Schedule, s.plan.Spec, all})
	var refused RefusedError
	switch {
	case errors.As(err, &refused):
		last.Outcome, last.Reason = store.Skipped, refused.Reason
		return e.account(ctx, s, last.Due, all)
	case err != nil:
		return err
	case inbound == 0: // accounted for before the clock was set back
		return e.account(ctx, s, last.Due, all[:len(all)-1])
	}
	s.predecessor = inbound
	return e.accounted(ctx, s, last.Due, all)
}

// account stores occurrences without a message, and the time until which all are stored.
func (e *Engine) account(ctx context.Context, s *entry, until time.Time, all []store.Occurrence) error {
	if err := e.o.Store.Account(ctx, s.Name, until, all); err != nil {
		return err
	}
	return e.accounted(ctx, s, until, all)
}

// accounted moves a schedule on after its occurrences were stored. One that a chat has made is
// removed after its last occurrence.
func (e *Engine) accounted(ctx context.Context, s *entry, until time.Time, all []store.Occurrence) error {
	e.mu.Lock()
	s.Accounted = until
	s.setNext()
	e.mu.Unlock()
	if e.o.Observe != nil {
		name := s.Name
		if s.Maker != "" {
			name = Made
		}
		for _, o := range all {
			e.o.Observe(name, o.Outcome)
		}
	}
	if s.Maker != "" && s.next.IsZero() {
		_, err := e.Remove(ctx, s.Name)
		return err
	}
	return nil
}

// lateReason says why an occurrence was missed.
func (e *Engine) lateReason(m moment) string {
	if !m.due.After(e.awake) {
		return "nanobot was not running, or the clock was set forward"
	}
	return "nanobot could not run it in time"
}

// because returns a reason that is the same for all moments.
func because(reason string) func(moment) string { return func(moment) string { return reason } }

// occurrences returns moments as skipped occurrences.
func (s *entry) occurrences(moments []moment, more bool, reason func(moment) string) []store.Occurrence {
	var all []store.Occurrence
	for i, m := range moments {
		o := store.Occurrence{
			Schedule: s.Name, Due: m.due, Wall: m.wall.Format(wallFormat), Outcome: store.Skipped, Reason: reason(m),
		}
		if !m.exists {
			o.Reason = "this local time does not exist on this day, because clocks are set forward"
		}
		if more && i == 0 {
			o.Reason += "; the earlier ones since " + s.Accounted.In(s.plan.zone).Format(time.RFC3339) + " were skipped, too"
		}
		all = append(all, o)
	}
	return all
}

// predecessorRuns reports whether the message of an earlier occurrence waits or runs.
func (e *Engine) predecessorRuns(ctx context.Context, s *entry) (bool, error) {
	if s.predecessor < 0 {
		earlier, err := e.o.Store.Occurrences(ctx, s.Name, mostMoments)
		if err != nil {
			return false, err
		}
		s.predecessor = 0
		if i := slices.IndexFunc(earlier, func(o store.Occurrence) bool { return o.Inbound != 0 }); i >= 0 {
			s.predecessor = earlier[i].Inbound
		}
	}
	if s.predecessor == 0 {
		return false, nil
	}
	inbound, found, err := e.o.Store.Inbound(ctx, s.predecessor)
	if err == nil && (!found || !inbound.Ended.IsZero()) {
		s.predecessor = 0
	}
	return s.predecessor != 0, err
}

// recheck removes the schedules of people who have lost access, once a minute.
func (e *Engine) recheck(ctx context.Context, now time.Time) error {
	if since := now.Sub(e.rechecked); since >= 0 && since < recheckEvery {
		return nil
	}
	var failures []error
	for _, s := range e.snapshot() {
		_, err := e.admitted(ctx, s, now)
		failures = append(failures, err)
	}
	err := errors.Join(failures...)
	if err == nil {
		e.rechecked = now
	}
	return err
}

// admitted reports whether the maker of a schedule has access. Without, the schedule ends: what it
// has missed and its next occurrence are skipped.
func (e *Engine) admitted(ctx context.Context, s *entry, now time.Time) (bool, error) {
	if s.Maker == "" {
		return true, nil
	}
	ok, err := e.o.Admits(ctx, s.Chat.Channel, s.Maker)
	if ok || err != nil {
		return ok, err
	}
	const reason = "the person who made the schedule no longer has access"
	var all []store.Occurrence
	if s.plan != nil {
		moments, more := s.plan.between(s.Accounted, now)
		if next, found := s.plan.first(now); found && len(moments) == 0 {
			moments = append(moments, next)
		}
		all = s.occurrences(moments, more, because(reason))
	}
	if err := e.account(ctx, s, now, all); err != nil {
		return false, err
	}
	_, err = e.Remove(ctx, s.Name)
	return false, err
}
