package storetest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// parallelism is the number of goroutines of a concurrency test.
const parallelism = 32

// runParallel calls do in many goroutines and waits for them.
func (b *fixture) runParallel(do func(n int) error) {
	b.Helper()
	var wg sync.WaitGroup
	errs := make([]error, parallelism)
	for n := range parallelism {
		wg.Go(func() { errs[n] = do(n) })
	}
	wg.Wait()
	b.noError(errors.Join(errs...))
}

var concurrencyTests = []contractTest{
	{"messages received in parallel are all stored, each once", func(b *fixture) {
		const each = 10
		var fresh atomic.Int64
		b.runParallel(func(n int) error {
			chat := channels.Chat{Channel: "net", ID: strconv.Itoa(n / 2)} // two goroutines receive the same messages
			for i := range each {
				result, err := b.Receive(ctx, store.ReceiveRequest{In: incoming(chat, strconv.Itoa(i)), Cursor: "c"})
				if err != nil {
					return err
				}
				if result.Disposition == store.Queued {
					fresh.Add(1)
				}
			}
			return nil
		})
		b.reopen()
		b.equal("how many were queued", fresh.Load(), parallelism/2*each)
		b.equal("how many wait", b.countWaiting(channels.Chat{}), parallelism/2*each)
	}},
	{"of many parallel claims of a chat only one is granted", func(b *fixture) {
		var claimed atomic.Int64
		b.runParallel(func(n int) error {
			result, err := b.Receive(ctx, store.ReceiveRequest{In: incoming(ann, strconv.Itoa(n)), Claim: true})
			if result.Disposition == store.Claimed {
				claimed.Add(1)
			}
			return err
		})
		b.equal("how many were claimed", claimed.Load(), 1)
		b.equal("how many wait", b.countWaiting(ann), parallelism-1)
	}},
	{"no message is claimed twice, no chat runs two, and the order is kept", func(b *fixture) {
		const chats, each = 8, 12
		for i := range each {
			for c := range chats {
				b.receiveQueued(channels.Chat{Channel: "net", ID: strconv.Itoa(c)}, fmt.Sprintf("%03d", i))
			}
		}
		var mu sync.Mutex
		ran, busy := map[channels.Chat][]string{}, map[channels.Chat]bool{}
		begin := func(i store.Inbound) error {
			mu.Lock()
			defer mu.Unlock()
			if busy[i.In.Chat] {
				return fmt.Errorf("two run in %s", i.In.Chat)
			}
			busy[i.In.Chat] = true
			ran[i.In.Chat] = append(ran[i.In.Chat], i.In.ID)
			return nil
		}
		end := func(i store.Inbound) error {
			mu.Lock()
			busy[i.In.Chat] = false
			mu.Unlock()
			return b.tryFinish(i.ID, store.Done, store.Outcome{})
		}
		var left, failed atomic.Int64
		left.Store(chats * each)
		b.runParallel(func(int) error {
			for left.Load() > 0 {
				claimed, err := b.Claim(ctx, store.ClaimRequest{Limit: 1 + int(left.Load())%3})
				if err != nil {
					return err
				}
				if len(claimed) == 0 {
					if failed.Add(1) > 1_000_000 {
						return fmt.Errorf("%d messages are never claimed", left.Load())
					}
					continue
				}
				for _, inbound := range claimed {
					if err := errors.Join(begin(inbound), end(inbound)); err != nil {
						return err
					}
					left.Add(-1)
				}
			}
			return nil
		})
		for chat, ids := range ran {
			for i, id := range ids {
				b.equal("what ran in "+chat.String(), id, fmt.Sprintf("%03d", i))
			}
			b.equal("how many", len(ids), each)
		}
		b.equal("how many chats", len(ran), chats)
	}},
	{"deliveries of a chat are sent one at a time, in order, and none is lost", func(b *fixture) {
		const each = 6
		b.runParallel(func(n int) error {
			for i := range each {
				_, _, err := b.Enqueue(ctx, store.Outbound{Parts: outgoingTexts(ann, fmt.Sprintf("%d.%d", n, i))})
				if err != nil {
					return err
				}
			}
			return nil
		})
		var mu sync.Mutex
		var sent []store.Delivery
		b.runParallel(func(int) error {
			for {
				p, found, err := b.NextDelivery(ctx, ann, 0)
				if err != nil {
					return err
				}
				mu.Lock()
				if found {
					sent = append(sent, p)
				}
				all := len(sent) == parallelism*each
				mu.Unlock()
				if found {
					err = b.trySettle(p.ID, store.Sent, "", "", 0)
				}
				if all || err != nil {
					return err
				}
			}
		})
		for i := 1; i < len(sent); i++ {
			if sent[i].ID <= sent[i-1].ID {
				b.Fatalf("delivery %d went after %d", sent[i].ID, sent[i-1].ID)
			}
		}
	}},
	{"a failed change does not affect others in the same transaction", func(b *fixture) {
		var wrong atomic.Int64
		b.runParallel(func(n int) error {
			if n%2 == 0 {
				if err := b.tryFinish(999, store.Done, store.Outcome{}); errors.Is(err, store.ErrState) {
					wrong.Add(1)
				}
				return nil
			}
			_, err := b.Receive(ctx, store.ReceiveRequest{In: incoming(ann, strconv.Itoa(n))})
			return err
		})
		b.equal("how many were refused", wrong.Load(), parallelism/2)
		b.equal("how many wait", b.countWaiting(ann), parallelism/2)
	}},
	{"a cancelled call reports what really happened", func(b *fixture) {
		var stored atomic.Int64
		b.runParallel(func(n int) error {
			cancelled, cancel := context.WithCancel(ctx)
			var wg sync.WaitGroup
			wg.Go(cancel)
			_, err := b.Receive(cancelled, store.ReceiveRequest{In: incoming(ann, strconv.Itoa(n))})
			wg.Wait()
			if err == nil {
				stored.Add(1)
			} else if !errors.Is(err, context.Canceled) {
				return err
			}
			return nil
		})
		b.equal("how many wait", b.countWaiting(ann), stored.Load())
	}},
}
