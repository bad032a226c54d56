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

	"nanobot/terminal/jobs"
)

// gib prints 1 GiB, and little else is done for it than to write it.
var gib = []string{"-c", "1073741824", "/dev/zero"}

// BenchmarkGiB reports how long a job takes that prints 1 GiB, as a multiple of reading the same
// pipe into nothing, and by how much the memory that we have from the system has grown at most.
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
		id, err := table.Create(jobs.Command{Line: "head", Args: gib, Env: usualEnv})
		if err != nil {
			b.Fatal(err)
		}
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
		if err := table.Release(context.Background(), id); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(median(took)/median(floors), "×floor")
	b.ReportMetric(float64(most-before)/(1<<20), "MiB-grown")
}

func discard(b *testing.B) {
	cmd := exec.Command("head", gib...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	if n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, out, make([]byte, 32<<10)); n != 1<<30 || err != nil {
		b.Fatal(n, err)
	}
	if err := cmd.Wait(); err != nil {
		b.Fatal(err)
	}
}

func median(d []time.Duration) float64 {
	slices.Sort(d)
	return float64(d[len(d)/2])
}

// resident returns how much memory we have from the system.
func resident() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Sys - m.HeapReleased
}

// BenchmarkJob reports how long a command takes that does nothing, as a multiple of os/exec's.
func BenchmarkJob(b *testing.B) {
	table := jobs.NewTable(jobs.Options{Dir: b.TempDir()})
	defer table.Close()
	ctx := context.Background()
	var took, floors []time.Duration
	for b.Loop() {
		began := time.Now()
		if _, err := exec.Command("true").CombinedOutput(); err != nil {
			b.Fatal(err)
		}
		floors = append(floors, time.Since(began))

		began = time.Now()
		id, err := table.Create(jobs.Command{Line: "true", Env: usualEnv})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := table.Wait(ctx, id); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(began))
		if err := table.Release(ctx, id); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(median(took)/median(floors), "×floor")
}

// BenchmarkOutput is what it costs to ask a job that has printed 1 MiB.
func BenchmarkOutput(b *testing.B) {
	for name, source := range map[string]string{"text": "yes 'häuser und bäume'", "noise": "cat " + os.Args[0]} {
		b.Run(name, func(b *testing.B) {
			table := jobs.NewTable(jobs.Options{Dir: b.TempDir()})
			defer table.Close()
			id, err := table.Create(jobs.Command{Line: source + " | head -c 2000000", Env: usualEnv})
			if err != nil {
				b.Fatal(err)
			}
			if _, err := table.Wait(context.Background(), id); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(1 << 20)
			for b.Loop() {
				if o, err := table.Output(id); err != nil || !o.Truncated {
					b.Fatal(err)
				}
			}
		})
	}
}
