package process_test

import (
	"io"
	"slices"
	"testing"
	"time"

	"nanobot/internal/musttest"
	"nanobot/terminal/process"
)

// BenchmarkSupervisor reports the time of a child with a cgroup and with a subreaper, as multiples
// of that without a supervisor. The three alternate.
func BenchmarkSupervisor(b *testing.B) {
	groups, subreapers := process.NewSupervisor(process.SupervisorOptions{}), process.NewSupervisor(process.SupervisorOptions{NoCgroups: true})
	defer groups.Close()
	defer subreapers.Close()
	took := map[*process.Supervisor][]time.Duration{}
	for b.Loop() {
		for _, supervisor := range []*process.Supervisor{nil, groups, subreapers} {
			began := time.Now()
			c := musttest.Get(process.Start(process.Options{Args: []string{"/bin/sh", "-c", "read -r line; echo hi"}, Input: []byte("hello\n"), Supervisor: supervisor}))(b)
			_, _ = io.Copy(io.Discard, c.Stdout)
			c.Wait()
			took[supervisor] = append(took[supervisor], time.Since(began))
		}
	}
	median := func(supervisor *process.Supervisor) float64 {
		slices.Sort(took[supervisor])
		return float64(took[supervisor][len(took[supervisor])/2])
	}
	b.ReportMetric(median(groups)/median(nil), "×groups")
	b.ReportMetric(median(subreapers)/median(nil), "×subreaper")
}
