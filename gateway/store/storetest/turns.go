package storetest

import (
	"errors"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

var claimTests = []test{
	{"there is nothing to claim in an empty store", func(b *bench) { b.nothingToClaim() }},
	{"a message that is to be claimed runs at once if its chat is idle", func(b *bench) {
		inbound := b.running(ann, "1")
		b.reopen()
		got := b.inbound(inbound.ID)
		got.Token = inbound.Token // which only who claims is told
		b.equal("its state", got.State, store.Running)
		b.equal("its attempt", got.Attempt, 1)
		b.equal("its start", got.Started, b.now())
		b.equal("what was returned", inbound, got)
		b.nothingToClaim()
	}},
	{"a message waits if its chat has something running or pending", func(b *bench) {
		b.running(ann, "1")
		_, result := b.receive(store.ReceiveRequest{In: incoming(ann, "2"), Claim: true})
		b.equal("the result beside a running one", result, store.Queued)
		b.queue(bob, "3")
		_, result = b.receive(store.ReceiveRequest{In: incoming(bob, "4"), Claim: true})
		b.equal("the result behind a pending one", result, store.Queued)
	}},
	{"several chats are claimed in one step, one message each, and no more than were asked for", func(b *bench) {
		b.queue(ann, "1", "2")
		b.queue(bob, "3")
		b.queue(cid, "4")
		for _, want := range []string{"[1 3]", "[4]", "[]"} {
			claimed, err := b.Claim(ctx, 2)
			b.must(err)
			ids := []string{}
			for _, inbound := range claimed {
				ids = append(ids, inbound.In.ID)
				b.equal("its state", b.inbound(inbound.ID).State, store.Running)
			}
			b.equal("the claimed", ids, want)
		}
	}},
	{"a chat's inbounds run in the order they came", func(b *bench) {
		b.queue(ann, "1", "2", "3")
		for _, want := range []string{"1", "2", "3"} {
			inbound := b.claim()
			b.equal("the inbound", inbound.In.ID, want)
			got := b.inbound(inbound.ID)
			got.Token = inbound.Token
			b.equal("what was returned", inbound, got)
			b.done(inbound.ID)
		}
		b.nothingToClaim()
	}},
	{"a chat with a running inbound is passed over", func(b *bench) {
		b.queue(ann, "1", "2")
		b.queue(bob, "3")
		b.equal("the first", b.claim().In.ID, "1")
		b.equal("the second", b.claim().In.ID, "3")
		b.nothingToClaim()
	}},
	{"chats take turns, however much one of them has waiting", func(b *bench) {
		b.queue(ann, "a1", "a2", "a3")
		b.queue(bob, "b1", "b2")
		b.queue(cid, "c1")
		var order []string
		for range 6 {
			inbound := b.claim()
			order = append(order, inbound.In.ID)
			b.done(inbound.ID)
		}
		b.equal("the order", order, "[a1 b1 c1 a2 b2 a3]")
	}},
	{"the line survives a restart", func(b *bench) {
		b.queue(ann, "a1", "a2")
		b.queue(bob, "b1")
		b.done(b.claim().ID)
		b.reopen()
		b.equal("the next", b.claim().In.ID, "b1")
		b.equal("the one after", b.claim().In.ID, "a2")
	}},
}

var finishTests = []test{
	{"the outcome is kept, the process is forgotten", func(b *bench) {
		for _, state := range []store.State{store.Done, store.Interrupted, store.Dead} {
			inbound := b.running(channels.Chat{Channel: "net", ID: string(state)}, "1")
			b.must(b.SetProcess(inbound.ID, store.Process{Pid: 5, Start: "9"}))
			b.pass(time.Second)
			out := store.Outcome{Status: "exited", ExitCode: 3, Signal: "killed", Memory: 5 << 30, CPU: 1500 * time.Microsecond}
			b.must(b.finish(inbound.ID, state, out))
			b.reopen()
			got := b.inbound(inbound.ID)
			b.equal("the state", got.State, state)
			b.equal("the end", got.Ended, b.now())
			b.equal("the start", got.Started, inbound.Started)
			b.equal("the outcome", got.Outcome, out)
			b.equal("the process", got.Process, store.Process{})
		}
	}},
	{"it is said whether the chat has more to do", func(b *bench) {
		first := b.running(ann, "1")
		b.queue(ann, "2")
		next, err := b.Finish(ctx, first.ID, store.Done, store.Outcome{})
		b.must(err)
		b.equal("more after the first", next, true)
		next, err = b.Finish(ctx, b.claim().ID, store.Done, store.Outcome{})
		b.must(err)
		b.equal("more after the last", next, false)
		b.nothingToClaim()
	}},
	{"inbounds that were worked on with it end with it, and are part of the conversation", func(b *bench) {
		inbound := b.running(ann, "1")
		more := b.queue(ann, "2", "3")
		other := b.queue(bob, "4")[0]
		next, err := b.Finish(ctx, inbound.ID, store.Done, store.Outcome{Status: "done"}, more[0].ID, other.ID, 99)
		b.must(err)
		b.equal("more to do", next, true)
		b.reopen()
		with := b.inbound(more[0].ID)
		b.equal("the state", with.State, store.Done)
		b.equal("the end", with.Ended, b.now())
		b.equal("the outcome", with.Outcome.Status, "done")
		b.equal("another chat's", b.inbound(other.ID).State, store.Pending)
		b.equal("the history", b.said(ann, 9), "[user: 1 user: 2]")
		b.equal("the next", []string{b.claim().In.ID, b.claim().In.ID}, "[4 3]")
	}},
	{"only a running inbound can end, and only once", func(b *bench) {
		pending := b.queue(ann, "1")[0]
		b.refused(b.finish(pending.ID, store.Done, store.Outcome{}))
		b.refused(b.finish(99, store.Done, store.Outcome{}))
		b.done(b.claim().ID)
		b.refused(b.finish(pending.ID, store.Dead, store.Outcome{}))
	}},
	{"an inbound cannot end as something that is no end", func(b *bench) {
		inbound := b.running(ann, "1")
		for _, s := range []store.State{store.Pending, store.Running, store.Sent, "nonsense"} {
			b.refused(b.finish(inbound.ID, s, store.Outcome{}))
		}
		b.equal("the state", b.inbound(inbound.ID).State, store.Running)
	}},
	{"what is marked running after a restart is adopted, oldest first", func(b *bench) {
		b.running(ann, "1")
		b.running(bob, "2")
		b.queue(ann, "3")
		b.done(b.running(cid, "4").ID)
		b.reopen()
		inbounds := b.adopt().Inbounds
		b.equal("how many", len(inbounds), 2)
		b.equal("the adopted", []string{inbounds[0].In.ID, inbounds[1].In.ID}, "[1 2]")
	}},
}

var restartTests = []test{
	{"an inbound that is running, interrupted or done runs again, as the next attempt", func(b *bench) {
		inbound := b.running(ann, "1")
		for attempt, end := range []store.State{store.Running, store.Interrupted, store.Done} {
			if end == store.Running {
				b.must(b.Requeue(ctx, inbound.ID, false))
			} else {
				b.must(b.finish(inbound.ID, end, store.Outcome{Status: "x", ExitCode: 1}))
				b.must(b.Restart(ctx, inbound.ID))
			}
			b.reopen()
			got := b.inbound(inbound.ID)
			b.equal("the state", got.State, store.Pending)
			b.equal("the outcome", got.Outcome, store.Outcome{})
			b.equal("start and end", []bool{got.Started.IsZero(), got.Ended.IsZero()}, "[true true]")
			again := b.claim()
			b.equal("the inbound", again.ID, inbound.ID)
			b.equal("the attempt", again.Attempt, attempt+2)
		}
	}},
	{"an attempt that had not begun does not count", func(b *bench) {
		inbound := b.running(ann, "1")
		b.must(b.Requeue(ctx, inbound.ID, true))
		again := b.claim()
		b.equal("the inbound and the attempt", []int64{again.ID - inbound.ID, int64(again.Attempt)}, "[0 1]")
	}},
	{"it comes ahead of the others of its chat", func(b *bench) {
		inbound := b.running(ann, "1")
		b.queue(ann, "2", "3")
		b.must(b.Requeue(ctx, inbound.ID, false))
		b.equal("the next", b.claim().In.ID, "1")
		b.nothingToClaim()
	}},
	{"it waits while another of its chat is running", func(b *bench) {
		first := b.running(ann, "1")
		b.done(first.ID)
		second := b.running(ann, "2")
		b.must(b.Restart(ctx, first.ID))
		b.nothingToClaim()
		b.done(second.ID)
		b.equal("the next", b.claim().ID, first.ID)
	}},
	{"only an ended inbound can be restarted, only a running one requeued", func(b *bench) {
		running := b.running(bob, "0")
		b.refused(b.Restart(ctx, running.ID))
		b.done(running.ID)
		b.refused(b.Requeue(ctx, running.ID, false))
		inbound := b.queue(ann, "1")[0]
		b.refused(b.Restart(ctx, inbound.ID))
		_, err := b.Cancel(ctx, ann, inbound.ID)
		b.must(err)
		b.refused(b.Restart(ctx, inbound.ID))
		b.refused(b.Restart(ctx, 99))
		b.nothingToClaim()
	}},
}

var cancelTests = []test{
	{"all that is pending of a chat dies, nothing else", func(b *bench) {
		run := b.running(ann, "1")
		inbounds := b.queue(ann, "2", "3")
		other := b.queue(bob, "4")[0]
		b.equal("how many", b.cancel(ann, 0), 2)
		b.reopen()
		b.adopt()
		b.equal("the running one", b.inbound(run.ID).State, store.Running)
		b.equal("a pending one", b.inbound(inbounds[0].ID).State, store.Dead)
		b.equal("its end", b.inbound(inbounds[0].ID).Ended, b.now())
		b.equal("the next", b.claim().ID, other.ID)
		b.done(run.ID)
		b.nothingToClaim()
	}},
	{"one inbound dies, its chat goes on", func(b *bench) {
		inbounds := b.queue(ann, "1", "2")
		b.equal("how many", b.cancel(ann, inbounds[0].ID), 1)
		b.equal("the next", b.claim().In.ID, "2")
	}},
	{"an inbound of another chat, or one that is not pending, is left alone", func(b *bench) {
		pending := b.queue(ann, "1")[0]
		run := b.running(bob, "2")
		b.equal("how many", b.cancel(bob, pending.ID), 0)
		b.equal("how many", b.cancel(bob, run.ID), 0)
		b.equal("how many", b.cancel(cid, 0), 0)
		b.equal("the next", b.claim().In.ID, "1")
	}},
	{"a chat whose last pending inbound died is idle again", func(b *bench) {
		b.queue(ann, "1")
		b.cancel(ann, 0)
		b.nothingToClaim()
		b.running(ann, "2")
	}},
}

var queueTests = []test{
	{"the queue of a chat has what is pending, in the order of the turns", func(b *bench) {
		b.running(ann, "1")
		b.queue(ann, "2", "3", "4")
		b.queue(bob, "5")
		for n, want := range map[int][]string{9: {"2", "3", "4"}, 2: {"2", "3"}} {
			queue, err := b.Queue(ctx, ann, n)
			b.must(err)
			ids := []string{}
			for _, inbound := range queue {
				ids = append(ids, inbound.In.ID)
			}
			b.equal("the queue", ids, want)
		}
	}},
	{"a pending inbound is settled without a turn, and stays known", func(b *bench) {
		run := b.running(ann, "1")
		inbounds := b.queue(ann, "2", "3")
		b.must(b.SettlePending(ctx, inbounds[0].ID))
		b.reopen()
		b.adopt()
		settled := b.inbound(inbounds[0].ID)
		b.equal("its state", settled.State, store.Done)
		b.equal("its end", settled.Ended, b.now())
		b.equal("its start", settled.Started.IsZero(), true)
		b.equal("it is known", b.known(ann, "2"), true)
		b.equal("how many wait", b.waiting(ann), 1)
		b.done(run.ID)
		b.equal("the next", b.claim().In.ID, "3")
	}},
	{"a chat whose last pending inbound was settled is idle again", func(b *bench) {
		b.must(b.SettlePending(ctx, b.queue(ann, "1")[0].ID))
		b.nothingToClaim()
		b.running(ann, "2")
	}},
	{"an inbound that is not pending is not settled", func(b *bench) {
		run := b.running(ann, "1")
		b.refused(b.SettlePending(ctx, run.ID))
		b.done(run.ID)
		b.refused(b.SettlePending(ctx, run.ID))
		b.refused(b.SettlePending(ctx, 99))
	}},
}

var noteTests = []test{
	{"a process is there after a restart", func(b *bench) {
		inbound := b.running(ann, "1")
		b.must(b.SetProcess(inbound.ID, store.Process{Pid: 123, Start: "456"}))
		b.reopen()
		inbounds := b.adopt().Inbounds
		b.equal("the process", inbounds[0].Process, store.Process{Pid: 123, Start: "456"})
	}},
	{"transients are there after a restart, and after the end of their inbounds, until they are dropped", func(b *bench) {
		inbound := b.running(ann, "1")
		one, two := store.Transient{Chat: ann, ID: "77", Inbound: inbound.ID}, store.Transient{Chat: ann, ID: "78", Inbound: inbound.ID}
		b.must(b.AddTransient(ctx, one))
		b.must(b.AddTransient(ctx, two))
		b.must(b.AddTransient(ctx, two))
		b.must(b.AddTransient(ctx, store.Transient{Chat: bob, ID: "77", Inbound: 9}))
		b.done(inbound.ID)
		b.reopen()
		b.equal("the transients", b.transients(), []store.Transient{one, two, {Chat: bob, ID: "77", Inbound: 9}})
		b.must(b.DropTransient(ctx, one))
		b.must(b.DropTransient(ctx, one))
		b.equal("the transients", b.transients(), []store.Transient{two, {Chat: bob, ID: "77", Inbound: 9}})
	}},
	{"a part that takes the place of a transient is all that knows of it, in the same step", func(b *bench) {
		inbound := b.running(ann, "1")
		for _, id := range []string{"77", "78", "79"} {
			b.must(b.AddTransient(ctx, store.Transient{Chat: ann, ID: id, Inbound: inbound.ID}))
		}
		l := store.Outbound{Inbound: inbound.ID, Sequence: 1, Parts: parts(ann, "one", "two")}
		l.Parts[0].Replace, l.Parts[1].Replace = "77", "78"
		b.enqueue(l)
		b.reopen()
		b.equal("the transients", b.transients(), []store.Transient{{Chat: ann, ID: "79", Inbound: inbound.ID}})
		b.equal("the place that it takes", b.next(ann).Out.Replace, "77")
	}},
	{"what was said by an earlier attempt takes no transient's place again, and its transient stays to be removed", func(b *bench) {
		inbound := b.running(ann, "1")
		b.enqueue(store.Outbound{Inbound: inbound.ID, Sequence: 1, Parts: parts(ann, "one")})
		b.equal("what is sent", b.sendAll(ann), "[one]")
		b.must(b.Requeue(ctx, inbound.ID, false))
		b.claim()
		again := store.Transient{Chat: ann, ID: "77", Inbound: inbound.ID}
		b.must(b.AddTransient(ctx, again))
		l := store.Outbound{Inbound: inbound.ID, Sequence: 1, Parts: parts(ann, "one")}
		l.Parts[0].Replace = again.ID
		b.enqueue(l)
		b.nothingToSend(ann)
		b.equal("the transients", b.transients(), []store.Transient{again})
	}},
	{"an inbound without a process has the start of the gateway that left it", func(b *bench) {
		b.must(b.SetProcess(0, store.Process{Pid: 7, Start: "then"}))
		with, without := b.running(ann, "1"), b.running(bob, "2")
		b.must(b.SetProcess(with.ID, store.Process{Pid: 123, Start: "456"}))
		b.reopen()
		inbounds := b.adopt().Inbounds
		b.equal("the one with", inbounds[0].Process, store.Process{Pid: 123, Start: "456"})
		b.equal("the one without", inbounds[1].Process, store.Process{Start: "then"})
		b.equal("which is", inbounds[1].ID, without.ID)
	}},
	{"the process of an earlier crash is not taken for that of a later one", func(b *bench) {
		inbound := b.running(ann, "1")
		b.must(b.SetProcess(inbound.ID, store.Process{Pid: 123, Start: "456"}))
		b.must(b.SetProcess(99, store.Process{Pid: 124, Start: "457"})) // of one that is not running any more
		b.reopen()
		b.adopt()
		b.must(b.finish(inbound.ID, store.Interrupted, store.Outcome{}))
		b.reopen()
		b.adopt()
		b.must(b.Restart(ctx, inbound.ID))
		b.claim()
		b.reopen()
		inbounds := b.adopt().Inbounds
		b.equal("the process", inbounds[0].Process, store.Process{})
	}},
	{"a process is forgotten when its inbound runs again", func(b *bench) {
		inbound := b.running(ann, "1")
		b.must(b.SetProcess(inbound.ID, store.Process{Pid: 123, Start: "456"}))
		b.must(b.Requeue(ctx, inbound.ID, false))
		b.equal("the inbound", b.claim().ID, inbound.ID)
		b.reopen()
		inbounds := b.adopt().Inbounds
		b.equal("the process", inbounds[0].Process, store.Process{})
	}},
}

func (b *bench) transients() []store.Transient {
	b.Helper()
	transients, err := b.Transients(ctx)
	b.must(err)
	return transients
}

func (b *bench) refused(err error) {
	b.Helper()
	if !errors.Is(err, store.ErrState) {
		b.Fatalf("got %v, want ErrState", err)
	}
}

func (b *bench) cancel(chat channels.Chat, id int64) int {
	b.Helper()
	n, err := b.Cancel(ctx, chat, id)
	b.must(err)
	return n
}
