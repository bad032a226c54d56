package schedule_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"nanobot/gateway/schedule"
	"nanobot/gateway/store"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

const (
	berlin  = "Europe/Berlin"
	newYork = "America/New_York"
	missed  = "nanobot was not running, or the clock was set forward"
)

func daily(cron string) map[string]schedule.Spec {
	return map[string]schedule.Spec{"daily": {Cron: cron, Timezone: berlin}}
}

func TestAnOccurrenceRunsWhenItIsDue(t *testing.T) {
	in(t, berlin, "2026-06-01 08:00:00", func(f *fixture) {
		f.start(daily("0 9 * * *"))
		f.until(berlin, "2026-06-01 08:59:59")
		f.wantMessages()
		f.until(berlin, "2026-06-01 09:00:00")
		f.wantMessages("daily")
		f.until(berlin, "2026-06-03 10:00:00")
		f.want("daily", "2026-06-01 09:00:00 ran", "2026-06-02 09:00:00 ran", "2026-06-03 09:00:00 ran")
		wanttest.Equal(f.t, "observed", f.observed["daily ran"], 3)
	})
}

func TestClocksThatAreSetForwardSkipTheTimesThatDoNotExist(t *testing.T) {
	const reason = " skipped this local time does not exist on this day, because clocks are set forward"
	in(t, berlin, "2026-03-28 12:00:00", func(f *fixture) {
		f.start(daily("30 2 * * *"))
		f.until(berlin, "2026-03-30 12:00:00")
		f.want("daily", "2026-03-29 02:30:00"+reason, "2026-03-30 02:30:00 ran")
		f.wantMessages("daily")
	})
	in(t, newYork, "2026-03-08 00:30:00", func(f *fixture) {
		f.start(map[string]schedule.Spec{"hourly": {Cron: "0,30 * * * *", Timezone: newYork}})
		f.until(newYork, "2026-03-08 03:40:00")
		f.want("hourly", "2026-03-08 01:00:00 ran", "2026-03-08 01:30:00 ran", "2026-03-08 02:00:00"+reason,
			"2026-03-08 02:30:00"+reason, "2026-03-08 03:00:00 ran", "2026-03-08 03:30:00 ran")
		f.wantMessages("hourly", "hourly", "hourly", "hourly")
	})
}

func TestATimeThatComesTwiceRunsOnce(t *testing.T) {
	in(t, berlin, "2026-10-24 12:00:00", func(f *fixture) {
		f.start(daily("30 2 * * *"))
		f.until(berlin, "2026-10-26 12:00:00")
		f.want("daily", "2026-10-25 02:30:00 ran", "2026-10-26 02:30:00 ran")
		first := musttest.Get(f.store.Occurrences(f.t.Context(), "daily", 2))(f.t)[1]
		wanttest.Equal(f.t, "the first of both", first.Due.UTC().Format(time.RFC3339), "2026-10-25T00:30:00Z")
	})
	in(t, newYork, "2026-11-01 00:15:00", func(f *fixture) {
		f.start(map[string]schedule.Spec{"hourly": {Cron: "30 * * * *", Timezone: newYork}})
		f.pass(4 * time.Hour) // clocks show 3:15 then
		f.want("hourly", "2026-11-01 00:30:00 ran", "2026-11-01 01:30:00 ran", "2026-11-01 02:30:00 ran")
	})
}

func TestADowntimeIsCaughtUpOnce(t *testing.T) {
	in(t, berlin, "2026-06-01 08:00:00", func(f *fixture) {
		f.start(daily("0 9 * * *"))
		f.stop()
		f.until(berlin, "2026-06-03 10:00:00")
		f.start(daily("0 9 * * *"))
		f.want("daily", "2026-06-01 09:00:00 skipped "+missed, "2026-06-02 09:00:00 skipped "+missed,
			"2026-06-03 09:00:00 caught-up "+missed)
		f.wantMessages("daily")
		f.until(berlin, "2026-06-04 10:00:00")
		f.wantMessages("daily", "daily")
	})
}

func TestADowntimeOverAClockChangeIsCaughtUpWithATimeThatExists(t *testing.T) {
	in(t, berlin, "2026-03-28 01:00:00", func(f *fixture) {
		f.start(daily("30 2 * * *"))
		f.stop()
		f.until(berlin, "2026-03-29 12:00:00")
		f.start(daily("30 2 * * *"))
		f.want("daily", "2026-03-28 02:30:00 caught-up "+missed, "2026-03-29 02:30:00 skipped this local time does not…")
		f.wantMessages("daily")
	})
}

