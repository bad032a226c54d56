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
	"nanobot/internal/musttest"
)

// BenchmarkEnqueueAgainstOneSync compares a durable enqueue with the least that it could cost: one
// block appended to a file in the same folder, and one fdatasync. The two alternate, so that a slow
// disk slows both. Budget: at most 4.
func BenchmarkEnqueueAgainstOneSync(b *testing.B) {
	dir := b.TempDir()
	s := openStore(b, dir, sqlite.Options{})
	defer closeStore(b, s)
	f := musttest.Get(os.Create(filepath.Join(dir, "plain")))(b)
	defer func() { _ = f.Close() }()
	var plain, durable []time.Duration
	for n := 0; b.Loop(); n++ {
		plain = append(plain, measureTime(b, func() error { return appendAndSync(f) }))
		durable = append(durable, measureTime(b, func() error {
			_, _, err := s.Enqueue(ctx, shortAnswer(n, 1+n%1000))
			return err
		}))
	}
	b.ReportMetric(float64(median(durable))/float64(median(plain)), "p50/fdatasync")
	b.ReportMetric(float64(median(durable).Microseconds()), "p50-µs")
}

// appendAndSync makes the cheapest durable write.
func appendAndSync(f *os.File) error {
	if _, err := f.Write(make([]byte, 4096)); err != nil {
		return err
	}
	return unix.Fdatasync(int(f.Fd()))
}

