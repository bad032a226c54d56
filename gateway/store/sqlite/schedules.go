package sqlite

import (
	"context"
	"fmt"
	"time"

	"nanobot/gateway/store"
)

// schedules implements store.Schedules.
type schedules struct{ *state }

// SaveSchedule stores or replaces a schedule.
func (s schedules) SaveSchedule(ctx context.Context, a store.Schedule, most int) (bool, error) {
	return changed(ctx, s.state, "save schedule "+a.Name, func(t *tx) bool {
		if most > 0 && t.exists("SELECT 1 FROM schedule WHERE chat = ? AND maker <> '' AND name <> ? LIMIT 1 OFFSET ?",
			a.Chat.String(), a.Name, most-1) {
			return false
		}
		t.exec("INSERT OR REPLACE INTO schedule (name, chat, maker, spec, made, accounted) VALUES (?, ?, ?, ?, ?, ?)", a.Name,
			a.Chat.String(), a.Maker, a.Spec, micros(a.Made), micros(a.Accounted))
		return true
	})
}

// RemoveSchedule removes a schedule.
func (s schedules) RemoveSchedule(ctx context.Context, name string) (bool, error) {
	return changed(ctx, s.state, "remove schedule "+name, func(t *tx) bool {
		return t.execCount("DELETE FROM schedule WHERE name = ?", name) > 0
	})
}

// Schedules returns all schedules.
func (s schedules) Schedules(ctx context.Context) ([]store.Schedule, error) {
	scan := func(scan func(...any) error) (a store.Schedule, err error) {
		err = scan(&a.Name, chatColumn{&a.Chat}, &a.Maker, &a.Spec, timeColumn{&a.Made}, timeColumn{&a.Accounted})
		return a, err
	}
	return readAll(ctx, s.state, "read schedules", scan,
		"SELECT name, chat, maker, spec, made, accounted FROM schedule ORDER BY name")
}

// Account stores occurrences that cause no message.
func (s schedules) Account(ctx context.Context, name string, accounted time.Time, all []store.Occurrence) error {
	return s.change(ctx, "account for schedule "+name, func(t *tx) {
		insertOccurrences(t, all)
		setAccounted(t, name, accounted)
	})
}

func setAccounted(t *tx, name string, accounted time.Time) {
	t.exec("UPDATE schedule SET accounted = ? WHERE name = ?", micros(accounted), name)
}

// Occurrences returns the last occurrences of a schedule.
func (s schedules) Occurrences(ctx context.Context, name string, n int) ([]store.Occurrence, error) {
	scan := func(scan func(...any) error) (o store.Occurrence, err error) {
		return o, scan(&o.Schedule, timeColumn{&o.Due}, &o.Wall, &o.Outcome, &o.Reason, &o.Inbound)
	}
	return readAll(ctx, s.state, "read the occurrences of schedule "+name, scan,
		`SELECT schedule, due, wall, outcome, reason, inbound FROM occurrence WHERE schedule = ?
		ORDER BY due DESC, wall DESC LIMIT ?`, name, max(n, 0))
}

func insertOccurrences(t *tx, all []store.Occurrence) {
	for _, o := range all {
		t.exec(`INSERT INTO occurrence (schedule, due, wall, outcome, reason, inbound) VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT DO NOTHING`, o.Schedule, micros(o.Due), o.Wall, string(o.Outcome), o.Reason, o.Inbound)
	}
	if len(all) > 0 {
		t.exec(fmt.Sprintf(`DELETE FROM occurrence WHERE schedule = ?1 AND due < (SELECT due FROM occurrence
			WHERE schedule = ?1 ORDER BY due DESC LIMIT 1 OFFSET %d)`, keptOccurrences), all[0].Schedule)
	}
}

// isAccounted reports whether the last of some occurrences is stored already.
func isAccounted(t *tx, all []store.Occurrence) bool {
	if len(all) == 0 {
		return false
	}
	o := all[len(all)-1]
	return t.exists("SELECT 1 FROM occurrence WHERE schedule = ? AND due = ? AND wall = ?", o.Schedule, micros(o.Due),
		o.Wall)
}

// keptOccurrences is how many occurrences of a schedule are kept.
const keptOccurrences = 1000
