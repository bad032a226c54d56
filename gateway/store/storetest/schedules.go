package storetest

import (
	"fmt"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

func (b *fixture) saveSchedule(s store.Schedule, most int) bool {
	b.Helper()
	saved, err := b.SaveSchedule(ctx, s, most)
	b.noError(err)
	return saved
}

func (b *fixture) schedules() []store.Schedule {
	b.Helper()
	all, err := b.Schedules(ctx)
	b.noError(err)
	return all
}

// occurrences returns the outcomes of a schedule's last occurrences with their minutes.
func (b *fixture) occurrences(name string, n int) (texts []string) {
	b.Helper()
	all, err := b.Occurrences(ctx, name, n)
	b.noError(err)
	for _, o := range all {
		texts = append(texts, fmt.Sprintf("%s %s %s", o.Wall, o.Outcome, o.Reason))
	}
	return texts
}

// occurrence returns an occurrence of the schedule s at a minute after noon.
func occurrence(minute int, outcome store.OccurrenceOutcome, reason string) store.Occurrence {
	due := time.Date(2026, 3, 1, 12, minute, 0, 0, time.UTC)
	return store.Occurrence{Schedule: "s", Due: due, Wall: due.Format("15:04"), Outcome: outcome, Reason: reason}
}

var scheduleTests = []contractTest{
	{"a schedule is stored completely, replaced by its name, and removed once", func(b *fixture) {
		s := store.Schedule{Name: "s", Chat: ann, Maker: "8", Spec: `{"cron":"1"}`, Made: b.now(), Accounted: b.now().Add(time.Second)}
		b.saveSchedule(s, 0)
		b.saveSchedule(store.Schedule{Name: "a", Chat: bob, Spec: "{}"}, 0)
		b.reopen()
		b.equal("the schedules", b.schedules(), []store.Schedule{{Name: "a", Chat: bob, Spec: "{}"}, s})
		s.Spec, s.Chat = `{"cron":"2"}`, cid
		b.saveSchedule(s, 0)
		b.equal("the replaced one", b.schedules()[1], s)
		for _, want := range []bool{true, false} {
			removed, err := b.RemoveSchedule(ctx, "s")
			b.noError(err)
			b.equal("removed", removed, want)
		}
		b.equal("the rest", len(b.schedules()), 1)
	}},
	{"people make a bounded number of schedules in a chat", func(b *fixture) {
		b.saveSchedule(store.Schedule{Name: "operator", Chat: ann}, 0)
		b.equal("the first", b.saveSchedule(store.Schedule{Name: "1", Chat: ann, Maker: "8"}, 2), true)
		b.equal("the second", b.saveSchedule(store.Schedule{Name: "2", Chat: ann, Maker: "7"}, 2), true)
		b.equal("the third", b.saveSchedule(store.Schedule{Name: "3", Chat: ann, Maker: "7"}, 2), false)
		b.equal("one that replaces another", b.saveSchedule(store.Schedule{Name: "2", Chat: ann, Maker: "7"}, 2), true)
		b.equal("one in another chat", b.saveSchedule(store.Schedule{Name: "3", Chat: bob, Maker: "7"}, 2), true)
		b.equal("the schedules", len(b.schedules()), 4)
	}},
	{"an occurrence is stored in the transaction of its message, and only once", func(b *fixture) {
		b.saveSchedule(store.Schedule{Name: "s", Chat: ann, Made: b.now()}, 0)
		request := automatic(channels.BySchedule("s"), "go")
		request.Occurrences = []store.Occurrence{occurrence(1, store.Skipped, "down"), occurrence(2, store.CaughtUp, "")}
		i, result := b.receive(request)
		b.equal("the result", result, store.Queued)
		b.reopen()
		b.equal("the occurrences", b.occurrences("s", 9), "[12:02 caught-up  12:01 skipped down]")
		last, err := b.Occurrences(ctx, "s", 1)
		b.noError(err)
		b.equal("the message of the last", last[0].Inbound, i.ID)
		b.equal("the accounted time", b.schedules()[0].Accounted, occurrence(2, "", "").Due)
		request.Occurrences = []store.Occurrence{occurrence(0, store.Skipped, "down"), occurrence(2, store.Ran, "")}
		_, result = b.receive(request)
		b.equal("the result on a duplicate", result, store.Duplicate)
		b.equal("the occurrences", len(b.occurrences("s", 9)), 2)
		b.equal("the queue", b.queueTexts(), "[go]")
	}},
	{"a refused message accounts for nothing", func(b *fixture) {
		b.saveSchedule(store.Schedule{Name: "s", Chat: ann, Made: b.now()}, 0)
		request := automatic(channels.BySchedule("s"), "go")
		request.OriginLimit = 1
		b.receiveAll(request)
		request.Occurrences = []store.Occurrence{occurrence(1, store.Ran, "")}
		_, result := b.receive(request)
		b.equal("the result", result, store.Full)
		b.equal("the occurrences", b.occurrences("s", 9), "[]")
		b.equal("the accounted time", b.schedules()[0].Accounted.IsZero(), true)
	}},
	{"Account stores occurrences without a message, and leaves those that are stored", func(b *fixture) {
		b.saveSchedule(store.Schedule{Name: "s", Chat: ann, Made: b.now()}, 0)
		at := occurrence(3, "", "").Due
		b.noError(b.Account(ctx, "s", at, []store.Occurrence{occurrence(1, store.Skipped, "no such time"), occurrence(3, store.Skipped, "running")}))
		twice := occurrence(1, store.Ran, "")
		twice.Wall = "11:01" // the same time by another clock
		b.noError(b.Account(ctx, "s", at, []store.Occurrence{occurrence(1, store.Ran, ""), twice}))
		b.equal("the occurrences", b.occurrences("s", 9), "[12:03 skipped running 12:01 skipped no such time 11:01 ran ]")
		b.equal("the newest", b.occurrences("s", 1), "[12:03 skipped running]")
		b.equal("the accounted time", b.schedules()[0].Accounted, at)
	}},
	{"the occurrences of a removed schedule are pruned, those of others are bounded", func(b *fixture) {
		b.saveSchedule(store.Schedule{Name: "s", Chat: ann}, 0)
		var many []store.Occurrence
		for i := range 1100 {
			many = append(many, occurrence(i, store.Skipped, "down"))
		}
		b.noError(b.Account(ctx, "s", b.now(), many))
		kept := len(b.occurrences("s", 2000))
		b.equal("enough are kept, and not all", kept >= 100 && kept < 1100, true)
		b.advance(48 * time.Hour)
		b.noError(b.Prune(ctx, store.Retention{Age: time.Hour}))
		b.equal("those of a schedule", len(b.occurrences("s", 2000)), kept)
		_, err := b.RemoveSchedule(ctx, "s")
		b.noError(err)
		b.equal("before the pruning", len(b.occurrences("s", 2000)), kept)
		b.noError(b.Prune(ctx, store.Retention{Age: time.Hour}))
		b.equal("afterwards", b.occurrences("s", 9), "[]")
	}},
}
