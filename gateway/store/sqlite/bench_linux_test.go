package sqlite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/gateway/store/sqlite"
)

// Enqueueing durably against the least it could cost: one block appended to a file in the same
// folder, and one fdatasync. The two take turns, so that a noisy disk is noisy for both. Budget: at
// most 4.
func BenchmarkEnqueueAgainstOneSync(b *testing.B) {
	dir := b.TempDir()
	s := open(b, dir, sqlite.Options{})
	defer closed(b, s)
	f, err := os.Create(filepath.Join(dir, "plain"))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var plain, durable []time.Duration
	for n := 0; b.Loop(); n++ {
		plain = append(plain, took(b, func() error { return appended(f) }))
		durable = append(durable, took(b, func() error {
			_, _, err := s.Enqueue(ctx, preparedOutbound(n, 1+n%1000))
			return err
		}))
	}
	b.ReportMetric(float64(median(durable))/float64(median(plain)), "p50/fdatasync")
	b.ReportMetric(float64(median(durable).Microseconds()), "p50-µs")
}

// appended is the least that a durable write costs.
func appended(f *os.File) error {
	if _, err := f.Write(make([]byte, 4096)); err != nil {
		return err
	}
	return unix.Fdatasync(int(f.Fd()))
}

// The throughput of 32 writers, each to its own chat, against one, on a store whose deliveries get
// sent. Budget: at least 5, where the disk and not the processor is what one writer waits for; so
// it also says how many enqueues there are for one fdatasync.
func BenchmarkManyWritersAgainstOne(b *testing.B) {
	dir := b.TempDir()
	s := open(b, dir, sqlite.Options{})
	defer closed(b, s)
	f, err := os.Create(filepath.Join(dir, "plain"))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var inbound atomic.Int64
	rate := func(writers, each int) float64 {
		first := make([]store.Delivery, writers) // of each writer's chat, which is marked sending
		took := took(b, func() error {
			return side(writers, func(w int) error {
				for range each {
					d, sending, err := s.Enqueue(ctx, preparedOutbound(int(inbound.Add(1)), w))
					if err != nil {
						return err
					}
					if sending {
						first[w] = d
					}
				}
				return nil
			})
		})
		b.StopTimer()
		if err := side(writers, func(w int) error { return deliver(s, w, first[w]) }); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		return float64(writers*each) / took.Seconds()
	}
	var one, many []float64
	var plain []time.Duration
	for b.Loop() {
		for range 100 {
			plain = append(plain, took(b, func() error { return appended(f) }))
		}
		one, many = append(one, rate(1, 300)), append(many, rate(32, 100))
	}
	b.ReportMetric(median(many)/median(one), "32-writers/one")
	b.ReportMetric(median(many), "enqueues/s")
	b.ReportMetric(median(many)*median(plain).Seconds(), "enqueues/fdatasync")
}

// deliver settles everything of a chat, of which the first delivery is marked sending.
func deliver(s *sqlite.Store, chat int, first store.Delivery) error {
	c := channels.Chat{Channel: "net", ID: fmt.Sprint(chat)}
	if _, err := s.Settle(ctx, first.ID, store.Settlement{State: store.Sent, Receipt: "1"}); err != nil {
		return err
	}
	for {
		p, found, err := s.NextDelivery(ctx, c)
		if err != nil || !found {
			return err
		}
		if _, err := s.Settle(ctx, p.ID, store.Settlement{State: store.Sent, Receipt: "1"}); err != nil {
			return err
		}
	}
}

// The time from Open to the first claimed inbound message with 100,000 pending, in one chat and in
// as many chats. Budget: 300 ms, and a heap that does not know the backlog.
func BenchmarkOpenWithBacklog(b *testing.B) {
	for _, chats := range []int{1, 100_000} {
		b.Run(fmt.Sprintf("chats=%d", chats), func(b *testing.B) {
			dir := b.TempDir()
			backlog(b, dir, chats, 100_000)
			before := heap()
			for b.Loop() {
				s := open(b, dir, sqlite.Options{})
				if _, err := s.Adopt(ctx); err != nil {
					b.Fatal(err)
				}
				claimed, err := s.Claim(ctx, 1)
				if err != nil || len(claimed) != 1 {
					b.Fatal(claimed, err)
				}
				inbound := claimed[0]
				b.StopTimer()
				b.ReportMetric(float64(heap()-before)/1024, "heap-KiB")
				if err := s.Requeue(ctx, inbound.ID, true); err != nil {
					b.Fatal(err)
				}
				closed(b, s)
				b.StartTimer()
			}
		})
	}
}

// backlog fills both boxes.
func backlog(tb testing.TB, dir string, chats, n int) {
	tb.Helper()
	s := open(tb, dir, sqlite.Options{})
	defer closed(tb, s)
	err := side(200, func(w int) error {
		for i := w; i < n; i += 200 {
			chat := channels.Chat{Channel: "net", ID: fmt.Sprint(i % chats)}
			in := channels.Incoming{Chat: chat, ID: fmt.Sprint(i), Text: "hello there, please do something for me"}
			if _, err := s.Receive(ctx, store.ReceiveRequest{In: in}); err != nil {
				return err
			}
			l := preparedOutbound(i, i%chats)
			l.Claim = false
			if _, _, err := s.Enqueue(ctx, l); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
}

func preparedOutbound(n, chat int) store.Outbound {
	c := channels.Chat{Channel: "net", ID: fmt.Sprint(chat)}
	return store.Outbound{
		Inbound: int64(n), Sequence: 1, Parts: []channels.Outgoing{{Chat: c, Kind: channels.Answer, Text: "a short answer to a short question"}},
		Entry: &store.Entry{Role: "agent", Text: "a short answer to a short question"}, Claim: true,
	}
}

func took(tb testing.TB, do func() error) time.Duration {
	tb.Helper()
	began := time.Now()
	if err := do(); err != nil {
		tb.Fatal(err)
	}
	return time.Since(began)
}

func median[T int64 | float64 | time.Duration](all []T) T {
	slices.Sort(all)
	return all[len(all)/2]
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
