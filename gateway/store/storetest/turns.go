package storetest

import (
	"errors"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

var claimTests = []test{
	{"there is nothing to claim in an empty store", func(b *bench) { b.nothingToClaim() }},
	{"an arrival that asks for it runs at once if its chat is idle", func(b *bench) {
		item := b.running(ann, "1")
		b.reopen()
		got := b.item(item.ID)
		b.equal("its state", got.State, store.Running)
		b.equal("its attempt", got.Attempt, 1)
		b.equal("its start", got.Started, b.now())
		b.equal("what was returned", item, got)
		b.nothingToClaim()
	}},
	{"an arrival waits if its chat has something running or pending", func(b *bench) {
		b.running(ann, "1")
		_, verdict := b.receive(store.Arrival{In: incoming(ann, "2"), Claim: true})
		b.equal("the verdict beside a running one", verdict, store.Queued)
		b.queue(bob, "3")
		_, verdict = b.receive(store.Arrival{In: incoming(bob, "4"), Claim: true})
		b.equal("the verdict behind a pending one", verdict, store.Queued)
	}},
	{"a chat's items run in the order they came", func(b *bench) {
		b.queue(ann, "1", "2", "3")
		for _, want := range []string{"1", "2", "3"} {
			item := b.claim()
			b.equal("the item", item.In.ID, want)
			b.equal("what was returned", item, b.item(item.ID))
			b.done(item.ID)
		}
		b.nothingToClaim()
	}},
	{"a chat with a running item is passed over", func(b *bench) {
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
			item := b.claim()
			order = append(order, item.In.ID)
			b.done(item.ID)
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
			item := b.running(channels.Chat{Channel: "net", ID: string(state)}, "1")
			b.must(b.SetProcess(item.ID, store.Process{Pid: 5, Start: "9"}))
			b.pass(time.Second)
			out := store.Outcome{Status: "exited", ExitCode: 3, Signal: "killed", Memory: 5 << 30, CPU: 1500 * time.Microsecond}
			b.must(b.finish(item.ID, state, out))
			b.reopen()
			got := b.item(item.ID)
			b.equal("the state", got.State, state)
			b.equal("the end", got.Ended, b.now())
			b.equal("the start", got.Started, item.Started)
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
	{"items that were worked on with it end with it, and are part of the conversation", func(b *bench) {
		item := b.running(ann, "1")
		more := b.queue(ann, "2", "3")
		other := b.queue(bob, "4")[0]
		next, err := b.Finish(ctx, item.ID, store.Done, store.Outcome{Status: "done"}, more[0].ID, other.ID, 99)
		b.must(err)
		b.equal("more to do", next, true)
		b.reopen()
		with := b.item(more[0].ID)
		b.equal("the state", with.State, store.Done)
		b.equal("the end", with.Ended, b.now())
		b.equal("the outcome", with.Outcome.Status, "done")
		b.equal("another chat's", b.item(other.ID).State, store.Pending)
		b.equal("the history", b.said(ann, 9), "[user: 1 user: 2]")
		b.equal("the next", []string{b.claim().In.ID, b.claim().In.ID}, "[4 3]")
	}},
	{"only a running item can end, and only once", func(b *bench) {
		pending := b.queue(ann, "1")[0]
		b.refused(b.finish(pending.ID, store.Done, store.Outcome{}))
		b.refused(b.finish(99, store.Done, store.Outcome{}))
		b.done(b.claim().ID)
		b.refused(b.finish(pending.ID, store.Dead, store.Outcome{}))
	}},
	{"an item cannot end as something that is no end", func(b *bench) {
		item := b.running(ann, "1")
		for _, s := range []store.State{store.Pending, store.Running, store.Sent, "nonsense"} {
			b.refused(b.finish(item.ID, s, store.Outcome{}))
		}
		b.equal("the state", b.item(item.ID).State, store.Running)
	}},
	{"what is marked running after a restart is stranded, oldest first", func(b *bench) {
		b.running(ann, "1")
		b.running(bob, "2")
		b.queue(ann, "3")
		b.done(b.running(cid, "4").ID)
		b.reopen()
		items, err := b.Stranded(ctx)
		b.must(err)
		b.equal("how many", len(items), 2)
		b.equal("the stranded", []string{items[0].In.ID, items[1].In.ID}, "[1 2]")
	}},
}

var restartTests = []test{
	{"an item that is running, interrupted or done runs again, as the next attempt", func(b *bench) {
		item := b.running(ann, "1")
		for attempt, end := range []store.State{store.Running, store.Interrupted, store.Done} {
			if end == store.Running {
				b.must(b.Requeue(ctx, item.ID, false))
			} else {
				b.must(b.finish(item.ID, end, store.Outcome{Status: "x", ExitCode: 1}))
				b.must(b.Restart(ctx, item.ID))
			}
			b.reopen()
			got := b.item(item.ID)
			b.equal("the state", got.State, store.Pending)
			b.equal("the outcome", got.Outcome, store.Outcome{})
			b.equal("start and end", []bool{got.Started.IsZero(), got.Ended.IsZero()}, "[true true]")
			again := b.claim()
			b.equal("the item", again.ID, item.ID)
			b.equal("the attempt", again.Attempt, attempt+2)
		}
	}},
	{"an attempt that had not begun does not count", func(b *bench) {
		item := b.running(ann, "1")
		b.must(b.Requeue(ctx, item.ID, true))
		again := b.claim()
		b.equal("the item and the attempt", []int64{again.ID - item.ID, int64(again.Attempt)}, "[0 1]")
	}},
	{"it comes ahead of the others of its chat", func(b *bench) {
		item := b.running(ann, "1")
		b.queue(ann, "2", "3")
		b.must(b.Requeue(ctx, item.ID, false))
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
	{"only an ended item can be restarted, only a running one requeued", func(b *bench) {
		running := b.running(bob, "0")
		b.refused(b.Restart(ctx, running.ID))
		b.done(running.ID)
		b.refused(b.Requeue(ctx, running.ID, false))
		item := b.queue(ann, "1")[0]
		b.refused(b.Restart(ctx, item.ID))
		_, err := b.Cancel(ctx, ann, item.ID)
		b.must(err)
		b.refused(b.Restart(ctx, item.ID))
		b.refused(b.Restart(ctx, 99))
		b.nothingToClaim()
	}},
}

var cancelTests = []test{
	{"all that is pending of a chat dies, nothing else", func(b *bench) {
		run := b.running(ann, "1")
		items := b.queue(ann, "2", "3")
		other := b.queue(bob, "4")[0]
		b.equal("how many", b.cancel(ann, 0), 2)
		b.reopen()
		b.equal("the running one", b.item(run.ID).State, store.Running)
		b.equal("a pending one", b.item(items[0].ID).State, store.Dead)
		b.equal("its end", b.item(items[0].ID).Ended, b.now())
		b.equal("the next", b.claim().ID, other.ID)
		b.done(run.ID)
		b.nothingToClaim()
	}},
	{"one item dies, its chat goes on", func(b *bench) {
		items := b.queue(ann, "1", "2")
		b.equal("how many", b.cancel(ann, items[0].ID), 1)
		b.equal("the next", b.claim().In.ID, "2")
	}},
	{"an item of another chat, or one that is not pending, is left alone", func(b *bench) {
		pending := b.queue(ann, "1")[0]
		run := b.running(bob, "2")
		b.equal("how many", b.cancel(bob, pending.ID), 0)
		b.equal("how many", b.cancel(bob, run.ID), 0)
		b.equal("how many", b.cancel(cid, 0), 0)
		b.equal("the next", b.claim().In.ID, "1")
	}},
	{"a chat whose last pending item died is idle again", func(b *bench) {
		b.queue(ann, "1")
		b.cancel(ann, 0)
		b.nothingToClaim()
		b.running(ann, "2")
	}},
}

var noteTests = []test{
	{"a process is there after a restart", func(b *bench) {
		item := b.running(ann, "1")
		b.must(b.SetProcess(item.ID, store.Process{Pid: 123, Start: "456"}))
		b.reopen()
		items, err := b.Stranded(ctx)
		b.must(err)
		b.equal("the process", items[0].Process, store.Process{Pid: 123, Start: "456"})
	}},
	{"bubbles are there after a restart, and after the end of their items, until they are dropped", func(b *bench) {
		item := b.running(ann, "1")
		one, two := store.Bubble{Chat: ann, ID: "77", Item: item.ID}, store.Bubble{Chat: ann, ID: "78", Item: item.ID}
		b.must(b.AddBubble(ctx, one))
		b.must(b.AddBubble(ctx, two))
		b.must(b.AddBubble(ctx, two))
		b.must(b.AddBubble(ctx, store.Bubble{Chat: bob, ID: "77", Item: 9}))
		b.done(item.ID)
		b.reopen()
		b.equal("the bubbles", b.bubbles(), []store.Bubble{one, two, {Chat: bob, ID: "77", Item: 9}})
		b.must(b.DropBubble(ctx, one))
		b.must(b.DropBubble(ctx, one))
		b.equal("the bubbles", b.bubbles(), []store.Bubble{two, {Chat: bob, ID: "77", Item: 9}})
	}},
	{"a part that takes the place of a bubble is all that knows of it, in the same step", func(b *bench) {
		item := b.running(ann, "1")
		for _, id := range []string{"77", "78", "79"} {
			b.must(b.AddBubble(ctx, store.Bubble{Chat: ann, ID: id, Item: item.ID}))
		}
		l := store.Letter{Item: item.ID, Place: 1, Parts: parts(ann, "one", "two")}
		l.Parts[0].Replace, l.Parts[1].Replace = "77", "78"
		b.enqueue(l)
		b.reopen()
		b.equal("the bubbles", b.bubbles(), []store.Bubble{{Chat: ann, ID: "79", Item: item.ID}})
		b.equal("the place that it takes", b.next(ann).Out.Replace, "77")
	}},
	{"what was said by an earlier attempt takes no bubble's place again, and its bubble stays to be removed", func(b *bench) {
		item := b.running(ann, "1")
		b.enqueue(store.Letter{Item: item.ID, Place: 1, Parts: parts(ann, "one")})
		b.equal("what is sent", b.sendAll(ann), "[one]")
		b.must(b.Requeue(ctx, item.ID, false))
		b.claim()
		again := store.Bubble{Chat: ann, ID: "77", Item: item.ID}
		b.must(b.AddBubble(ctx, again))
		l := store.Letter{Item: item.ID, Place: 1, Parts: parts(ann, "one")}
		l.Parts[0].Replace = again.ID
		b.enqueue(l)
		b.nothingToSend(ann)
		b.equal("the bubbles", b.bubbles(), []store.Bubble{again})
	}},
	{"an item without a process has the start of the gateway that left it", func(b *bench) {
		b.must(b.SetProcess(0, store.Process{Pid: 7, Start: "then"}))
		with, without := b.running(ann, "1"), b.running(bob, "2")
		b.must(b.SetProcess(with.ID, store.Process{Pid: 123, Start: "456"}))
		b.reopen()
		items, err := b.Stranded(ctx)
		b.must(err)
		b.equal("the one with", items[0].Process, store.Process{Pid: 123, Start: "456"})
		b.equal("the one without", items[1].Process, store.Process{Start: "then"})
		b.equal("which is", items[1].ID, without.ID)
	}},
	{"the process of an earlier crash is not taken for that of a later one", func(b *bench) {
		item := b.running(ann, "1")
		b.must(b.SetProcess(item.ID, store.Process{Pid: 123, Start: "456"}))
		b.must(b.SetProcess(99, store.Process{Pid: 124, Start: "457"})) // of one that is not running any more
		b.reopen()
		_, err := b.Stranded(ctx)
		b.must(err)
		b.must(b.finish(item.ID, store.Interrupted, store.Outcome{}))
		b.reopen()
		_, err = b.Stranded(ctx)
		b.must(err)
		b.must(b.Restart(ctx, item.ID))
		b.claim()
		b.reopen()
		items, err := b.Stranded(ctx)
		b.must(err)
		b.equal("the process", items[0].Process, store.Process{})
	}},
	{"a process is forgotten when its item runs again", func(b *bench) {
		item := b.running(ann, "1")
		b.must(b.SetProcess(item.ID, store.Process{Pid: 123, Start: "456"}))
		b.must(b.Requeue(ctx, item.ID, false))
		b.equal("the item", b.claim().ID, item.ID)
		b.reopen()
		items, err := b.Stranded(ctx)
		b.must(err)
		b.equal("the process", items[0].Process, store.Process{})
	}},
}

func (b *bench) bubbles() []store.Bubble {
	b.Helper()
	bubbles, err := b.Bubbles(ctx)
	b.must(err)
	return bubbles
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
