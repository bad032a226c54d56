// Package storetest holds every engine to the store's contract: one suite, run by each engine's own
// tests. It knows nothing of how an engine keeps things.
package storetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// Open opens an engine on a folder, as a daemon would. It is called again on the same folder after
// Close, and must then find what was kept.
type Open func(t *testing.T, o Options) store.Store

// Options say how an engine is opened.
type Options struct {
	Dir string
	Now func() time.Time
	// Beside opens a second handle beside the one that is open. The engine takes the first one's
	// member for gone when this one adopts.
	Beside bool
}

// Run runs the suite.
func Run(t *testing.T, open Open) {
	for _, theme := range []struct {
		name  string
		tests []test
	}{
		{"receive", receiveTests},
		{"parts", partTests},
		{"claim", claimTests},
		{"finish", finishTests},
		{"restart", restartTests},
		{"cancel", cancelTests},
		{"queue", queueTests},
		{"notes", noteTests},
		{"members", memberTests},
		{"tokens", tokenTests},
		{"enqueue", enqueueTests},
		{"next delivery", deliveryTests},
		{"settle", settleTests},
		{"rerun", rerunTests},
		{"transcripts", transcriptTests},
		{"memories", memoryTests},
		{"records", recordTests},
		{"agents", agentTests},
		{"views", viewTests},
		{"access", accessTests},
		{"strangers", strangerTests},
		{"dismiss", dismissTests},
		{"questions", questionTests},
		{"spool", spoolTests},
		{"retention", retentionTests},
		{"together", concurrencyTests},
		{"lifetime", lifetimeTests},
	} {
		t.Run(theme.name, func(t *testing.T) {
			for _, c := range theme.tests {
				t.Run(c.name, func(t *testing.T) { c.run(newBench(t, open)) })
			}
		})
	}
}

// test is one sentence of the contract.
type test struct {
	name string
	run  func(b *bench)
}

// bench is an engine under test and a clock that stands still unless it is moved.
type bench struct {
	*testing.T
	store.Store
	dir   string
	open  Open
	codes int // pairing codes made up so far

	mu   sync.Mutex
	time time.Time
}

func newBench(t *testing.T, open Open) *bench {
	b := &bench{T: t, dir: t.TempDir(), open: open, time: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	b.Store = open(t, Options{Dir: b.dir, Now: b.now})
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return b
}

func (b *bench) now() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.time
}

func (b *bench) pass(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.time = b.time.Add(d)
}

// reopen is a restart of the daemon.
func (b *bench) reopen() {
	b.Helper()
	b.must(b.Close())
	b.Store = b.open(b.T, Options{Dir: b.dir, Now: b.now})
}

func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// equal compares what is printed, which is enough for ids, texts and states.
func (b *bench) equal(what string, got, want any) {
	b.Helper()
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		b.Fatalf("%s is %s, want %s", what, g, w)
	}
}

var (
	ctx = context.Background()
	ann = channels.Chat{Channel: "net", ID: "ann"}
	bob = channels.Chat{Channel: "net", ID: "bob"}
	cid = channels.Chat{Channel: "net", ID: "cid"}
)

// incoming is a message whose text is its id.
func incoming(chat channels.Chat, id string) channels.Incoming {
	return channels.Incoming{Chat: chat, ID: id, Text: id, User: channels.User{ID: "7", Name: "Ann"}}
}

func (b *bench) receive(a store.ReceiveRequest) (store.Inbound, store.Disposition) {
	b.Helper()
	result, err := b.Receive(ctx, a)
	b.must(err)
	return result.Inbound, result.Disposition
}

// adopt takes over what another handle has claimed.
func (b *bench) adopt() store.Adopted {
	b.Helper()
	adopted, err := b.Adopt(ctx)
	b.must(err)
	return adopted
}

// queue receives messages that wait for their turns.
func (b *bench) queue(chat channels.Chat, ids ...string) []store.Inbound {
	b.Helper()
	var inbounds []store.Inbound
	for _, id := range ids {
		inbound, result := b.receive(store.ReceiveRequest{In: incoming(chat, id)})
		b.equal("the result on "+id, result, store.Queued)
		inbounds = append(inbounds, inbound)
	}
	return inbounds
}

// running receives a message and claims it at once.
func (b *bench) running(chat channels.Chat, id string) store.Inbound {
	b.Helper()
	inbound, result := b.receive(store.ReceiveRequest{In: incoming(chat, id), Claim: true})
	b.equal("the result on "+id, result, store.Claimed)
	return inbound
}

func (b *bench) claim() store.Inbound {
	b.Helper()
	claimed, err := b.Claim(ctx, 1)
	b.must(err)
	if len(claimed) != 1 {
		b.Fatalf("%d were claimed, want 1", len(claimed))
	}
	return claimed[0]
}

func (b *bench) nothingToClaim() {
	b.Helper()
	claimed, err := b.Claim(ctx, 9)
	b.must(err)
	for _, inbound := range claimed {
		b.Fatalf("claimed %s, which must not run", inbound.In.ID)
	}
}

func (b *bench) done(id int64) {
	b.Helper()
	b.must(b.finish(id, store.Done, store.Outcome{}))
}

func (b *bench) finish(id int64, state store.State, out store.Outcome) error {
	_, err := b.Finish(ctx, id, state, out)
	return err
}

func (b *bench) inbound(id int64) store.Inbound {
	b.Helper()
	inbound, found, err := b.Inbound(ctx, id)
	b.must(err)
	if !found {
		b.Fatalf("inbound %d is gone", id)
	}
	return inbound
}

// parts are network calls to a chat, one a text.
func parts(chat channels.Chat, texts ...string) []channels.Outgoing {
	var out []channels.Outgoing
	for _, text := range texts {
		out = append(out, channels.Outgoing{Chat: chat, Kind: channels.Answer, Text: text})
	}
	return out
}

func (b *bench) enqueue(l store.Outbound) (store.Delivery, bool) {
	b.Helper()
	p, sending, err := b.Enqueue(ctx, l)
	b.must(err)
	return p, sending
}

func (b *bench) next(chat channels.Chat) store.Delivery {
	b.Helper()
	p, found, err := b.NextDelivery(ctx, chat)
	b.must(err)
	if !found {
		b.Fatalf("there is nothing to send to %s", chat)
	}
	return p
}

func (b *bench) nothingToSend(chat channels.Chat) {
	b.Helper()
	p, found, err := b.NextDelivery(ctx, chat)
	b.must(err)
	if found {
		b.Fatalf("delivery %q must not be sent now", p.Out.Text)
	}
}

func (b *bench) settle(id int64, state store.State) {
	b.Helper()
	b.must(b.settled(id, state, "", "", 0))
}

func (b *bench) settled(id int64, state store.State, receipt, reason string, after time.Duration) error {
	_, err := b.Settle(ctx, id, store.Settlement{State: state, Receipt: receipt, Reason: reason, After: after})
	return err
}

// sendAll sends what is pending of a chat and returns the texts in order.
func (b *bench) sendAll(chat channels.Chat) []string {
	b.Helper()
	texts := []string{}
	for {
		p, found, err := b.NextDelivery(ctx, chat)
		b.must(err)
		if !found {
			return texts
		}
		texts = append(texts, p.Out.Text)
		b.settle(p.ID, store.Sent)
	}
}