// BenchmarkManyWritersAgainstOne compares the throughput of 32 writers, each to its own chat, with
// one. All deliveries are sent. Budget: at least 5 where one writer waits for the disk and not for
// the processor; so the benchmark also reports the enqueues per fdatasync.
func BenchmarkManyWritersAgainstOne(b *testing.B) {
	dir := b.TempDir()
	s := openStore(b, dir, sqlite.Options{})
	defer closeStore(b, s)
	f := musttest.Get(os.Create(filepath.Join(dir, "plain")))(b)
	defer func() { _ = f.Close() }()
	var inbound atomic.Int64
	rate := func(writers, each int) float64 {
		first := make([]store.Delivery, writers) // the first delivery to each writer's chat is marked as sending
		took := measureTime(b, func() error {
			return runParallel(writers, func(w int) error {
				for range each {
					d, sending, err := s.Enqueue(ctx, shortAnswer(int(inbound.Add(1)), w))
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
		musttest.Do(b, runParallel(writers, func(w int) error { return settleAll(s, w, first[w]) }))
		b.StartTimer()
		return float64(writers*each) / took.Seconds()
	}
	var one, many []float64
	var plain []time.Duration
	for b.Loop() {
		for range 100 {
			plain = append(plain, measureTime(b, func() error { return appendAndSync(f) }))
		}
		one, many = append(one, rate(1, 300)), append(many, rate(32, 100))
	}
	b.ReportMetric(median(many)/median(one), "32-writers/one")
	b.ReportMetric(median(many), "enqueues/s")
	b.ReportMetric(median(many)*median(plain).Seconds(), "enqueues/fdatasync")
}

// settleAll settles all deliveries of a chat, of which the first is marked as sending.
func settleAll(s *sqlite.Store, chat int, first store.Delivery) error {
	c := channels.Chat{Channel: "net", ID: fmt.Sprint(chat)}
	if _, err := s.Settle(ctx, first.ID, store.Settlement{State: store.Sent, Receipt: "1"}); err != nil {
		return err
	}
	for {
		delivery, found, err := s.NextDelivery(ctx, c, 0)
		if err != nil || !found {
			return err
		}
		if _, err := s.Settle(ctx, delivery.ID, store.Settlement{State: store.Sent, Receipt: "1"}); err != nil {
			return err
		}
	}
}

// BenchmarkOpenWithBacklog measures the time from Open to the first claimed inbound message with
// 100,000 pending ones, in one chat and in as many chats. Budget: 300 ms, and a heap that does not
// grow with the backlog.
func BenchmarkOpenWithBacklog(b *testing.B) {
	for _, chats := range []int{1, 100_000} {
		b.Run(fmt.Sprintf("chats=%d", chats), func(b *testing.B) {
			dir := b.TempDir()
			fillQueues(b, dir, chats, 100_000)
			before := heapSize()
			for b.Loop() {
				s := openStore(b, dir, sqlite.Options{})
				musttest.Get(s.Adopt(ctx))(b)
				claimed, err := s.Claim(ctx, store.ClaimRequest{Limit: 1})
				if err != nil || len(claimed) != 1 {
					b.Fatal(claimed, err)
				}
				inbound := claimed[0]
				b.StopTimer()
				b.ReportMetric(float64(heapSize()-before)/1024, "heap-KiB")
				musttest.Do(b, s.Requeue(ctx, inbound.ID, true))
				closeStore(b, s)
				b.StartTimer()
			}
		})
	}
}

// fillQueues fills the inbox and the outbox.
func fillQueues(tb testing.TB, dir string, chats, n int) {
	tb.Helper()
	s := openStore(tb, dir, sqlite.Options{})
	defer closeStore(tb, s)
	musttest.Do(tb, runParallel(200, func(w int) error {
		for i := w; i < n; i += 200 {
			chat := channels.Chat{Channel: "net", ID: fmt.Sprint(i % chats)}
			in := channels.Incoming{Chat: chat, ID: fmt.Sprint(i), Text: "hello there, please do something for me"}
			if _, err := s.Receive(ctx, store.ReceiveRequest{In: in}); err != nil {
				return err
			}
			outbound := shortAnswer(i, i%chats)
			outbound.Claim = false
			if _, _, err := s.Enqueue(ctx, outbound); err != nil {
				return err
			}
		}
		return nil
	}))
}

func shortAnswer(n, chat int) store.Outbound {
	c := channels.Chat{Channel: "net", ID: fmt.Sprint(chat)}
	return store.Outbound{
		Inbound: int64(n), Sequence: 1, Parts: []channels.Outgoing{{Chat: c, Kind: channels.Answer, Text: "a short answer to a short question"}},
		Entry: &store.Entry{Role: "agent", Text: "a short answer to a short question"}, Claim: true,
	}
}

// BenchmarkAPersonAmongAutomaticMessages measures how much longer a person's message takes from its
// arrival to the end of its turn if 10,000 messages of a hook wait in the chat. Budget: at most 2.
func BenchmarkAPersonAmongAutomaticMessages(b *testing.B) {
	chat, n := channels.Chat{Channel: "net", ID: "a"}, 0
	turn := func(waiting int) func() error {
		s := openStore(b, b.TempDir(), sqlite.Options{})
		b.Cleanup(func() { closeStore(b, s) })
		queueAutomatic(b, s, chat, waiting)
		return func() error {
			n++
			in := channels.Incoming{Chat: chat, ID: fmt.Sprint(n), User: channels.User{ID: "7"}}
			got := musttest.Get(s.Receive(ctx, store.ReceiveRequest{In: in, QueueLimit: 20}))(b)
			if claimed := musttest.Get(s.Claim(ctx, store.ClaimRequest{Limit: 1}))(b); claimed[0].ID != got.Inbound.ID {
				b.Fatalf("claimed %+v", claimed[0].In)
			}
			_, err := s.Finish(ctx, got.Inbound.ID, store.Done, store.Outcome{})
			return err
		}
	}
	one, many := turn(1), turn(10_000)
	var few, full []time.Duration
	for b.Loop() {
		few, full = append(few, measureTime(b, one)), append(full, measureTime(b, many))
	}
	b.ReportMetric(float64(median(full))/float64(median(few)), "10000/1")
}

func measureTime(tb testing.TB, do func() error) time.Duration {
	tb.Helper()
	began := time.Now()
	musttest.Do(tb, do())
	return time.Since(began)
}

func median[T int64 | float64 | time.Duration](all []T) T {
	slices.Sort(all)
	return all[len(all)/2]
}

func heapSize() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
