package acp_test

import (
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"nanobot/terminal"
)

// BenchmarkAgentChunks makes the agent send chunks as fast as possible. The rate of the updates
// that a chat sees does not depend on the number of chunks.
func BenchmarkAgentChunks(b *testing.B) {
	const words = 10_000
	p := newFixture(b, "").person("a")
	p.send("hello")
	partials, began := 0, time.Now()
	p.onFrame = func(f terminal.Frame) {
		if f.Kind == terminal.Partial {
			partials++
		}
	}
	for b.Loop() {
		if n := len(strings.Fields(p.send("chunks 10000").text(terminal.Message))); n != words {
			b.Fatalf("%d of %d words came", n, words)
		}
	}
	took := time.Since(began).Seconds()
	b.ReportMetric(float64(b.N*words)/took, "chunks/s")
	b.ReportMetric(float64(partials)/took, "partials/s")
}

// BenchmarkManyChats reports the turns a second of eight workers, whose turns go round the chats.
// The rate hardly depends on the number of chats as long as there is memory for their agents.
func BenchmarkManyChats(b *testing.B) {
	const workers = 8
	for _, chats := range []int{16, 96} {
		b.Run(strconv.Itoa(chats), func(b *testing.B) {
			d := newFixture(b, "")
			people := make([]*person, chats)
			for i := range people {
				people[i] = d.person(strconv.Itoa(i))
				people[i].send("hello")
			}
			b.ResetTimer()
			var all sync.WaitGroup
			for w := range workers {
				all.Go(func() {
					for i := w; i < b.N; i += workers {
						people[i%chats/workers*workers+w].send("hello")
					}
				})
			}
			all.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "turns/s")
			if n, _ := d.runner.RestartedAgents(); n > 0 {
				b.Logf("%d agents were started again", n)
			}
		})
	}
}

// BenchmarkIdleAgents reports the memory that an idle persistent agent takes in the gateway.
func BenchmarkIdleAgents(b *testing.B) {
	const agents = 10
	for b.Loop() {
		d := newFixture(b, "")
		before := memoryInUse()
		for i := range agents {
			d.person(string(rune('a' + i))).send("chunks 1000")
		}
		b.ReportMetric(float64(memoryInUse()-before)/agents/1024, "KiB/agent")
		d.runner.Close()
	}
}

// memoryInUse returns the size of the heap and the stacks.
func memoryInUse() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}
