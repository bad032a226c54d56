package postgres

import (
	"context"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// SaveSchedule stores or replaces a schedule.
func (s schedules) SaveSchedule(ctx context.Context, a store.Schedule, most int) (saved bool, err error) {
	err = s.change(ctx, changeRequest{
		what: "save schedule " + a.Name, function: "save_schedule", scope: ofChat(a.Chat), args: map[string]any{
			"name": a.Name, "chat": a.Chat.String(), "maker": a.Maker, "spec": a.Spec, "made": micros(a.Made),
			"accounted": micros(a.Accounted), "most": most,
		},
	}, &saved)
	return saved, err
}

// RemoveSchedule removes a schedule.
func (s schedules) RemoveSchedule(ctx context.Context, name string) (removed bool, err error) {
	err = s.change(ctx, changeRequest{
		what: "remove schedule " + name, function: "remove_schedule", scope: scope{"schedule", name},
		args: map[string]any{"name": name},
	}, &removed)
	return removed, err
}

// Schedules returns all schedules.
func (s schedules) Schedules(ctx context.Context) ([]store.Schedule, error) {
	type row struct {
		store.Schedule
		Key string // of the chat
	}
	rows, err := readAll[row](ctx, s.state, "read schedules", `SELECT json_build_object('Name', name, 'Key', chat,
		'Maker', maker, 'Spec', spec, 'Made', time_of(made), 'Accounted', time_of(accounted)) FROM schedule ORDER BY name`)
	all := make([]store.Schedule, len(rows))
	for i, r := range rows {
		all[i] = r.Schedule
		all[i].Chat, _ = channels.ParseChat(r.Key)
	}
	return all, err
}

// Account stores occurrences that cause no message.
func (s schedules) Account(ctx context.Context, name string, accounted time.Time, all []store.Occurrence) error {
	return s.change(ctx, changeRequest{
		what: "account for schedule " + name, function: "account", scope: scope{"schedule", name},
		args: map[string]any{"name": name, "accounted": micros(accounted), "occurrences": prepareOccurrences(all)},
	}, nil)
}

// Occurrences returns the last occurrences of a schedule.
func (s schedules) Occurrences(ctx context.Context, name string, n int) ([]store.Occurrence, error) {
	return readAll[store.Occurrence](ctx, s.state, "read the occurrences of schedule "+name,
		`SELECT json_build_object('Schedule', schedule, 'Due', time_of(due), 'Wall', wall, 'Outcome', outcome, 'Reason', reason,
		'Inbound', inbound) FROM occurrence WHERE schedule = $1 ORDER BY due DESC, wall DESC LIMIT $2`, name, max(n, 0))
}
