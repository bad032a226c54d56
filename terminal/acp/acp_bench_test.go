package acp_test

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"nanobot/config"
	"nanobot/terminal"
)

// BenchmarkAgentChunks lets the agent say as many words as it can. The edits that a chat would see
// stay paced whatever their number.
func BenchmarkAgentChunks(b *testing.B) {
	const words = 10_000
	p := newDesk(b, "").person("a")
	p.says("hello")
	partials, began := 0, time.Now()
	p.saw = func(f terminal.Frame) {
		if f.Kind == terminal.Partial {
			partials++
		}
	}
	for b.Loop() {
		if n := len(strings.Fields(p.says("chunks 10000").text(terminal.Message))); n != words {
			b.Fatalf("%d of %d words came", n, words)
		}
	}
	took := time.Since(began).Seconds()
	b.ReportMetric(float64(b.N*words)/took, "chunks/s")
	b.ReportMetric(float64(partials)/took, "partials/s")
}

// BenchmarkIdleAgents tells what an agent that is kept costs the gateway.
func BenchmarkIdleAgents(b *testing.B) {
	const agents = 10
	for b.Loop() {
		d := newDesk(b, "", func(c *config.Terminal) { settings(c).MaxKept = agents })
		before := inUse()
		for i := range agents {
			d.person(string(rune('a' + i))).says("chunks 1000")
		}
		b.ReportMetric(float64(inUse()-before)/agents/1024, "KiB/agent")
		d.runner.Close()
	}
}

// inUse is what the heap and the stacks take.
func inUse() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}
