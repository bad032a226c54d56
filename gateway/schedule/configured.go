package schedule

import (
	"context"
	"maps"
	"slices"
	"time"

	"go.uber.org/zap"

	"nanobot/gateway/store"
)

// configure makes the schedules of the operator those of the last Reload.
func (e *Engine) configure(ctx context.Context, now time.Time) error {
	e.mu.Lock()
	configured := e.configured
	e.configured = nil
	e.mu.Unlock()
	if configured == nil {
		return nil
	}
	err := e.applyConfigured(ctx, configured, now)
	if err != nil {
		e.mu.Lock()
		if e.configured == nil { // no newer ones
			e.configured = configured
		}
		e.mu.Unlock()
	}
	return err
}

func (e *Engine) applyConfigured(ctx context.Context, configured map[string]Configured, now time.Time) error {
	for _, s := range e.snapshot() {
		if _, stays := configured[s.Name]; s.Maker != "" || stays {
			continue
		}
		if err := e.skipMissed(ctx, s, now, "the schedule was removed"); err != nil {
			return err
		}
		if _, err := e.Remove(ctx, s.Name); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(configured)) {
		if err := e.configureOne(ctx, name, configured[name], now); err != nil {
			return err
		}
	}
	return nil
}

// configureOne stores a schedule of the operator, unless it is stored already. A new or changed one
// has occurrences from now on.
func (e *Engine) configureOne(ctx context.Context, name string, c Configured, now time.Time) error {
	e.mu.Lock()
	known := e.entries[name]
	e.mu.Unlock()
	s := store.Schedule{Name: name, Chat: c.Chat, Spec: c.Spec.encode(), Made: now, Accounted: now}
	if known != nil {
		if known.Chat == s.Chat && known.Spec == s.Spec {
			return nil
		}
		if err := e.skipMissed(ctx, known, now, "the schedule was changed"); err != nil {
			return err
		}
	}
	if _, err := e.o.Store.SaveSchedule(ctx, s, 0); err != nil {
		return err
	}
	e.o.Log.Info("schedule configured", zap.String("schedule", name), zap.Stringer("chat", c.Chat))
	n := e.newEntry(s)
	e.mu.Lock()
	e.entries[name] = n
	e.mu.Unlock()
	if n.plan != nil && n.plan.Once() && !n.plan.at.After(now) {
		all := n.occurrences([]moment{{n.plan.at, naive(n.plan.at), true}}, false,
			because("the time had passed when the schedule was configured"))
		return e.account(ctx, n, now, all)
	}
	return nil
}

// skipMissed accounts for the occurrences until now that did not run.
func (e *Engine) skipMissed(ctx context.Context, s *entry, now time.Time, reason string) error {
	if s.plan == nil || s.next.IsZero() || s.next.After(now) {
		return nil
	}
	moments, more := s.plan.between(s.Accounted, now)
	return e.account(ctx, s, now, s.occurrences(moments, more, because(reason)))
}
