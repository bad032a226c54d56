package schedule

import (
	"slices"
	"time"
)

// wallFormat is the format of store.Occurrence.Wall.
const wallFormat = "2006-01-02T15:04:05"

// moment is one time that a schedule names.
type moment struct {
	due  time.Time
	wall time.Time // the local time, as if it were UTC
	// exists says that the day has this local time. If not, because clocks are set forward, due is
	// the time of that change.
	exists bool
}

// mostMoments is how many missed occurrences are stored one by one.
const mostMoments = 1000

// Zone returns the time zone of the schedule.
func (p *Plan) Zone() *time.Location { return p.zone }

// Once reports whether the schedule has only one occurrence.
func (p *Plan) Once() bool { return p.cron == nil }

// Next returns up to n times after t at which the schedule is due.
func (p *Plan) Next(t time.Time, n int) []time.Time {
	var all []time.Time
	p.each(t, func(m moment) bool {
		if m.exists {
			all = append(all, m.due)
		}
		return len(all) < n
	})
	return all
}

// first returns the first moment after t. It reports false if there is none.
func (p *Plan) first(t time.Time) (first moment, ok bool) {
	p.each(t, func(m moment) bool {
		first, ok = m, true
		return false
	})
	return first, ok
}

// between returns the moments after a time until another, in order: all of them, or the last
// mostMoments, and then more is true.
func (p *Plan) between(after, until time.Time) (all []moment, more bool) {
	// The span grows from the end, so that years of an expression with seconds cost little.
	for span := time.Hour; ; span *= 4 {
		from := until.Add(-span)
		if span <= 0 || span > 1<<61 || from.Before(after) {
			from = after
		}
		all = all[:0]
		count := 0
		p.each(from, func(m moment) bool {
			if m.due.After(until) {
				return false
			}
			if count++; len(all) == 2*mostMoments {
				all = slices.Delete(all, 0, mostMoments)
			}
			all = append(all, m)
			return true
		})
		if count > mostMoments {
			return all[len(all)-mostMoments:], true
		}
		if from.Equal(after) {
			return all, false
		}
	}
}

// each calls f with the moments after t in order, until f returns false. The due times do not
// decrease: local times that do not exist are all due at the change of the clocks.
func (p *Plan) each(t time.Time, f func(moment) bool) {
	if p.cron == nil {
		if p.at.After(t) {
			f(moment{p.at, naive(p.at), true})
		}
		return
	}
	for wall := p.cron.Next(naive(t.In(p.zone))); !wall.IsZero(); wall = p.cron.Next(wall) {
		m := resolve(wall, p.zone)
		if m.due.After(t) && !f(m) {
			return
		}
	}
}

// naive returns the local time of t as if it were UTC.
func naive(t time.Time) time.Time {
	year, month, day := t.Date()
	return time.Date(year, month, day, t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
}

// resolve finds the time that has a local time. If clocks are set back and it comes twice, that is
// the first one.
func resolve(wall time.Time, zone *time.Location) moment {
	year, month, day := wall.Date()
	t := time.Date(year, month, day, wall.Hour(), wall.Minute(), wall.Second(), 0, zone)
	start, end := t.ZoneBounds()
	switch local := naive(t); {
	case local.After(wall):
		return moment{due: start, wall: wall}
	case local.Before(wall):
		return moment{due: end, wall: wall}
	}
	if !start.IsZero() {
		_, offset := start.Add(-time.Second).Zone()
		earlier := wall.Add(-time.Duration(offset) * time.Second).In(zone)
		if earlier.Before(start) && naive(earlier).Equal(wall) {
			t = earlier
		}
	}
	return moment{t, wall, true}
}
