package metrics

import (
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

var began = time.Now()

// process is what this program itself uses, by the names that Prometheus' own libraries give it.
func process(p *page) {
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(heap)
	p.gauge("go_goroutines", "Goroutines.", float64(runtime.NumGoroutine()))
	if heap[0].Value.Kind() == metrics.KindUint64 {
		p.gauge("go_memstats_heap_alloc_bytes", "Memory of the objects on the heap.", float64(heap[0].Value.Uint64()))
	}
	p.gauge("process_start_time_seconds", "When it began, in seconds since 1970.", float64(began.UnixMilli())/1000)
	var used unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &used) == nil {
		p.counter("process_cpu_seconds_total", "Processor time used.", time.Duration(used.Utime.Nano()+used.Stime.Nano()).Seconds())
	}
	if _, pages := stat("/proc/" + strconv.Itoa(os.Getpid()) + "/stat"); pages > 0 {
		p.gauge("process_resident_memory_bytes", "Memory in use.", float64(pages)*float64(os.Getpagesize()))
	}
	if files, err := os.ReadDir("/proc/self/fd"); err == nil {
		p.gauge("process_open_fds", "Open file descriptors.", float64(len(files)-1)) // but for the one that looks
	}
	var most unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &most) == nil {
		p.gauge("process_max_fds", "How many file descriptors may be open.", float64(most.Cur))
	}
}
