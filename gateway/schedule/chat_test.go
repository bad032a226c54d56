package schedule_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/gateway/schedule"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// add makes a schedule in a chat.
func (f *fixture) add(maker string, spec schedule.Spec) (string, error) {
	spec.Timezone, spec.Text = berlin, maker
	made, err := f.engine.Add(f.t.Context(), schedule.Request{Chat: chat, Maker: maker, Spec: spec})
	return made.Name, err
}

func TestAReminderRunsOnceAndIsGone(t *testing.T) {
	in(t, berlin, "2026-06-01 08:00:00", func(f *fixture) {
		f.start(nil)
		name := musttest.Get(f.add("ann", schedule.Spec{At: "2026-06-01T09:00:00+02:00"}))(f.t)
		later := musttest.Get(f.add("bob", schedule.Spec{Cron: "0 12 * * *"}))(f.t)
		if !strings.HasPrefix(name, "chat.") || name == later {
			f.t.Errorf("the names are %q and %q", name, later)
		}
		list := f.engine.List(chat)
		wanttest.EqualSlices(f.t, "by time", []string{list[0].Name, list[1].Name}, []string{name, later})
		wanttest.Equal(f.t, "next", list[1].Next.Format(time.RFC3339), "2026-06-01T12:00:00+02:00")
		wanttest.Equal(f.t, "in another chat", len(f.engine.List(channels.Chat{Channel: "telegram", ID: "8"})), 0)
		f.stop()
		f.start(nil) // the config has no schedules, which is no reason to remove those of chats
		f.until(berlin, "2026-06-01 09:00:00")
		f.wantMessages("ann")
		f.want(name, "2026-06-01 09:00:00 ran")
		wanttest.Equal(f.t, "left", len(f.engine.List(chat)), 1)
		wanttest.Equal(f.t, "observed", f.observed[schedule.Made+" ran"], 1)
		wanttest.Equal(f.t, "removed", musttest.Get(f.engine.Remove(f.t.Context(), later))(f.t), true)
		wanttest.Equal(f.t, "removed again", musttest.Get(f.engine.Remove(f.t.Context(), later))(f.t), false)
		f.pass(24 * time.Hour)
		f.wantMessages("ann")
	})
}

func TestAReminderThatADowntimeHasMissedIsCaughtUp(t *testing.T) {
	in(t, berlin, "2026-06-01 08:00:00", func(f *fixture) {
		f.start(nil)
		name := musttest.Get(f.add("ann", schedule.Spec{At: "2026-06-01T09:00:00+02:00"}))(f.t)
		f.stop()
		f.until(berlin, "2026-06-03 09:00:00")
		f.start(nil)
		f.want(name, "2026-06-01 09:00:00 caught-up "+missed)
		wanttest.Equal(f.t, "left", len(f.engine.List(chat)), 0)
	})
}

func TestSchedulesOfChatsHaveLimits(t *testing.T) {
	in(t, berlin, "2026-06-01 08:00:00", func(f *fixture) {
		f.start(map[string]schedule.Spec{"daily": {Cron: "0 9 * * *"}}) // which does not count
		for spec, want := range map[schedule.Spec]error{
			{Cron: "*/30 * * * * *"}:           schedule.ErrTooOften,
			{Cron: "0,59 0,59 * * * *"}:        schedule.ErrTooOften,
			{At: "2026-06-01T08:00:00+02:00"}:  schedule.ErrPast,
			{At: "tomorrow"}:                   schedule.Mistake{Key: "at", Text: "must be a time with its offset, such as 2026-12-24T18:00:00+01:00"},
			{Cron: "@daily", Say: "sometimes"}: schedule.Mistake{Key: "say", Text: `must be "always" or left out`},
		} {
			if _, err := f.add("ann", spec); !errors.Is(err, want) {
				f.t.Errorf("%+v: %v, want %v", spec, err, want)
			}
		}
		for range schedule.MostInChat {
			musttest.Get(f.add("ann", schedule.Spec{Cron: "* * * * *"}))(f.t)
		}
		if _, err := f.add("ann", schedule.Spec{Cron: "@daily"}); !errors.Is(err, schedule.ErrTooMany) {
			f.t.Errorf("one too many: %v", err)
		}
	})
}

func TestAScheduleEndsWhenItsMakerLosesAccess(t *testing.T) {
	in(t, berlin, "2026-06-01 08:00:30", func(f *fixture) {
		const reason = " skipped the person who made the schedule no longer has access"
		f.start(nil)
		soon := musttest.Get(f.add("ann", schedule.Spec{Cron: "1 8 * * *"}))(f.t)
		later := musttest.Get(f.add("ann", schedule.Spec{Cron: "0 12 * * *"}))(f.t)
		other := musttest.Get(f.add("bob", schedule.Spec{Cron: "0 9 * * *"}))(f.t)
		f.mu.Lock()
		f.left["ann"] = true
		f.mu.Unlock()
		f.until(berlin, "2026-06-01 08:01:00")
		f.want(soon, "2026-06-01 08:01:00"+reason)
		f.pass(time.Minute)
		f.want(later, "2026-06-01 12:00:00"+reason)
		list := f.engine.List(chat)
		if len(list) != 1 || list[0].Name != other {
			f.t.Errorf("left: %+v", list)
		}
		f.pass(24 * time.Hour)
		f.wantMessages("bob")
	})
}
