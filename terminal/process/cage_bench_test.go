package process_test

import (
	"io"
	"slices"
	"testing"
	"time"

	"nanobot/terminal/process"
)

// BenchmarkCage reports what the two ways of holding a child cost, as multiples of a child that is not held, run by turns.
func BenchmarkCage(b *testing.B) {
	groups, orphans := process.NewCage(process.CageOptions{}), process.NewCage(process.CageOptions{NoGroups: true})
	defer groups.Close()
	defer orphans.Close()
	took := map[*process.Cage][]time.Duration{}
	for b.Loop() {
		for _, cage := range []*process.Cage{nil, groups, orphans} {
			began := time.Now()
			c, err := process.Start(process.Options{Args: []string{"/bin/sh", "-c", "read -r line; echo hi"}, Input: []byte("hello\n"), Cage: cage})
			if err != nil {
				b.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, c.Stdout)
			c.Wait()
			took[cage] = append(took[cage], time.Since(began))
		}
	}
	median := func(cage *process.Cage) float64 {
		slices.Sort(took[cage])
		return float64(took[cage][len(took[cage])/2])
	}
	b.ReportMetric(median(groups)/median(nil), "×groups")
	b.ReportMetric(median(orphans)/median(nil), "×orphans")
}
