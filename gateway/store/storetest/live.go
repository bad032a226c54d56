package storetest

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/internal/killtest"
	"nanobot/terminal"
)

// openLive opens the handle of another member, which stays alive beside the first one.
func (b *fixture) openLive(name string) *fixture {
	b.Helper()
	other := &fixture{T: b.T, dir: b.dir, open: b.open, time: b.now()}
	other.Store = b.open(b.T, Options{Dir: b.dir, Now: other.now, Live: name})
	b.Cleanup(func() {
		if err := other.Close(); err != nil {
			b.Errorf("close the handle of %s: %v", name, err)
		}
	})
	return other
}

func (b *fixture) beat() store.Beat {
	b.Helper()
	beat, err := b.Beat(ctx, false)
	b.noError(err)
	return beat
}

// changeAll makes each change that a turn and its deliveries make, and returns their errors.
func (b *fixture) changeAll(running, pending store.Inbound, sending store.Delivery) map[string]error {
	board := store.Transient{Chat: ann, ID: "71", Inbound: running.ID, Board: true}
	more := store.Outbound{Inbound: running.ID, Sequence: 2, Parts: outgoingTexts(ann, "late")}
	all := map[string]error{
		"Finish": b.tryFinish(running.ID, store.Done, store.Outcome{}), "Requeue": b.Requeue(ctx, running.ID, true),
		"Restart": b.Restart(ctx, running.ID), "SettlePending": b.SettlePending(ctx, pending.ID),
		"MarkStopped": b.MarkStopped(ctx, ann, running.ID), "AddTransient": b.AddTransient(ctx, board),
		"DropTransient": b.DropTransient(ctx, board), "EndFold": b.EndFold(ctx, board),
		"SaveDetails": b.SaveDetails(ctx, running.ID, "late"), "ReplaceFold": b.ReplaceFold(ctx, running.ID),
		"Remember": b.Remember(ctx, ann, "k", "late"), "EraseAnswer": b.EraseAnswer(ctx, "q"),
		"Ask":     b.Ask(ctx, store.Question{Question: terminal.Question{ID: "q"}, Inbound: running.ID, Chat: ann}, more),
		"Forward": b.Forward(ctx, incoming(ann, "3")), "Release": b.Release(ctx, []string{ann.String()}),
	}
	_, all["Receive"] = b.Receive(ctx, store.ReceiveRequest{In: incoming(ann, "3")})
	_, all["Claim"] = b.Claim(ctx, store.ClaimRequest{Limit: 1})
	_, all["Cancel"] = b.Cancel(ctx, ann, 0)
	_, all["EraseText"] = b.EraseText(ctx, running.ID)
	edited := incoming(ann, "1")
	edited.Text, edited.Change = "late", channels.Edited
	_, all["ChangeMessage"] = b.ChangeMessage(ctx, store.ChangeRequest{In: edited})
	_, _, all["Enqueue"] = b.Enqueue(ctx, more)
	_, _, all["NextDelivery"] = b.NextDelivery(ctx, ann, 0)
	_, all["Settle"] = b.Settle(ctx, sending.ID, store.Settlement{State: store.Sent})
	_, all["Withdraw"] = b.Withdraw(ctx, "q")
	_, all["Adopt"] = b.Adopt(ctx)
	_, all["Beat"] = b.Beat(ctx, true)
	return all
}

