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

// crowd is how many goroutines work at once.
const crowd = 32

// together runs a crowd and waits for it.
func (b *bench) together(do func(n int) error) {
	b.Helper()
	var wg sync.WaitGroup
	errs := make([]error, crowd)
	for n := range crowd {
		wg.Go(func() { errs[n] = do(n) })
	}
	wg.Wait()
	b.must(errors.Join(errs...))
}

var concurrencyTests = []test{
	{"messages received side by side are all there, each once", func(b *bench) {
		const each = 10
		var fresh atomic.Int64
		b.together(func(n int) error {
			chat := channels.Chat{Channel: "net", ID: strconv.Itoa(n / 2)} // two offer the same messages
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
		b.equal("how many were queued", fresh.Load(), crowd/2*each)
		b.equal("how many wait", b.waiting(channels.Chat{}), crowd/2*each)
	}},
	{"of many who would run a chat's messages at once only one may", func(b *bench) {
		var claimed atomic.Int64
		b.together(func(n int) error {
			result, err := b.Receive(ctx, store.ReceiveRequest{In: incoming(ann, strconv.Itoa(n)), Claim: true})
			if result.Disposition == store.Claimed {
				claimed.Add(1)
			}
			return err
		})
		b.equal("how many were claimed", claimed.Load(), 1)
		b.equal("how many wait", b.waiting(ann), crowd-1)
	}},
	{"nothing is claimed twice, no chat runs twice, and order holds", func(b *bench) {
		const chats, each = 8, 12
		for i := range each {
			for c := range chats {
				b.queue(channels.Chat{Channel: "net", ID: strconv.Itoa(c)}, fmt.Sprintf("%03d", i))
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
			return b.finish(i.ID, store.Done, store.Outcome{})
		}
		var left, vain atomic.Int64
		left.Store(chats * each)
		b.together(func(int) error {
			for left.Load() > 0 {
				claimed, err := b.Claim(ctx, 1+int(left.Load())%3)
				if err != nil {
					return err
				}
				if len(claimed) == 0 {
					if vain.Add(1) > 1_000_000 {
						return fmt.Errorf("%d inbounds never come up", left.Load())
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
	{"deliveries of a chat go one at a time, in order, none lost", func(b *bench) {
		const each = 6
		b.together(func(n int) error {
			for i := range each {
				_, _, err := b.Enqueue(ctx, store.Outbound{Parts: parts(ann, fmt.Sprintf("%d.%d", n, i))})
				if err != nil {
					return err
				}
			}
			return nil
		})
		var mu sync.Mutex
		var sent []store.Delivery
		b.together(func(int) error {
			for {
				p, found, err := b.NextDelivery(ctx, ann)
				if err != nil {
					return err
				}
				mu.Lock()
				if found {
					sent = append(sent, p)
				}
				all := len(sent) == crowd*each
				mu.Unlock()
				if found {
					err = b.settled(p.ID, store.Sent, "", "", 0)
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
	{"one caller's mistake does not touch the others", func(b *bench) {
		var wrong atomic.Int64
		b.together(func(n int) error {
			if n%2 == 0 {
				if err := b.finish(999, store.Done, store.Outcome{}); errors.Is(err, store.ErrState) {
					wrong.Add(1)
				}
				return nil
			}
			_, err := b.Receive(ctx, store.ReceiveRequest{In: incoming(ann, strconv.Itoa(n))})
			return err
		})
		b.equal("how many were refused", wrong.Load(), crowd/2)
		b.equal("how many wait", b.waiting(ann), crowd/2)
	}},
	{"a caller who gives up learns what really happened", func(b *bench) {
		var stored atomic.Int64
		b.together(func(n int) error {
			hurried, end := context.WithCancel(ctx)
			var wg sync.WaitGroup
			wg.Go(end)
			_, err := b.Receive(hurried, store.ReceiveRequest{In: incoming(ann, strconv.Itoa(n))})
			wg.Wait()
			if err == nil {
				stored.Add(1)
			} else if !errors.Is(err, context.Canceled) {
				return err
			}
			return nil
		})
		b.equal("how many wait", b.waiting(ann), stored.Load())
	}},
}
