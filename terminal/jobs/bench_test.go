package jobs_test

import (
	"context"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"testing"
	"time"

	"nanobot/internal/musttest"
	"nanobot/terminal/jobs"
)

// printGiB are the arguments with which head prints 1 GiB with little work of its own.
var printGiB = []string{"-c", "1073741824", "/dev/zero"}

// BenchmarkGiB reports the time of a job that prints 1 GiB as a multiple of reading and discarding
// the same output, and the largest growth of the process's memory.
func BenchmarkGiB(b *testing.B) {
	table := jobs.NewTable(jobs.Options{Dir: b.TempDir()})
	defer table.Close()
	var took, floors []time.Duration
	before := resident()
	most := before
	for b.Loop() {
		began := time.Now()
		discard(b)
		floors = append(floors, time.Since(began))

		began = time.Now()
		id := musttest.Get(table.Create(jobs.Command{Line: "head", Args: printGiB, Env: usualEnv}))(b)
		for ended := false; !ended; {
			most = max(most, resident())
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
			_, err := table.Wait(ctx, id)
			ended = err == nil
			cancel()
		}
		took = append(took, time.Since(began))
		if o, _ := table.Output(id); len(o.Text) != 1<<20 || !o.Truncated {
			b.Fatalf("%d bytes are kept", len(o.Text))
		}
		musttest.Do(b, table.Release(context.Background(), id))
	}
	b.ReportMetric(median(took)/median(floors), "×floor")
	b.ReportMetric(float64(most-before)/(1<<20), "MiB-grown")
}

func discard(b *testing.B) {
	cmd := exec.Command("head", printGiB...)
	out := musttest.Get(cmd.StdoutPipe())(b)
	musttest.Do(b, cmd.Start())
	if n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, out, make([]byte, 32<<10)); n != 1<<30 || err != nil {
		b.Fatal(n, err)
	}
	musttest.Do(b, cmd.Wait())
}

func median(d []time.Duration) float64 {
	slices.Sort(d)
	return float64(d[len(d)/2])
}

// resident returns how much memory the process has got from the system.
func resident() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Sys - m.HeapReleased
}

// BenchmarkJob reports the time of a command that does nothing as a multiple of that with os/exec.
func BenchmarkJob(b *testing.B) {
	table := jobs.NewTable(jobs.Options{Dir: b.TempDir()})
	defer table.Close()
	ctx := context.Background()
	var took, floors []time.Duration
	for b.Loop() {
		began := time.Now()
		musttest.Get(exec.Command("true").CombinedOutput())(b)
		floors = append(floors, time.Since(began))

		began = time.Now()
		id := musttest.Get(table.Create(jobs.Command{Line: "true", Env: usualEnv}))(b)
		musttest.Get(table.Wait(ctx, id))(b)
		took = append(took, time.Since(began))
		musttest.Do(b, table.Release(ctx, id))
	}
	b.ReportMetric(median(took)/median(floors), "×floor")
}

// BenchmarkOutput measures Output for a job that has printed 1 MiB.
func BenchmarkOutput(b *testing.B) {
	for name, source := range map[string]string{"text": "yes 'häuser und bäume'", "noise": "cat " + os.Args[0]} {
		b.Run(name, func(b *testing.B) {
			table := jobs.NewTable(jobs.Options{Dir: b.TempDir()})
			defer table.Close()
			id := musttest.Get(table.Create(jobs.Command{Line: source + " | head -c 2000000", Env: usualEnv}))(b)
			musttest.Get(table.Wait(context.Background(), id))(b)
			b.SetBytes(1 << 20)
			for b.Loop() {
				if o, err := table.Output(id); err != nil || !o.Truncated {
					b.Fatal(err)
				}
			}
		})
	}
}