func TestAClockThatIsSetForwardIsLikeADowntime(t *testing.T) {
	in(t, berlin, "2026-06-01 08:45:00", func(f *fixture) {
		f.start(daily("0 * * * *"))
		f.pass(time.Minute)
		f.jump(2 * time.Hour)
		f.pass(time.Minute)
		f.want("daily", "2026-06-01 09:00:00 skipped "+missed, "2026-06-01 10:00:00 caught-up "+missed)
	})
}

func TestAClockThatIsSetBackRepeatsNothing(t *testing.T) {
	in(t, berlin, "2026-06-01 08:45:00", func(f *fixture) {
		f.start(daily("0 * * * *"))
		f.until(berlin, "2026-06-01 10:01:00")
		f.jump(-2 * time.Hour)
		f.until(berlin, "2026-06-01 11:01:00")
		f.want("daily", "2026-06-01 09:00:00 ran", "2026-06-01 10:00:00 ran", "2026-06-01 11:00:00 ran")
		f.wantMessages("daily", "daily", "daily")
	})
}

func TestAClockThatWasWrongByDaysDoesNotStopSchedules(t *testing.T) {
	in(t, berlin, "2030-06-01 08:45:00", func(f *fixture) {
		f.start(daily("0 * * * *"))
		f.until(berlin, "2030-06-01 09:01:00")
		f.set(berlin, "2026-06-01 08:45:00")
		f.until(berlin, "2026-06-01 09:01:00")
		f.wantMessages("daily", "daily")
		f.stop()
		f.set(berlin, "2030-06-01 08:45:00") // once more
		f.start(daily("0 * * * *"))
		f.set(berlin, "2030-06-01 08:50:00")
		f.until(berlin, "2030-06-01 10:01:00")
		all := musttest.Get(f.store.Occurrences(f.t.Context(), "daily", 1))(f.t)
		wanttest.Equal(f.t, "the last outcome", all[0].Outcome, store.Ran)
	})
}

func TestAnOccurrenceWhosePredecessorRunsIsSkipped(t *testing.T) {
	in(t, berlin, "2026-06-01 08:59:00", func(f *fixture) {
		spec := map[string]schedule.Spec{"work": {Cron: "* * * * *", Timezone: berlin, Agent: "default", Text: "Work."}}
		f.start(spec)
		f.until(berlin, "2026-06-01 09:01:30")
		const running = " skipped the previous occurrence is still running"
		f.want("work", "2026-06-01 09:00:00 ran", "2026-06-01 09:01:00"+running)
		f.stop()
		f.pass(2 * time.Minute)
		f.start(spec) // after a restart the predecessor is known
		f.want("work", "2026-06-01 09:00:00 ran", "2026-06-01 09:01:00"+running, "2026-06-01 09:02:00 skipped "+missed,
			"2026-06-01 09:03:00"+running)
		claimed := musttest.Get(f.store.Claim(f.t.Context(), store.ClaimRequest{Limit: 1}))(f.t)
		musttest.Get(f.store.Finish(f.t.Context(), claimed[0].ID, store.Done, store.Outcome{}))(f.t)
		f.pass(time.Minute)
		f.wantMessages("Work.", "Work.")
	})
}

func TestAnOccurrenceIsNotLostWhenTheStoreFails(t *testing.T) {
	in(t, berlin, "2026-06-01 08:59:00", func(f *fixture) {
		f.start(daily("0 9 * * *"))
		f.setBroken(errors.New("disk full"))
		f.until(berlin, "2026-06-01 09:00:20")
		f.wantMessages()
		f.setBroken(nil)
		f.pass(2 * time.Second)
		f.want("daily", "2026-06-01 09:00:00 ran")
		f.wantMessages("daily")
	})
	in(t, berlin, "2026-06-01 08:59:00", func(f *fixture) { // before the schedule is stored
		f.setBroken(errors.New("disk full"))
		f.start(daily("0 9 * * *"))
		f.pass(10 * time.Second)
		f.setBroken(nil)
		f.until(berlin, "2026-06-01 09:00:00")
		f.wantMessages("daily")
	})
}

func TestARefusalIsTheReasonOfASkippedOccurrence(t *testing.T) {
	in(t, berlin, "2026-06-01 08:59:00", func(f *fixture) {
		f.start(daily("* * * * *"))
		f.refused = "no such channel is enabled: discord"
		f.until(berlin, "2026-06-01 09:00:00")
		f.mu.Lock()
		f.refused = ""
		f.mu.Unlock()
		f.until(berlin, "2026-06-01 09:01:00")
		f.want("daily", "2026-06-01 09:00:00 skipped no such channel is enabled: discord", "2026-06-01 09:01:00 ran")
	})
}

