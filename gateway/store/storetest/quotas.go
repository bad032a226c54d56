package storetest

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// someTurns is a quota of turns of a person.
func someTurns(limit float64) store.Quota {
	return store.Quota{Rule: "turns/user", Subject: "net:7", Unit: store.QuotaTurns, Limit: limit}
}

var quotaTests = []contractTest{
	{"a quota of turns admits no more than its limit, and says so once a chat", func(b *fixture) {
		q := someTurns(5)
		var got []string
		for n := range 7 {
			inbound := b.receiveClaimed(ann, fmt.Sprint(n))
			got = append(got, b.count(inbound.ID, q))
			b.endAdmitted(inbound.ID, nil)
		}
		b.equal("in one chat", strings.Join(got, ", "), "yes, yes, yes, yes 0:4, yes, no 0:5, no")
		b.equal("in another one", b.count(b.receiveClaimed(bob, "1").ID, q), "no 0:5")
	}},
	{"a message is admitted again until it has ended", func(b *fixture) {
		inbound := b.receiveClaimed(ann, "1")
		b.equal("first", b.count(inbound.ID, someTurns(1)), "yes 0:1")
		b.noError(b.Requeue(ctx, inbound.ID, false))
		b.reopen()
		inbound = b.claimOne()
		b.equal("again", b.count(inbound.ID, someTurns(1)), "yes 0:1")
		b.noError(b.tryFinish(inbound.ID, store.Done, store.Outcome{Usage: &store.TurnUsage{}}))
		b.noError(b.Restart(ctx, inbound.ID))
		b.equal("as another turn", b.count(b.claimOne().ID, someTurns(1)), "no 0:1")
	}},
	{"the seconds and the dollars of a turn count when it ends", func(b *fixture) {
		seconds := store.Quota{Rule: "seconds/chat", Subject: ann.String(), Unit: store.QuotaSeconds, Limit: 10}
		cost := store.Quota{Rule: "cost/agent", Subject: "default", Unit: store.QuotaCost, Limit: 0.3}
		for n, want := range []string{"yes", "yes", "yes 1:8", "no 0:0.3"} {
			inbound := b.receiveClaimed(ann, fmt.Sprint(n))
			got := b.count(inbound.ID, cost, seconds)
			b.equal(fmt.Sprint("turn ", n), got, want)
			b.endAdmitted(inbound.ID, &store.TurnUsage{Took: 4 * time.Second, Models: []store.ModelUsage{{Cost: 0.1}}})
		}
	}},
	{"a turn whose agent was not started is given back, one that the end of the daemon has cut off is not", func(b *fixture) {
		q := someTurns(1)
		inbound := b.receiveClaimed(ann, "1")
		b.count(inbound.ID, q)
		b.noError(b.tryFinish(inbound.ID, store.Done, store.Outcome{}))
		inbound = b.receiveClaimed(ann, "2")
		b.equal("after one without an agent", b.count(inbound.ID, q), "yes")
		b.noError(b.tryFinish(inbound.ID, store.Interrupted, store.Outcome{}))
		b.equal("after one that was cut off", b.count(b.receiveClaimed(ann, "3").ID, q), "no 0:1")
	}},
	{"a refused message counts for none of its quotas", func(b *fixture) {
		b.admitted("1", someTurns(1))
		other := store.Quota{Rule: "turns/chat", Subject: "c", Unit: store.QuotaTurns, Limit: 2}
		b.equal("refused", b.count(b.receiveClaimed(bob, "2").ID, other, someTurns(1)), "no 1:1")
		b.equal("the other quota", b.count(b.receiveClaimed(channels.Chat{Channel: "net", ID: "x"}, "1").ID, other), "yes")
	}},
	{"the limit may change, and the same rule with two limits counts once", func(b *fixture) {
		b.admitted("1", someTurns(3))
		b.admitted("2", someTurns(3), someTurns(4))
		b.equal("lowered", b.count(b.receiveClaimed(bob, "3").ID, someTurns(2)), "no 0:2")
		b.admitted("3", someTurns(3))
	}},
	{"a day begins at midnight of a zone", func(b *fixture) {
		zone := time.FixedZone("", -11*60*60-30*60) // it is half past midnight
		admit := func(id string) bool {
			inbound := b.receiveClaimed(ann, id)
			a, err := b.AdmitTurn(ctx, inbound.ID, []store.Quota{someTurns(1)}, zone)
			b.noError(err)
			b.endAdmitted(inbound.ID, &store.TurnUsage{})
			return a.Admitted
		}
		got := []bool{admit("1"), admit("2")}
		b.advance(23*time.Hour + 29*time.Minute)
		got = append(got, admit("3"))
		b.advance(time.Minute)
		got = append(got, admit("4"), admit("5"))
		b.noError(b.Prune(ctx, store.Retention{}))
		got = append(got, admit("6"))
		b.equal("admitted", got, []bool{true, false, false, true, false, false})
	}},
	{"members together run never one more at the same time than a quota allows", func(b *fixture) {
		const n, limit = 32, 11
		members := []*fixture{b, b.openSecond()}
		var ids []int64
		for i := range n {
			ids = append(ids, members[i/2%2].receiveClaimed(channels.Chat{Channel: "net", ID: fmt.Sprint("c", i)}, "1").ID)
		}
		var admitted, told atomic.Int64
		var wait sync.WaitGroup
		for i, id := range ids {
			all := []store.Quota{someTurns(limit), {Rule: "turns/agent", Subject: "default", Unit: store.QuotaTurns, Limit: limit}}
			if i%2 == 0 {
				all[0], all[1] = all[1], all[0]
			}
			wait.Go(func() {
				member := members[i/2%2]
				a, err := member.AdmitTurn(ctx, id, all, nil)
				if err != nil {
					b.Error(err)
				}
				if a.Admitted {
					admitted.Add(1)
				}
				if len(a.Tell) > 0 {
					told.Add(1)
				}
				out := store.Outcome{Usage: &store.TurnUsage{Took: time.Second}}
				if _, err := member.Finish(ctx, id, store.Done, out); err != nil {
					b.Error(err)
				}
			})
		}
		wait.Wait()
		b.equal("admitted", admitted.Load(), int64(limit))
		b.equal("told that the end is near, or reached", told.Load(), int64(n-8))
	}},
	{"a refused message can be started again", func(b *fixture) {
		b.admitted("1", someTurns(1))
		refused := b.receiveClaimed(ann, "2")
		b.equal("on the first day", b.count(refused.ID, someTurns(1)), "no 0:1")
		b.noError(b.tryFinish(refused.ID, store.Dead, store.Outcome{Status: store.OverQuota}))
		b.advance(24 * time.Hour)
		b.noError(b.Restart(ctx, refused.ID))
		b.equal("on the second day", b.count(b.claimOne().ID, someTurns(1)), "yes 0:1")
	}},
	{"only the member that runs a message has it admitted", func(b *fixture) {
		inbound := b.receiveClaimed(ann, "1")
		b.noError(b.tryFinish(inbound.ID, store.Done, store.Outcome{}))
		_, err := b.AdmitTurn(ctx, inbound.ID, []store.Quota{someTurns(1)}, nil)
		b.checkErrState(err)
	}},
}

// count admits a message, and returns whether that was done and what the chat is to be told.
func (b *fixture) count(id int64, quotas ...store.Quota) string {
	b.Helper()
	a, err := b.AdmitTurn(ctx, id, quotas, nil)
	b.noError(err)
	text := map[bool]string{true: "yes", false: "no"}[a.Admitted]
	for _, used := range a.Tell {
		text += fmt.Sprintf(" %d:%.4g", used.Quota, used.Used)
	}
	return text
}

// admitted has a new message of ann admitted and ended.
func (b *fixture) admitted(id string, quotas ...store.Quota) {
	b.Helper()
	inbound := b.receiveClaimed(ann, id)
	if got := b.count(inbound.ID, quotas...); !strings.HasPrefix(got, "yes") {
		b.Errorf("message %s: %s", id, got)
	}
	b.endAdmitted(inbound.ID, nil)
}

// endAdmitted ends a message, whose agent has run if it was admitted.
func (b *fixture) endAdmitted(id int64, used *store.TurnUsage) {
	b.Helper()
	if used == nil {
		used = &store.TurnUsage{}
	}
	b.noError(b.tryFinish(id, store.Done, store.Outcome{Usage: used}))
}