// liveTests are tests of members that are alive at the same time.
var liveTests = []contractTest{
	{"the work and the transient messages of live members are not adopted", func(b *fixture) {
		other := b.openLive("two")
		running := other.receiveClaimed(ann, "1")
		other.enqueue(store.Outbound{Inbound: running.ID, Sequence: 1, Parts: outgoingTexts(ann, "a"), Claim: true})
		b.noError(other.AddTransient(ctx, store.Transient{Chat: ann, ID: "71", Inbound: running.ID, Board: true}))
		done := other.receiveClaimed(bob, "2")
		b.noError(other.tryFinish(done.ID, store.Done, store.Outcome{Fold: &store.Fold{Summary: "1 step"}}))
		b.equal("what is adopted", b.adopt(), store.Adopted{})
		b.noError(other.Close())
		other.Store = b.open(b.T, Options{Dir: b.dir, Now: b.now, Live: "three"})
		adopted := b.adopt()
		b.equal("what is adopted of a member that is gone",
			[]int{len(adopted.Inbounds), len(adopted.Deliveries), len(adopted.Transients), len(adopted.Folds)}, "[1 1 1 1]")
	}},
	{"who adopts learns that a member that is gone may have left messages unsent", func(b *fixture) {
		other := b.openLive("two")
		b.enqueue(store.Outbound{Parts: outgoingTexts(bob, "b")})
		other.enqueue(store.Outbound{Parts: outgoingTexts(ann, "a")})
		b.equal("there is something to adopt while it lives", b.beat().Adoptable, false)
		b.noError(other.Close())
		other.Store = b.open(b.T, Options{Dir: b.dir, Now: b.now, Live: "three"})
		b.equal("there is something to adopt", []bool{b.beat().Adoptable, other.beat().Adoptable}, "[true true]")
		b.equal("what is adopted", b.adopt(), store.Adopted{})
		b.equal("there is more to adopt", []bool{b.beat().Adoptable, other.beat().Adoptable}, "[false false]")
		b.equal("what is sent", b.sendAll(ann), "[a]")
	}},
	{"each change of a member that is gone is fenced, and changes nothing", func(b *fixture) {
		running := b.receiveClaimed(ann, "1")
		pending := b.receiveQueued(ann, "2")[0]
		sending, _ := b.enqueue(store.Outbound{Inbound: running.ID, Sequence: 1, Parts: outgoingTexts(ann, "a"), Claim: true})
		b.noError(b.AddTransient(ctx, store.Transient{Chat: ann, ID: "71", Inbound: running.ID, Board: true}))
		other := b.openSecond()
		other.adopt()
		for what, err := range b.changeAll(running, pending, sending) {
			if !errors.Is(err, store.ErrFenced) {
				b.Errorf("%s: got %v, want ErrFenced", what, err)
			}
		}
		b.equal("its messages", other.messageIDs(ann), "[2 1]")
		b.equal("their states", []store.State{other.inbound(running.ID).State, other.inbound(pending.ID).State},
			[]store.State{store.Running, store.Pending})
		b.equal("its transient messages", len(other.transients()), 1)
		other.settle(sending.ID, store.Sent)
		b.equal("what is sent", other.sendAll(ann), "[]")
	}},
	{"the turn of another machine counts as begun", func(b *fixture) {
		other := b.openLive("two")
		running := other.receiveClaimed(ann, "1")
		b.noError(other.SetProcess(running.ID, store.Process{Pid: 123, Start: "456"}))
		b.noError(other.Close())
		other.Store = b.open(b.T, Options{Dir: b.dir, Now: b.now, Live: "three"})
		b.equal("its process", b.adopt().Inbounds[0].Process, store.Process{Pid: -1})
	}},
	{"a member learns from its beat which of its turns another one has stopped", func(b *fixture) {
		other := b.openLive("two")
		stopped := other.receiveClaimed(ann, "1")
		other.receiveClaimed(bob, "2")
		b.noError(b.MarkStopped(ctx, ann, stopped.ID))
		beat, err := other.Beat(ctx, false)
		b.noError(err)
		b.equal("what is stopped, of what runs", beat.Stopped, []int64{stopped.ID})
		beat, err = b.Beat(ctx, false)
		b.noError(err)
		b.equal("what is stopped of the other's turns", len(beat.Stopped), 0)
	}},
	{"of many members that adopt at the same time, one adopts each thing", func(b *fixture) {
		const chats, members = 250, 4
		for n := range chats {
			chat := channels.Chat{Channel: "net", ID: strconv.Itoa(n)}
			running := b.receiveClaimed(chat, "1")
			b.enqueue(store.Outbound{Inbound: running.ID, Sequence: 1, Parts: outgoingTexts(chat, "a"), Claim: true})
			b.noError(b.AddTransient(ctx, store.Transient{Chat: chat, ID: "71", Inbound: running.ID}))
			folded := b.receiveClaimed(channels.Chat{Channel: "net", ID: fmt.Sprint("folded ", n)}, "2")
			b.noError(b.tryFinish(folded.ID, store.Done, store.Outcome{Fold: &store.Fold{Summary: "1 step"}}))
		}
		b.reopen()
		adopters := []*fixture{b}
		for n := range members - 1 {
			adopters = append(adopters, b.openLive(fmt.Sprint("adopter ", n)))
		}
		var mu sync.Mutex
		times := map[string]int{}
		b.runParallel(func(n int) error {
			adopted, err := adopters[n%members].Adopt(ctx)
			mu.Lock()
			defer mu.Unlock()
			for _, i := range adopted.Inbounds {
				times[fmt.Sprint("inbound ", i.ID)]++
			}
			for _, d := range adopted.Deliveries {
				times[fmt.Sprint("delivery ", d.ID)]++
			}
			for _, t := range adopted.Transients {
				times[fmt.Sprint("transient ", t.Chat)]++
			}
			for _, f := range adopted.Folds {
				times[fmt.Sprint("fold ", f.Board.Inbound)]++
			}
			return err
		})
		for thing, n := range times {
			b.equal("how often "+thing+" was adopted", n, 1)
		}
		b.equal("how much was adopted", len(times), 4*chats)
	}},
	{"no wake is lost: a claim finds what there is, however busy its chat is", func(b *fixture) {
		const chats, members = 3, 3
		messages := killtest.Pick(400, 10_000)
		all := []*fixture{b, b.openLive("two"), b.openLive("three")}
		// There is one claim for each entry of a chat into the line, and no other.
		wakes := make(chan struct{}, messages)
		var outstanding sync.WaitGroup
		wake := func() { outstanding.Add(1); wakes <- struct{}{} }
		var claimed, received atomic.Int64
		claimOnce := func(of *fixture) error {
			defer outstanding.Done()
			inbounds, err := of.Claim(ctx, store.ClaimRequest{Limit: 1})
			for _, i := range inbounds {
				claimed.Add(1)
				next, finished := of.Finish(ctx, i.ID, store.Done, store.Outcome{})
				if err = errors.Join(err, finished); next {
					wake()
				}
			}
			return err
		}
		var claimers sync.WaitGroup
		errs := make([]error, members*4)
		for n := range errs {
			claimers.Go(func() {
				for range wakes {
					errs[n] = errors.Join(errs[n], claimOnce(all[n%members]))
				}
			})
		}
		b.runParallel(func(n int) error {
			for {
				i := int(received.Add(1))
				if i > messages {
					return nil
				}
				chat := channels.Chat{Channel: "net", ID: fmt.Sprint(i%chats, " of ", i/100)}
				in := incoming(chat, strconv.Itoa(i))
				in.Origin = channels.ByHook("ci") // what people write is forwarded to the member that runs the chat
				r, err := all[n%members].Receive(ctx, store.ReceiveRequest{In: in})
				if err != nil {
					return err
				}
				if r.Running == 0 && r.Waiting == 1 { // its chat has entered the line
					wake()
				}
			}
		})
		outstanding.Wait()
		close(wakes)
		claimers.Wait()
		b.noError(errors.Join(errs...))
		b.equal("how many were claimed", claimed.Load(), messages)
	}},
}