func TestAReloadLosesNothingThatIsDue(t *testing.T) {
	in(t, berlin, "2026-06-01 08:59:00", func(f *fixture) {
		f.start(daily("0 9 * * *"))
		f.setBadText("daily")
		f.until(berlin, "2026-06-01 09:00:00")
		f.reload(daily("30 9 * * *")) // the occurrence of 9:00 has not run yet
		f.pass(5 * time.Second)
		f.setBadText("")
		f.until(berlin, "2026-06-01 09:30:00")
		f.want("daily", "2026-06-01 09:00:00 ran", "2026-06-01 09:30:00 ran")
		f.reload(nil)
		synctest.Wait()
		wanttest.Equal(f.t, "schedules", len(musttest.Get(f.store.Schedules(f.t.Context()))(f.t)), 0)
		f.pass(24 * time.Hour)
		f.wantMessages("daily", "daily")
	})
}

func TestAReloadTakesEffectThoughASchedulesMessageCannotBeStored(t *testing.T) {
	in(t, berlin, "2026-06-01 08:59:00", func(f *fixture) {
		f.start(daily("0 9 * * *"))
		f.engine.Reload(map[string]schedule.Configured{"daily": {Chat: chat, Spec: schedule.Spec{
			Cron: "0 9 * * *", Timezone: berlin, Text: "bad",
		}}})
		synctest.Wait()
		f.setBadText("bad")
		f.until(berlin, "2026-06-01 09:00:10")
		f.reload(daily("30 9 * * *"))
		f.until(berlin, "2026-06-01 09:30:00")
		f.want("daily", "2026-06-01 09:00:00 skipped the schedule was changed", "2026-06-01 09:30:00 ran")
	})
}

func TestAScheduleThatWasChangedInADowntimeGoesOnFromNow(t *testing.T) {
	in(t, berlin, "2026-06-01 08:00:00", func(f *fixture) {
		f.start(daily("0 9 * * *"))
		f.stop()
		f.until(berlin, "2026-06-01 12:00:00")
		f.start(daily("0 10 * * *"))
		f.pass(24 * time.Hour)
		f.want("daily", "2026-06-01 09:00:00 skipped the schedule was changed", "2026-06-02 10:00:00 ran")
	})
}

func TestYearsOfDowntimeCostLittle(t *testing.T) {
	in(t, berlin, "2020-06-01 08:00:00", func(f *fixture) {
		f.start(daily("* * * * * *"))
		f.stop()
		f.set(berlin, "2026-06-01 08:00:00")
		f.start(daily("* * * * * *"))
		all := musttest.Get(f.store.Occurrences(f.t.Context(), "daily", 2000))(f.t)
		wanttest.Equal(f.t, "stored", len(all), 1000)
		wanttest.Equal(f.t, "the last", all[0].Wall+" "+string(all[0].Outcome), "2026-06-01T08:00:00 caught-up")
		wanttest.Equal(f.t, "the first", all[999].Wall+" "+all[999].Reason, "2026-06-01T07:43:21 "+missed+
			"; the earlier ones since 2020-06-01T08:00:00+02:00 were skipped, too")
		f.wantMessages("daily")
	})
}

func TestASingleTimeRunsOnceOrSaysWhyNot(t *testing.T) {
	at := func(at string) map[string]schedule.Spec {
		return map[string]schedule.Spec{"once": {At: at, Timezone: berlin}}
	}
	in(t, berlin, "2026-06-01 08:59:00", func(f *fixture) {
		f.start(at("2026-06-01T09:00:00.123456789+02:00")) // the store has microseconds
		f.pass(48 * time.Hour)
		f.stop()
		f.start(at("2026-06-01T09:00:00.123456789+02:00"))
		f.pass(48 * time.Hour)
		f.want("once", "2026-06-01 09:00:00 ran")
		wanttest.Equal(f.t, "schedules", len(musttest.Get(f.store.Schedules(f.t.Context()))(f.t)), 1)
	})
	in(t, berlin, "2026-06-01 08:59:00", func(f *fixture) {
		f.start(at("2026-06-01T09:00:00+02:00"))
		f.stop()
		f.pass(48 * time.Hour)
		f.start(at("2026-06-01T09:00:00+02:00"))
		f.want("once", "2026-06-01 09:00:00 caught-up "+missed)
	})
	in(t, berlin, "2026-06-01 09:01:00", func(f *fixture) {
		f.start(at("2026-06-01T09:00:00.5+02:00"))
		f.want("once", "2026-06-01 09:00:00 skipped the time had passed when the schedule was configured")
		f.wantMessages()
	})
}
