package terminal_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"nanobot/config"
	"nanobot/internal/musttest"
	"nanobot/terminal"
	"nanobot/terminal/process"
	"nanobot/terminal/rich"
)

// trivialAgent is the smallest possible rich agent.
const trivialAgent = `read -r line; echo '{"type":"message","text":"hi"}'`

// turnComparison runs turns of trivialAgent and, for comparison, the same command line with os/exec
// alone.
type turnComparison struct {
	runner *terminal.Runner
	req    terminal.Request
	dir    string
	input  []byte // the envelope of req: a shell's read makes one system call for each byte of it
}

func newTurnComparison(b *testing.B) *turnComparison {
	c := &turnComparison{dir: b.TempDir(), req: terminal.Request{Envelope: terminal.Envelope{Channel: "cli", ChatID: "local", Text: "hello"}}}
	supervisor := process.NewSupervisor(process.SupervisorOptions{})
	b.Cleanup(supervisor.Close)
	newRunner := func(command string) *terminal.Runner {
		cfg := config.Default().Terminal
		cfg.Command, cfg.Protocol = command, "rich"
		r := musttest.Get(terminal.NewRunner(terminal.Options{
			Config: cfg, Workspace: c.dir, Protocol: rich.Protocol{}, Environ: os.Environ(), Log: zap.NewNop(), Supervisor: supervisor,
		}))(b)
		return r
	}
	c.runner = newRunner("cat >envelope")
	err := c.runTurn()
	if err == nil {
		c.input, err = os.ReadFile(filepath.Join(c.dir, "envelope"))
	}
	if err != nil {
		b.Fatal(err)
	}
	c.runner = newRunner(trivialAgent)
	return c
}

func (c *turnComparison) runTurn() error {
	_, err := c.runner.Turn(context.Background(), c.req, terminal.NoChat{})
	return err
}

func (c *turnComparison) runBareExec() error {
	cmd := exec.Command("/bin/sh", "-c", trivialAgent)
	cmd.Dir, cmd.Stdin, cmd.Stderr = c.dir, bytes.NewReader(c.input), io.Discard
	_, err := cmd.Output()
	return err
}

func timed(b *testing.B, f func() error) time.Duration {
	began := time.Now()
	musttest.Do(b, f())
	return time.Since(began)
}

func median(d []time.Duration) float64 {
	slices.Sort(d)
	return float64(d[len(d)/2])
}

// BenchmarkTurnAlone reports the median time of a rich turn as a multiple of bare os/exec. The two
// alternate.
func BenchmarkTurnAlone(b *testing.B) {
	c := newTurnComparison(b)
	var turns, floors []time.Duration
	for b.Loop() {
		floors = append(floors, timed(b, c.runBareExec))
		turns = append(turns, timed(b, c.runTurn))
	}
	b.ReportMetric(median(turns)/median(floors), "×floor")
}

// BenchmarkTurn32 reports the throughput of 32 concurrent turns as a share of bare os/exec's.
func BenchmarkTurn32(b *testing.B) {
	c := newTurnComparison(b)
	const workers, each = 32, 8
	batch := func(f func() error) func() error {
		return func() error {
			var g sync.WaitGroup
			for range workers {
				g.Go(func() {
					for range each {
						if err := f(); err != nil {
							b.Error(err)
						}
					}
				})
			}
			g.Wait()
			return nil
		}
	}
	var turns, floors []time.Duration
	for b.Loop() {
		floors = append(floors, timed(b, batch(c.runBareExec)))
		turns = append(turns, timed(b, batch(c.runTurn)))
	}
	b.ReportMetric(median(floors)/median(turns), "×floor-throughput")
	b.ReportMetric(workers*each/(median(turns)/1e9), "turns/s")
}
