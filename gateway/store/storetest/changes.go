package storetest

import (
	"fmt"
	"sync"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// edit returns the edit of a message.
func edit(id, text string) channels.Incoming {
	in := incoming(ann, id)
	in.Text, in.Change = text, channels.Edited
	return in
}

func (b *fixture) changeMessage(request store.ChangeRequest) store.ChangeResult {
	b.Helper()
	request.Answers = map[store.Effect][]channels.Outgoing{
		store.StoredForRerun: outgoingTexts(ann, "run again?"), store.Withdrawn: outgoingTexts(ann, "withdrawn"),
	}
	result, err := b.ChangeMessage(ctx, request)
	b.noError(err)
	return result
}

var changeTests = []contractTest{
	{"an edit replaces a message that waits", func(b *fixture) {
		b.receiveClaimed(ann, "1")
		waiting := b.receiveQueued(ann, "2")[0]
		result := b.changeMessage(store.ChangeRequest{In: edit("2", "new"), Cursor: "77"})
		b.equal("the result", result.Effect, store.Replaced)
		b.reopen()
		b.adopt()
		b.equal("the text", b.inbound(waiting.ID).In.Text, "new")
		b.equal("the state", b.inbound(waiting.ID).State, store.Pending)
		b.equal("the cursor", b.cursor("net"), "77")
		b.nothingToSend(ann)
		_, again := b.receive(store.ReceiveRequest{In: incoming(ann, "2")})
		b.equal("the result on the message itself", again, store.Duplicate)
	}},
	{"an edit of a message that runs or has run is stored for a turn of its own, once", func(b *fixture) {
		first := b.receiveClaimed(ann, "1")
		for range 2 {
			b.changeMessage(store.ChangeRequest{In: edit("1", "new")})
		}
		b.equal("the running message", b.inbound(first.ID).In.Text, "1")
		b.equal("what is said", b.sendAll(ann), "[run again?]")
		b.finishDone(first.ID)
		b.nothingToClaim()
		b.reopen()
		newest, found, err := b.Message(ctx, ann, "1")
		b.noError(err)
		b.equal("the newest", fmt.Sprintln(found, newest.In.Text, newest.State, newest.Attempt), "true new done 0\n")
		b.equal("another edit", b.changeMessage(store.ChangeRequest{In: edit("1", "newer")}).Effect, store.Replaced)
		b.nothingToSend(ann)
		b.noError(b.Restart(ctx, newest.ID))
		b.equal("the rerun", b.claimOne().In.Text, "newer")
		b.finishDone(newest.ID)
		b.equal("an edit after the rerun", b.changeMessage(store.ChangeRequest{In: edit("1", "newest")}).Effect, store.StoredForRerun)
	}},
	{"an edit that changes nothing, that is older, or of an unknown message has no effect", func(b *fixture) {
		waiting := b.receiveQueued(ann, "1")[0]
		at := func(text string, seconds int) channels.Incoming {
			in := edit("1", text)
			in.ChangedAt = b.now().Add(time.Duration(seconds) * time.Second)
			return in
		}
		b.equal("the same", b.changeMessage(store.ChangeRequest{In: edit("1", "1"), Cursor: "5"}).Effect, store.NoEffect)
		b.equal("newer", b.changeMessage(store.ChangeRequest{In: at("b", 2)}).Effect, store.Replaced)
		b.equal("older", b.changeMessage(store.ChangeRequest{In: at("a", 1)}).Effect, store.NoEffect)
		b.equal("unknown", b.changeMessage(store.ChangeRequest{In: edit("9", "x"), Cursor: "6"}).Effect, store.NoEffect)
		b.equal("refused", b.changeMessage(store.ChangeRequest{In: edit("1", "x"), Refused: true, Cursor: "7"}).Effect, store.NoEffect)
		b.equal("the text", b.inbound(waiting.ID).In.Text, "b")
		b.equal("the cursor", b.cursor("net"), "7")
		b.equal("the messages", b.messageIDs(ann), "[1]")
	}},
	{"an edit of a message without a turn has no effect", func(b *fixture) {
		b.receive(store.ReceiveRequest{In: incoming(ann, "/help"), Settle: true})
		cancelled := b.receiveQueued(ann, "2")[0]
		_, err := b.Cancel(ctx, ann, cancelled.ID)
		b.noError(err)
		for _, id := range []string{"/help", "2"} {
			b.equal(id, b.changeMessage(store.ChangeRequest{In: edit(id, "new")}).Effect, store.NoEffect)
		}
		b.nothingToClaim()
		b.nothingToSend(ann)
	}},
	{"an edit that becomes a command withdraws a message that waits", func(b *fixture) {
		waiting := b.receiveQueued(ann, "1")[0]
		b.equal("the result", b.changeMessage(store.ChangeRequest{In: edit("1", "/stop"), Withdraw: true}).Effect, store.Withdrawn)
		b.equal("the state", b.inbound(waiting.ID).State, store.Dead)
		b.equal("what is said", b.sendAll(ann), "[withdrawn]")
		b.nothingToClaim()
	}},
	{"an edit of an injected message is replaced and stored for a rerun", func(b *fixture) {
		b.receiveClaimed(ann, "1")
		waiting := b.receiveQueued(ann, "2")[0]
		b.equal("the result", b.changeMessage(store.ChangeRequest{In: edit("2", "new"), Injected: true}).Effect, store.StoredForRerun)
		b.equal("the message that waits", b.inbound(waiting.ID).In.Text, "new")
	}},
	{"a deletion withdraws a message that waits, and no other", func(b *fixture) {
		running := b.receiveClaimed(ann, "1")
		waiting := b.receiveQueued(ann, "2")[0]
		for id, want := range map[string]store.Effect{"1": store.NoEffect, "2": store.Withdrawn, "9": store.NoEffect} {
			in := incoming(ann, id)
			in.Change = channels.Deleted
			b.equal(id, b.changeMessage(store.ChangeRequest{In: in}).Effect, want)
			b.equal(id+" again", b.changeMessage(store.ChangeRequest{In: in}).Effect, store.NoEffect)
		}
		b.equal("the states", []store.State{b.inbound(running.ID).State, b.inbound(waiting.ID).State}, "[running dead]")
		b.finishDone(running.ID)
		b.nothingToClaim()
	}},
	{"a change removes its parts", func(b *fixture) {
		b.receiveQueued(ann, "1")
		part := edit("1 edited", "new")
		part.Part = &channels.Part{Group: "g"}
		b.noError(b.StorePart(ctx, part))
		whole := edit("1", "new")
		whole.Part = &channels.Part{Group: "g", Last: true}
		b.changeMessage(store.ChangeRequest{In: whole})
		parts, err := b.Parts(ctx, "net")
		b.noError(err)
		b.equal("the parts", len(parts), 0)
		known, err := b.Known(ctx, ann, "1 edited")
		b.noError(err)
		b.equal("the part is known", known, true)
	}},
	{"an edit beside a claim is in the turn, or stored for a rerun", func(b *fixture) {
		for i := range 30 {
			id := fmt.Sprint(i)
			b.receiveQueued(ann, id)
			var work sync.WaitGroup
			var claimed []store.Inbound
			var claimErr error
			work.Go(func() { claimed, claimErr = b.Claim(ctx, store.ClaimRequest{Limit: 1}) })
			result, err := b.ChangeMessage(ctx, store.ChangeRequest{In: edit(id, "new")})
			work.Wait()
			b.noError(err)
			b.noError(claimErr)
			want := map[store.Effect]string{store.Replaced: "new", store.StoredForRerun: id}[result.Effect]
			b.equal("the text of the turn", claimed[0].In.Text, want)
			b.finishDone(claimed[0].ID)
		}
	}},
}
