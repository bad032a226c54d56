package storetest

import (
	"errors"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

var claimTests = []contractTest{
	{"there is nothing to claim in an empty store", func(b *fixture) { b.nothingToClaim() }},
	{"a message with Claim runs at once if its chat is idle", func(b *fixture) {
		inbound := b.receiveClaimed(ann, "1")
		b.reopen()
		got := b.inbound(inbound.ID)
		got.Token = inbound.Token // only a call that claims returns it
		b.equal("its state", got.State, store.Running)
		b.equal("its attempt", got.Attempt, 1)
		b.equal("its start", got.Started, b.now())
		b.equal("what was returned", inbound, got)
		b.nothingToClaim()
	}},
	{"a message waits if its chat has a running or pending one", func(b *fixture) {
		b.receiveClaimed(ann, "1")
		_, result := b.receive(store.ReceiveRequest{In: incoming(ann, "2"), Claim: true})
		b.equal("the result beside a running one", result, store.Queued)
		b.receiveQueued(bob, "3")
		_, result = b.receive(store.ReceiveRequest{In: incoming(bob, "4"), Claim: true})
		b.equal("the result behind a pending one", result, store.Queued)
	}},
	{"Claim claims one message each of up to limit chats", func(b *fixture) {
		b.receiveQueued(ann, "1", "2")
		b.receiveQueued(bob, "3")
		b.receiveQueued(cid, "4")
		for _, want := range []string{"[1 3]", "[4]", "[]"} {
			claimed, err := b.Claim(ctx, store.ClaimRequest{Limit: 2})
			b.noError(err)
			ids := []string{}
			for _, inbound := range claimed {
				ids = append(ids, inbound.In.ID)
				b.equal("its state", b.inbound(inbound.ID).State, store.Running)
			}
			b.equal("the claimed", ids, want)
		}
	}},
	{"a chat's messages run in the order of their arrival", func(b *fixture) {
		b.receiveQueued(ann, "1", "2", "3")
		for _, want := range []string{"1", "2", "3"} {
			inbound := b.claimOne()
			b.equal("the inbound", inbound.In.ID, want)
			got := b.inbound(inbound.ID)
			got.Token = inbound.Token
			b.equal("what was returned", inbound, got)
			b.finishDone(inbound.ID)
		}
		b.nothingToClaim()
	}},
	{"a chat with a running message is skipped", func(b *fixture) {
		b.receiveQueued(ann, "1", "2")
		b.receiveQueued(bob, "3")
		b.equal("the first", b.claimOne().In.ID, "1")
		b.equal("the second", b.claimOne().In.ID, "3")
		b.nothingToClaim()
	}},
	{"chats take turns, however much one of them has waiting", func(b *fixture) {
		b.receiveQueued(ann, "a1", "a2", "a3")
		b.receiveQueued(bob, "b1", "b2")
		b.receiveQueued(cid, "c1")
		var order []string
		for range 6 {
			inbound := b.claimOne()
			order = append(order, inbound.In.ID)
			b.finishDone(inbound.ID)
		}
		b.equal("the order", order, "[a1 b1 c1 a2 b2 a3]")
	}},
	{"the order of waiting chats survives a restart", func(b *fixture) {
		b.receiveQueued(ann, "a1", "a2")
		b.receiveQueued(bob, "b1")
		b.finishDone(b.claimOne().ID)
		b.reopen()
		b.equal("the next", b.claimOne().In.ID, "b1")
		b.equal("the one after", b.claimOne().In.ID, "a2")
	}},
}

var finishTests = []contractTest{
	{"Finish stores the outcome and removes the process record", func(b *fixture) {
		for _, state := range []store.State{store.Done, store.Interrupted, store.Dead} {
			inbound := b.receiveClaimed(channels.Chat{Channel: "net", ID: string(state)}, "1")
			b.noError(b.SetProcess(inbound.ID, store.Process{Pid: 5, Start: "9"}))
			b.advance(time.Second)
			out := store.Outcome{Status: "exited", ExitCode: 3, Signal: "killed", Memory: 5 << 30, CPU: 1500 * time.Microsecond}
			b.noError(b.tryFinish(inbound.ID, state, out))
			b.reopen()
			got := b.inbound(inbound.ID)
			b.equal("the state", got.State, state)
			b.equal("the end", got.Ended, b.now())
			b.equal("the start", got.Started, inbound.Started)
			b.equal("the outcome", got.Outcome, out)
			b.equal("the process", got.Process, store.Process{})
		}
	}},
	{"Finish reports whether the chat has more to run", func(b *fixture) {
		first := b.receiveClaimed(ann, "1")
		b.receiveQueued(ann, "2")
		next, err := b.Finish(ctx, first.ID, store.Done, store.Outcome{})
		b.noError(err)
		b.equal("more after the first", next, true)
		next, err = b.Finish(ctx, b.claimOne().ID, store.Done, store.Outcome{})
		b.noError(err)
		b.equal("more after the last", next, false)
		b.nothingToClaim()
	}},
	{"messages that were injected into a turn end with it and are part of the conversation", func(b *fixture) {
		inbound := b.receiveClaimed(ann, "1")
		more := b.receiveQueued(ann, "2", "3")
		other := b.receiveQueued(bob, "4")[0]
		next, err := b.Finish(ctx, inbound.ID, store.Done, store.Outcome{Status: "done"}, more[0].ID, other.ID, 99)
		b.noError(err)
		b.equal("more to do", next, true)
		b.reopen()
		with := b.inbound(more[0].ID)
		b.equal("the state", with.State, store.Done)
		b.equal("the end", with.Ended, b.now())
		b.equal("the outcome", with.Outcome.Status, "done")
		b.equal("another chat's", b.inbound(other.ID).State, store.Pending)
		b.equal("the history", b.transcript(ann, 9), "[user: 1 user: 2]")
		b.equal("the next", []string{b.claimOne().In.ID, b.claimOne().In.ID}, "[4 3]")
	}},
	{"only a running message can be finished, and only once", func(b *fixture) {
		pending := b.receiveQueued(ann, "1")[0]
		b.checkErrState(b.tryFinish(pending.ID, store.Done, store.Outcome{}))
		b.checkErrState(b.tryFinish(99, store.Done, store.Outcome{}))
		b.finishDone(b.claimOne().ID)
		b.checkErrState(b.tryFinish(pending.ID, store.Dead, store.Outcome{}))
	}},
	{"a turn cannot end as pending or running", func(b *fixture) {
		inbound := b.receiveClaimed(ann, "1")
		for _, s := range []store.State{store.Pending, store.Running, store.Sent, "nonsense"} {
			b.checkErrState(b.tryFinish(inbound.ID, s, store.Outcome{}))
		}
		b.equal("the state", b.inbound(inbound.ID).State, store.Running)
	}},
	{"running messages are adopted after a restart, oldest first", func(b *fixture) {
		b.receiveClaimed(ann, "1")
		b.receiveClaimed(bob, "2")
		b.receiveQueued(ann, "3")
		b.finishDone(b.receiveClaimed(cid, "4").ID)
		b.reopen()
		inbounds := b.adopt().Inbounds
		b.equal("how many", len(inbounds), 2)
		b.equal("the adopted", []string{inbounds[0].In.ID, inbounds[1].In.ID}, "[1 2]")
	}},
}

var restartTests = []contractTest{
	{"a running, interrupted or done message runs again as the next attempt", func(b *fixture) {
		inbound := b.receiveClaimed(ann, "1")
		for attempt, end := range []store.State{store.Running, store.Interrupted, store.Done} {
			if end == store.Running {
				b.noError(b.Requeue(ctx, inbound.ID, false))
			} else {
				b.noError(b.tryFinish(inbound.ID, end, store.Outcome{Status: "x", ExitCode: 1}))
				b.noError(b.Restart(ctx, inbound.ID))
			}
			b.reopen()
			got := b.inbound(inbound.ID)
			b.equal("the state", got.State, store.Pending)
			b.equal("the outcome", got.Outcome, store.Outcome{})
			b.equal("start and end", []bool{got.Started.IsZero(), got.Ended.IsZero()}, "[true true]")
			again := b.claimOne()
			b.equal("the inbound", again.ID, inbound.ID)
			b.equal("the attempt", again.Attempt, attempt+2)
		}
	}},
	{"an attempt that had not begun does not count", func(b *fixture) {
		inbound := b.receiveClaimed(ann, "1")
		b.noError(b.Requeue(ctx, inbound.ID, true))
		again := b.claimOne()
		b.equal("the inbound and the attempt", []int64{again.ID - inbound.ID, int64(again.Attempt)}, "[0 1]")
	}},
	{"a message that runs again is ahead of the others of its chat", func(b *fixture) {
		inbound := b.receiveClaimed(ann, "1")
		b.receiveQueued(ann, "2", "3")
		b.noError(b.Requeue(ctx, inbound.ID, false))
		b.equal("the next", b.claimOne().In.ID, "1")
		b.nothingToClaim()
	}},
	{"a message that runs again waits for the running one of its chat", func(b *fixture) {
		first := b.receiveClaimed(ann, "1")
		b.finishDone(first.ID)
		second := b.receiveClaimed(ann, "2")
		b.noError(b.Restart(ctx, first.ID))
		b.nothingToClaim()
		b.finishDone(second.ID)
		b.equal("the next", b.claimOne().ID, first.ID)
	}},
	{"only an ended message can be restarted, only a running one requeued", func(b *fixture) {
		running := b.receiveClaimed(bob, "0")
		b.checkErrState(b.Restart(ctx, running.ID))
		b.finishDone(running.ID)
		b.checkErrState(b.Requeue(ctx, running.ID, false))
		inbound := b.receiveQueued(ann, "1")[0]
		b.checkErrState(b.Restart(ctx, inbound.ID))
		_, err := b.Cancel(ctx, ann, inbound.ID)
		b.noError(err)
		b.checkErrState(b.Restart(ctx, inbound.ID))
		b.checkErrState(b.Restart(ctx, 99))
		b.nothingToClaim()
	}},
}

var cancelTests = []contractTest{
	{"Cancel marks all pending messages of a chat as dead, and no others", func(b *fixture) {
		run := b.receiveClaimed(ann, "1")
		inbounds := b.receiveQueued(ann, "2", "3")
		other := b.receiveQueued(bob, "4")[0]
		b.equal("how many", b.cancel(ann, 0), 2)
		b.reopen()
		b.adopt()
		b.equal("the running one", b.inbound(run.ID).State, store.Running)
		b.equal("a pending one", b.inbound(inbounds[0].ID).State, store.Dead)
		b.equal("its end", b.inbound(inbounds[0].ID).Ended, b.now())
		b.equal("the next", b.claimOne().ID, other.ID)
		b.finishDone(run.ID)
		b.nothingToClaim()
	}},
	{"one message is cancelled, and its chat continues", func(b *fixture) {
		inbounds := b.receiveQueued(ann, "1", "2")
		b.equal("how many", b.cancel(ann, inbounds[0].ID), 1)
		b.equal("the next", b.claimOne().In.ID, "2")
	}},
	{"a message of another chat, or one that is not pending, is not cancelled", func(b *fixture) {
		pending := b.receiveQueued(ann, "1")[0]
		run := b.receiveClaimed(bob, "2")
		b.equal("how many", b.cancel(bob, pending.ID), 0)
		b.equal("how many", b.cancel(bob, run.ID), 0)
		b.equal("how many", b.cancel(cid, 0), 0)
		b.equal("the next", b.claimOne().In.ID, "1")
	}},
	{"a chat whose last pending message was cancelled is idle again", func(b *fixture) {
		b.receiveQueued(ann, "1")
		b.cancel(ann, 0)
		b.nothingToClaim()
		b.receiveClaimed(ann, "2")
	}},
}

var queueTests = []contractTest{
	{"Queue returns the pending messages of a chat in the order of their turns", func(b *fixture) {
		b.receiveClaimed(ann, "1")
		b.receiveQueued(ann, "2", "3", "4")
		b.receiveQueued(bob, "5")
		for n, want := range map[int][]string{9: {"2", "3", "4"}, 2: {"2", "3"}} {
			queue, err := b.Queue(ctx, ann, n)
			b.noError(err)
			ids := []string{}
			for _, inbound := range queue {
				ids = append(ids, inbound.In.ID)
			}
			b.equal("the queue", ids, want)
		}
	}},
	{"a pending message is settled without a turn and stays known", func(b *fixture) {
		run := b.receiveClaimed(ann, "1")
		inbounds := b.receiveQueued(ann, "2", "3")
		b.noError(b.SettlePending(ctx, inbounds[0].ID))
		b.reopen()
		b.adopt()
		settled := b.inbound(inbounds[0].ID)
		b.equal("its state", settled.State, store.Done)
		b.equal("its end", settled.Ended, b.now())
		b.equal("its start", settled.Started.IsZero(), true)
		b.equal("it is known", b.known(ann, "2"), true)
		b.equal("how many wait", b.countWaiting(ann), 1)
		b.finishDone(run.ID)
		b.equal("the next", b.claimOne().In.ID, "3")
	}},
	{"a chat whose last pending message was settled is idle again", func(b *fixture) {
		b.noError(b.SettlePending(ctx, b.receiveQueued(ann, "1")[0].ID))
		b.nothingToClaim()
		b.receiveClaimed(ann, "2")
	}},
	{"a message that is not pending cannot be settled", func(b *fixture) {
		run := b.receiveClaimed(ann, "1")
		b.checkErrState(b.SettlePending(ctx, run.ID))
		b.finishDone(run.ID)
		b.checkErrState(b.SettlePending(ctx, run.ID))
		b.checkErrState(b.SettlePending(ctx, 99))
	}},
}

var crashRecordTests = []contractTest{
	{"a process record is there after a restart", func(b *fixture) {
		inbound := b.receiveClaimed(ann, "1")
		b.noError(b.SetProcess(inbound.ID, store.Process{Pid: 123, Start: "456"}))
		b.reopen()
		inbounds := b.adopt().Inbounds
		b.equal("the process", inbounds[0].Process, store.Process{Pid: 123, Start: "456"})
	}},
	{"transient messages stay recorded until they are dropped, also after a restart and the end of their turns", func(b *fixture) {
		inbound := b.receiveClaimed(ann, "1")
		one, two := store.Transient{Chat: ann, ID: "77", Inbound: inbound.ID}, store.Transient{Chat: ann, ID: "78", Inbound: inbound.ID}
		b.noError(b.AddTransient(ctx, one))
		b.noError(b.AddTransient(ctx, two))
		b.noError(b.AddTransient(ctx, two))
		b.noError(b.AddTransient(ctx, store.Transient{Chat: bob, ID: "77", Inbound: 9}))
		b.finishDone(inbound.ID)
		b.reopen()
		b.equal("the transients", b.transients(), []store.Transient{one, two, {Chat: bob, ID: "77", Inbound: 9}})
		b.noError(b.DropTransient(ctx, one))
		b.noError(b.DropTransient(ctx, one))
		b.equal("the transients", b.transients(), []store.Transient{two, {Chat: bob, ID: "77", Inbound: 9}})
	}},
	{"a part that replaces a transient message removes its record in the same transaction", func(b *fixture) {
		inbound := b.receiveClaimed(ann, "1")
		for _, id := range []string{"77", "78", "79"} {
			b.noError(b.AddTransient(ctx, store.Transient{Chat: ann, ID: id, Inbound: inbound.ID}))
		}
		l := store.Outbound{Inbound: inbound.ID, Sequence: 1, Parts: outgoingTexts(ann, "one", "two")}
		l.Parts[0].Replace, l.Parts[1].Replace = "77", "78"
		b.enqueue(l)
		b.reopen()
		b.equal("the transients", b.transients(), []store.Transient{{Chat: ann, ID: "79", Inbound: inbound.ID}})
		b.equal("the place that it takes", b.nextDelivery(ann).Out.Replace, "77")
	}},
	{"a part of an earlier attempt does not replace a transient message again, and that one stays recorded", func(b *fixture) {
		inbound := b.receiveClaimed(ann, "1")
		b.enqueue(store.Outbound{Inbound: inbound.ID, Sequence: 1, Parts: outgoingTexts(ann, "one")})
		b.equal("what is sent", b.sendAll(ann), "[one]")
		b.noError(b.Requeue(ctx, inbound.ID, false))
		b.claimOne()
		again := store.Transient{Chat: ann, ID: "77", Inbound: inbound.ID}
		b.noError(b.AddTransient(ctx, again))
		l := store.Outbound{Inbound: inbound.ID, Sequence: 1, Parts: outgoingTexts(ann, "one")}
		l.Parts[0].Replace = again.ID
		b.enqueue(l)
		b.nothingToSend(ann)
		b.equal("the transients", b.transients(), []store.Transient{again})
	}},
	{"an adopted message without a process has the start time of the daemon that left it", func(b *fixture) {
		b.noError(b.SetProcess(0, store.Process{Pid: 7, Start: "then"}))
		with, without := b.receiveClaimed(ann, "1"), b.receiveClaimed(bob, "2")
		b.noError(b.SetProcess(with.ID, store.Process{Pid: 123, Start: "456"}))
		b.reopen()
		inbounds := b.adopt().Inbounds
		b.equal("the one with", inbounds[0].Process, store.Process{Pid: 123, Start: "456"})
		b.equal("the one without", inbounds[1].Process, store.Process{Start: "then"})
		b.equal("which is", inbounds[1].ID, without.ID)
	}},
	{"the process record of an earlier crash is not used for a later one", func(b *fixture) {
		inbound := b.receiveClaimed(ann, "1")
		b.noError(b.SetProcess(inbound.ID, store.Process{Pid: 123, Start: "456"}))
		b.noError(b.SetProcess(99, store.Process{Pid: 124, Start: "457"})) // of a message that is not running any more
		b.reopen()
		b.adopt()
		b.noError(b.tryFinish(inbound.ID, store.Interrupted, store.Outcome{}))
		b.reopen()
		b.adopt()
		b.noError(b.Restart(ctx, inbound.ID))
		b.claimOne()
		b.reopen()
		inbounds := b.adopt().Inbounds
		b.equal("the process", inbounds[0].Process, store.Process{})
	}},
	{"a process record is removed when its message runs again", func(b *fixture) {
		inbound := b.receiveClaimed(ann, "1")
		b.noError(b.SetProcess(inbound.ID, store.Process{Pid: 123, Start: "456"}))
		b.noError(b.Requeue(ctx, inbound.ID, false))
		b.equal("the inbound", b.claimOne().ID, inbound.ID)
		b.reopen()
		inbounds := b.adopt().Inbounds
		b.equal("the process", inbounds[0].Process, store.Process{})
	}},
}

func (b *fixture) transients() []store.Transient {
	b.Helper()
	transients, err := b.Transients(ctx)
	b.noError(err)
	return transients
}

func (b *fixture) checkErrState(err error) {
	b.Helper()
	if !errors.Is(err, store.ErrState) {
		b.Fatalf("got %v, want ErrState", err)
	}
}

func (b *fixture) cancel(chat channels.Chat, id int64) int {
	b.Helper()
	n, err := b.Cancel(ctx, chat, id)
	b.noError(err)
	return n
}
