// Package storetest is the test suite of the store's contract, which the tests of every engine run.
// It does not know how an engine stores anything.
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
// Close, and must then find the stored data.
type Open func(t *testing.T, o Options) store.Store

// Options say how an engine is opened.
type Options struct {
	Dir string
	Now func() time.Time
	// Beside opens a second handle beside the open one. When the second handle adopts, the engine
	// considers the member of the first one gone.
	Beside bool
	// Live, if not "", is the name of another member, which stays alive beside the first one. Only
	// RunMembers sets it.
	Live string
}

// theme is the tests of one part of the contract.
type theme struct {
	name  string
	tests []contractTest
}

// Run runs the suite.
func Run(t *testing.T, open Open) {
	runThemes(t, open, []theme{
		{"receive", receiveTests},
		{"cursors", cursorTests},
		{"parts", partTests},
		{"changes", changeTests},
		{"gather", gatherTests},
		{"follow", followTests},
		{"claim", claimTests},
		{"finish", finishTests},
		{"restart", restartTests},
		{"cancel", cancelTests},
		{"queue", queueTests},
		{"crash records", crashRecordTests},
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
		{"details", detailTests},
		{"access", accessTests},
		{"outsiders", outsiderTests},
		{"dismiss", dismissTests},
		{"questions", questionTests},
		{"secrets", secretTests},
		{"spool", spoolTests},
		{"retention", retentionTests},
		{"automatic messages", automaticTests},
		{"schedules", scheduleTests},
		{"usage", usageTests},
		{"quotas", quotaTests},
		{"search", searchTests},
		{"people", peopleTests},
		{"proof", proofTests},
		{"concurrency", concurrencyTests},
		{"lifetime", lifetimeTests},
	})
}

// RunMembers runs the tests of an engine for several daemons.
func RunMembers(t *testing.T, open Open) { runThemes(t, open, []theme{{"live members", liveTests}}) }

func runThemes(t *testing.T, open Open, themes []theme) {
	for _, theme := range themes {
		t.Run(theme.name, func(t *testing.T) {
			for _, c := range theme.tests {
				t.Run(c.name, func(t *testing.T) { c.run(newFixture(t, open)) })
			}
		})
	}
}

// contractTest checks one sentence of the contract.
type contractTest struct {
	name string
	run  func(b *fixture)
}

// fixture is an engine under test, with a clock that only advance moves.
type fixture struct {
	*testing.T
	store.Store
	dir   string
	open  Open
	codes int // the number of pairing codes created

	mu   sync.Mutex
	time time.Time
}

func newFixture(t *testing.T, open Open) *fixture {
	b := &fixture{T: t, dir: t.TempDir(), open: open, time: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	b.Store = open(t, Options{Dir: b.dir, Now: b.now})
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return b
}

func (b *fixture) now() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.time
}

func (b *fixture) advance(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.time = b.time.Add(d)
}

// reopen closes and opens the store, like a restart of the daemon.
func (b *fixture) reopen() {
	b.Helper()
	b.noError(b.Close())
	b.Store = b.open(b.T, Options{Dir: b.dir, Now: b.now})
}

