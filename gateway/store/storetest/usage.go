package storetest

import (
	"fmt"
	"strings"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

var usageTests = []contractTest{
	{"a turn counts for its person, chat, agent and models", func(b *fixture) {
		used := store.TurnUsage{Took: 1500 * time.Millisecond, Models: []store.ModelUsage{
			{Model: "big", InputTokens: 100, OutputTokens: 10, Cost: 0.25}, {Model: "small", InputTokens: 1, OutputTokens: 2, Cost: 0.5},
		}}
		b.finishUsed(b.receiveClaimed(ann, "1"), store.Outcome{Agent: "coder", Usage: &used})
		b.finishUsed(b.receiveClaimed(ann, "2"), store.Outcome{Usage: &used})
		b.reopen()
		b.equal("by user", b.usage(store.UsageByUser), "net:7 2 3s 202 24 1.5")
		b.equal("by chat", b.usage(store.UsageByChat), "net:ann 2 3s 202 24 1.5")
		b.equal("by agent", b.usage(store.UsageByAgent), "coder 1 1.5s 101 12 0.75, default 1 1.5s 101 12 0.75")
		b.equal("by model", b.usage(store.UsageByModel), "big 2 3s 200 20 0.5, small 0 0s 2 4 1")
		b.equal("by time", b.usage(store.UsageByTime), "2026-03-01T12:00:00Z 2 3s 202 24 1.5")
	}},
	{"a turn without reported usage counts with its time", func(b *fixture) {
		b.finishUsed(b.receiveClaimed(ann, "1"), store.Outcome{Usage: &store.TurnUsage{Took: time.Second}})
		b.finishDone(b.receiveClaimed(ann, "uncounted").ID)
		b.equal("by model", b.usage(store.UsageByModel), " 1 1s 0 0 0")
	}},
	{"a message that nobody has typed counts for no user", func(b *fixture) {
		in := incoming(ann, "1")
		in.Origin, in.Maker = channels.BySchedule("daily"), "7"
		inbound, _ := b.receive(store.ReceiveRequest{In: in, Claim: true})
		b.finishUsed(inbound, store.Outcome{Usage: &store.TurnUsage{}})
		b.equal("by user", b.usage(store.UsageByUser), " 1 0s 0 0 0")
		b.equal("by chat", b.usage(store.UsageByChat), "net:ann 1 0s 0 0 0")
	}},
	{"a turn that cannot end again is not counted again, and one that runs again is", func(b *fixture) {
		inbound := b.receiveClaimed(ann, "1")
		out := store.Outcome{Status: "done", Usage: &store.TurnUsage{Took: time.Second}}
		b.finishUsed(inbound, out)
		b.checkErrState(b.tryFinish(inbound.ID, store.Done, out))
		b.equal("once", b.usage(store.UsageByUser), "net:7 1 1s 0 0 0")
		b.noError(b.Restart(ctx, inbound.ID))
		b.finishUsed(b.claimOne(), out)
		b.equal("again", b.usage(store.UsageByUser), "net:7 2 2s 0 0 0")
	}},
	{"usage is summed since a time and of a user", func(b *fixture) {
		began := b.now()
		b.finishUsed(b.receiveClaimed(ann, "1"), store.Outcome{Usage: &store.TurnUsage{}})
		b.advance(store.UsageStep)
		other := incoming(bob, "1")
		other.User.ID = "8"
		inbound, _ := b.receive(store.ReceiveRequest{In: other, Claim: true})
		b.finishUsed(inbound, store.Outcome{Usage: &store.TurnUsage{}})
		sum := func(f store.UsageFilter) string { return b.usageOf(store.UsageByUser, f) }
		b.equal("all", sum(store.UsageFilter{Since: began}), "net:7 1 0s 0 0 0, net:8 1 0s 0 0 0")
		b.equal("of the second interval", sum(store.UsageFilter{Since: began.Add(time.Minute)}), "net:8 1 0s 0 0 0")
		b.equal("of one", sum(store.UsageFilter{User: "net:7"}), "net:7 1 0s 0 0 0")
		b.equal("of nobody", sum(store.UsageFilter{User: "net:9"}), "")
	}},
	{"old usage is merged into days of a time zone, and then deleted", func(b *fixture) {
		zone := time.FixedZone("", -13*60*60) // it is 23:00 on the day before
		out := store.Outcome{Usage: &store.TurnUsage{Took: time.Second, Models: []store.ModelUsage{{Model: "m", InputTokens: 1, Cost: 0.5}}}}
		for day := range 2 {
			for n := range 3 {
				b.finishUsed(b.receiveClaimed(ann, fmt.Sprint(day, n)), out)
				b.advance(store.UsageStep)
			}
			b.noError(b.Prune(ctx, store.Retention{Zone: zone}))
			b.advance(time.Hour)
		}
		b.equal("the intervals", len(strings.Split(b.usage(store.UsageByTime), ", ")), 6)
		b.advance(store.UsageDetail)
		for range 2 {
			b.noError(b.Prune(ctx, store.Retention{Zone: zone}))
		}
		b.reopen()
		b.equal("the days", b.usage(store.UsageByTime), "2026-02-28T13:00:00Z 3 3s 3 0 1.5, 2026-03-01T13:00:00Z 3 3s 3 0 1.5")
		b.equal("by user", b.usage(store.UsageByUser), "net:7 6 6s 6 0 3")
		const age = 400 * 24 * time.Hour
		b.advance(age - store.UsageDetail - 48*time.Hour)
		b.noError(b.Prune(ctx, store.Retention{Usage: age}))
		b.equal("before the end of its time", b.usage(store.UsageByUser), "net:7 6 6s 6 0 3")
		b.advance(72 * time.Hour)
		b.noError(b.Prune(ctx, store.Retention{}))
		b.equal("without a limit", b.usage(store.UsageByUser), "net:7 6 6s 6 0 3")
		b.noError(b.Prune(ctx, store.Retention{Usage: age}))
		b.equal("after it", b.usage(store.UsageByUser), "")
	}},
}

func (b *fixture) finishUsed(inbound store.Inbound, out store.Outcome) {
	b.Helper()
	b.noError(b.tryFinish(inbound.ID, store.Done, out))
}

// usage returns the sums of all usage as text.
func (b *fixture) usage(by store.UsageKey) string {
	b.Helper()
	return b.usageOf(by, store.UsageFilter{})
}

func (b *fixture) usageOf(by store.UsageKey, f store.UsageFilter) string {
	b.Helper()
	all, err := b.SumUsage(ctx, by, f)
	b.noError(err)
	var texts []string
	for _, s := range all {
		texts = append(texts, fmt.Sprintf("%s %d %s %d %d %v", s.Key, s.Turns, s.Took, s.InputTokens, s.OutputTokens, s.Cost))
	}
	return strings.Join(texts, ", ")
}
