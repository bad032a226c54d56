package storetest

import (
	"strings"
	"time"
	"unicode/utf8"

	"nanobot/gateway/store"
)

var detailTests = []contractTest{
	{"the last details of a turn are there after a restart, and are pruned with its inbound message", func(b *fixture) {
		inbound, plain := b.receiveClaimed(ann, "1"), b.receiveClaimed(bob, "2")
		b.saveDetails(inbound.ID, "read")
		b.saveDetails(inbound.ID, "read, written")
		b.finishDone(inbound.ID)
		b.reopen()
		b.equal("the details", b.details(inbound.ID), "read, written")
		b.equal("of a turn without", b.details(plain.ID), "")
		b.advance(2)
		b.noError(b.Prune(ctx, store.Retention{Age: 1}))
		b.equal("once pruned", b.details(inbound.ID), "")
		b.saveDetails(inbound.ID, "too late")
		b.equal("of a pruned message", b.details(inbound.ID), "")
	}},
	{"details that are too long are cut off after a line or within a long one", func(b *fixture) {
		inbound := b.receiveClaimed(ann, "1")
		b.saveDetails(inbound.ID, strings.Repeat("a line\n", store.MaxDetails))
		got := b.details(inbound.ID)
		b.equal("the end", strings.HasSuffix(got, "a line\n…"), true)
		b.equal("most is there", len(got) > store.MaxDetails-20 && len(got) <= store.MaxDetails, true)
		b.saveDetails(inbound.ID, strings.Repeat("é", store.MaxDetails))
		got = b.details(inbound.ID)
		b.equal("a long line", utf8.ValidString(got) && len(got) > store.MaxDetails-20 && len(got) <= store.MaxDetails, true)
	}},
	{"the fold of an ended turn is adopted with its newest board until it ends", func(b *fixture) {
		inbound, plain := b.receiveClaimed(ann, "1"), b.receiveClaimed(bob, "2")
		record := func(board store.Transient) { b.advance(time.Second); b.noError(b.AddTransient(ctx, board)) }
		board := store.Transient{Chat: ann, ID: "70", Inbound: inbound.ID, Board: true}
		moved, streamed := store.Transient{Chat: ann, ID: "71", Inbound: inbound.ID, Board: true}, store.Transient{Chat: ann, ID: "72", Inbound: inbound.ID}
		record(moved)
		record(board)
		record(streamed)
		fold := store.Fold{Summary: "2 steps", Details: "read\nwritten", Required: true}
		b.noError(b.tryFinish(inbound.ID, store.Done, store.Outcome{Fold: &fold}))
		b.noError(b.tryFinish(plain.ID, store.Done, store.Outcome{Fold: &store.Fold{Summary: "1 step"}}))
		b.equal("the details", b.details(inbound.ID), "read\nwritten")
		b.equal("what a member adopts of its own", len(b.adopt().Folds), 0)
		b.reopen()
		adopted := b.adopt()
		pending := store.PendingFold{Fold: fold, Board: board, MessageID: "1"}
		without := store.PendingFold{Fold: store.Fold{Summary: "1 step"}, Board: store.Transient{Chat: bob, Inbound: plain.ID, Board: true}, MessageID: "2"}
		b.equal("the folds", adopted.Folds, []store.PendingFold{pending, without})
		b.equal("the other transient messages", adopted.Transients, []store.Transient{moved, streamed})
		b.equal("what is adopted again", len(b.adopt().Folds), 0)
		b.noError(b.ReplaceFold(ctx, inbound.ID))
		b.noError(b.EndFold(ctx, without.Board))
		b.reopen()
		pending.Replaced = true
		b.equal("the folds after a replacement", b.adopt().Folds, []store.PendingFold{pending})
		b.noError(b.EndFold(ctx, board))
		b.reopen()
		b.equal("the folds after the end", len(b.adopt().Folds), 0)
		b.equal("the transients", b.transients(), []store.Transient{moved, streamed})
		b.equal("the details stay", b.details(inbound.ID), "read\nwritten")
	}},
}

func (b *fixture) saveDetails(inbound int64, text string) {
	b.Helper()
	b.noError(b.SaveDetails(ctx, inbound, text))
}

func (b *fixture) details(inbound int64) string {
	b.Helper()
	text, err := b.LoadDetails(ctx, inbound)
	b.noError(err)
	return text
}