func (b *fixture) noError(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// equal compares values as text, which is enough for IDs, texts and states.
func (b *fixture) equal(what string, got, want any) {
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

// incoming returns a message whose text is its ID.
func incoming(chat channels.Chat, id string) channels.Incoming {
	return channels.Incoming{Chat: chat, ID: id, Text: id, User: channels.User{ID: "7", Name: "Ann"}}
}

func (b *fixture) receive(request store.ReceiveRequest) (store.Inbound, store.Disposition) {
	b.Helper()
	result, err := b.Receive(ctx, request)
	b.noError(err)
	return result.Inbound, result.Disposition
}

// adopt takes over the work of another handle.
func (b *fixture) adopt() store.Adopted {
	b.Helper()
	adopted, err := b.Adopt(ctx)
	b.noError(err)
	return adopted
}

// receiveQueued receives messages that wait for their turns.
func (b *fixture) receiveQueued(chat channels.Chat, ids ...string) []store.Inbound {
	b.Helper()
	var inbounds []store.Inbound
	for _, id := range ids {
		inbound, result := b.receive(store.ReceiveRequest{In: incoming(chat, id)})
		b.equal("the result on "+id, result, store.Queued)
		inbounds = append(inbounds, inbound)
	}
	return inbounds
}

// receiveClaimed receives a message and claims it at once.
func (b *fixture) receiveClaimed(chat channels.Chat, id string) store.Inbound {
	b.Helper()
	inbound, result := b.receive(store.ReceiveRequest{In: incoming(chat, id), Claim: true})
	b.equal("the result on "+id, result, store.Claimed)
	return inbound
}

func (b *fixture) claimOne() store.Inbound {
	b.Helper()
	claimed, err := b.Claim(ctx, store.ClaimRequest{Limit: 1})
	b.noError(err)
	if len(claimed) != 1 {
		b.Fatalf("%d were claimed, want 1", len(claimed))
	}
	return claimed[0]
}

func (b *fixture) nothingToClaim() {
	b.Helper()
	claimed, err := b.Claim(ctx, store.ClaimRequest{Limit: 9})
	b.noError(err)
	for _, inbound := range claimed {
		b.Fatalf("claimed %s, which must not run", inbound.In.ID)
	}
}

func (b *fixture) finishDone(id int64) {
	b.Helper()
	b.noError(b.tryFinish(id, store.Done, store.Outcome{}))
}

func (b *fixture) tryFinish(id int64, state store.State, out store.Outcome) error {
	_, err := b.Finish(ctx, id, state, out)
	return err
}

func (b *fixture) inbound(id int64) store.Inbound {
	b.Helper()
	inbound, found, err := b.Inbound(ctx, id)
	b.noError(err)
	if !found {
		b.Fatalf("inbound %d is gone", id)
	}
	return inbound
}

// outgoingTexts returns a network call for each text.
func outgoingTexts(chat channels.Chat, texts ...string) []channels.Outgoing {
	var out []channels.Outgoing
	for _, text := range texts {
		out = append(out, channels.Outgoing{Chat: chat, Kind: channels.Answer, Text: text})
	}
	return out
}

func (b *fixture) enqueue(outbound store.Outbound) (store.Delivery, bool) {
	b.Helper()
	delivery, sending, err := b.Enqueue(ctx, outbound)
	b.noError(err)
	return delivery, sending
}

func (b *fixture) nextDelivery(chat channels.Chat) store.Delivery {
	b.Helper()
	delivery, found, err := b.NextDelivery(ctx, chat, 0)
	b.noError(err)
	if !found {
		b.Fatalf("there is nothing to send to %s", chat)
	}
	return delivery
}

func (b *fixture) nothingToSend(chat channels.Chat) {
	b.Helper()
	delivery, found, err := b.NextDelivery(ctx, chat, 0)
	b.noError(err)
	if found {
		b.Fatalf("delivery %q must not be sent now", delivery.Out.Text)
	}
}

func (b *fixture) settle(id int64, state store.State) {
	b.Helper()
	b.noError(b.trySettle(id, state, "", "", 0))
}

func (b *fixture) trySettle(id int64, state store.State, receipt, reason string, after time.Duration) error {
	_, err := b.Settle(ctx, id, store.Settlement{State: state, Receipt: receipt, Reason: reason, After: after})
	return err
}

// sendAll sends all pending deliveries of a chat and returns their texts in order.
func (b *fixture) sendAll(chat channels.Chat) []string {
	b.Helper()
	texts := []string{}
	for {
		delivery, found, err := b.NextDelivery(ctx, chat, 0)
		b.noError(err)
		if !found {
			return texts
		}
		texts = append(texts, delivery.Out.Text)
		b.settle(delivery.ID, store.Sent)
	}
}
