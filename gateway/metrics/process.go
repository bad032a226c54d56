package metrics

import (
	"os"
	"runtime"
	"runtime/metrics"
	"time"

	"golang.org/x/sys/unix"

	"nanobot/internal/procfs"
)

var processStart = time.Now()

// writeProcess writes the resource usage of this process, under the names that Prometheus'
// libraries use.
func writeProcess(p *page) {
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(heap)
	p.gauge("go_goroutines", "Goroutines.", float64(runtime.NumGoroutine()))
	if heap[0].Value.Kind() == metrics.KindUint64 {
		p.gauge("go_memstats_heap_alloc_bytes", "Memory of the objects on the heap.", float64(heap[0].Value.Uint64()))
	}
	p.gauge("process_start_time_seconds", "When it began, in seconds since 1970.", float64(processStart.UnixMilli())/1000)
	var used unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &used) == nil {
		p.counter("process_cpu_seconds_total", "Processor time used.",
			time.Duration(used.Utime.Nano()+used.Stime.Nano()).Seconds())
	}
	if s, _ := procfs.ReadStat(os.Getpid()); s.Resident > 0 {
		p.gauge("process_resident_memory_bytes", "Memory in use.", float64(s.Resident))
	}
	if files, err := procfs.OpenFiles(); err == nil {
		p.gauge("process_open_fds", "Open file descriptors.", float64(files))
	}
	var most unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &most) == nil {
		p.gauge("process_max_fds", "How many file descriptors may be open.", float64(most.Cur))
	}
}
