package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"nanobot/internal/musttest"
)

// buildBinary builds the stripped binary as it is released and writes it to disk: the kernel counts
// pages of a file that are not yet on disk to the private memory of the processes that map them.
func buildBinary(b *testing.B, flags ...string) string {
	path := filepath.Join(b.TempDir(), "nanobot")
	cmd := exec.Command("go", slices.Concat([]string{"build", "-trimpath", "-ldflags", "-s -w", "-o", path}, flags, []string{"."})...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	f := musttest.Get(os.Open(path))(b)
	musttest.Do(b, errors.Join(f.Sync(), f.Close()))
	return path
}

// BenchmarkStart reports the median time of `nanobot version`, of `true` as its floor, and the
// binary's size.
func BenchmarkStart(b *testing.B) {
	binary := buildBinary(b)
	took := func(name string, arg ...string) time.Duration {
		began := time.Now()
		musttest.Do(b, exec.Command(name, arg...).Run())
		return time.Since(began)
	}
	var ours, floor []time.Duration
	for b.Loop() {
		floor = append(floor, took("/bin/true"))
		ours = append(ours, took(binary, "version"))
	}
	slices.Sort(ours)
	slices.Sort(floor)
	info := musttest.Get(os.Stat(binary))(b)
	b.ReportMetric(ours[len(ours)/2].Seconds()*1e3, "ms")
	b.ReportMetric(floor[len(floor)/2].Seconds()*1e3, "ms-of-true")
	b.ReportMetric(float64(info.Size())/(1<<20), "MiB-binary")
}

// BenchmarkGiB reports the peak memory of a turn in which the agent prints one GiB, in each mode.
func BenchmarkGiB(b *testing.B) {
	binary := buildBinary(b)
	for _, mode := range []struct{ name, protocol, command string }{
		{"plain", "plain", "yes 'a line of plain text with /tmp/no-such.png in it' | head -c 1073741824"},
		{"rich", "rich", `yes '{"type":"message","text":"a message that is shown at once, as the agent prints it"}' | head -c 1073741824`},
	} {
		b.Run(mode.name, func(b *testing.B) {
			var peak float64
			for b.Loop() {
				cmd := exec.Command(binary, "run", "--timeout", "600", "--protocol", mode.protocol, "--command", mode.command, "hi")
				cmd.Dir = b.TempDir()
				musttest.Do(b, cmd.Run())
				peak = max(peak, float64(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)/1024)
			}
			b.SetBytes(1 << 30)
			b.ReportMetric(peak, "MiB-peak-RSS")
		})
	}
}
