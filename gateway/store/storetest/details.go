package storetest

import (
	"strings"
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
