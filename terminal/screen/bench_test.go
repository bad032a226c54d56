package screen_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"nanobot/internal/musttest"
	"nanobot/terminal/screen"
)

// drain runs a command on a pseudo-terminal and copies its output.
func drain(b *testing.B, to io.Writer, name string, args ...string) time.Duration {
	began := time.Now()
	cmd := exec.Command(name, args...)
	f := musttest.Get(pty.StartWithSize(cmd, &pty.Winsize{Rows: 40, Cols: 160}))(b)
	defer f.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := f.Read(buffer)
		musttest.Get(to.Write(buffer[:n]))(b)
		if errors.Is(err, syscall.EIO) || errors.Is(err, io.EOF) || errors.Is(err, os.ErrClosed) {
			break
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	musttest.Do(b, cmd.Wait())
	return time.Since(began)
}

func median(d []time.Duration) float64 {
	slices.Sort(d)
	return float64(d[len(d)/2])
}

// BenchmarkFlood reports the time to interpret the output of seq as a multiple of only reading it
// from the pseudo-terminal (the two alternate), and the heap that the screen takes in the end.
func BenchmarkFlood(b *testing.B) {
	var floods, floors []time.Duration
	before := heap()
	s := screen.New(160, 40)
	for b.Loop() {
		floors = append(floors, drain(b, io.Discard, "seq", "1", "1000000"))
		floods = append(floods, drain(b, s, "seq", "1", "1000000"))
	}
	b.ReportMetric((heap()-before)/(1<<20), "MiB")
	b.ReportMetric(median(floods)/median(floors), "x-pty")
	b.ReportMetric(0, "ns/op")
	runtime.KeepAlive(s)
}

// BenchmarkLongLines interprets lines of plain text that wrap, on one core.
func BenchmarkLongLines(b *testing.B) {
	data := bytes.Repeat(append(bytes.Repeat([]byte("The quick brown fox. "), 100), "\r\n"...), 100)
	benchmarkWrite(b, data)
}

// BenchmarkShortLines interprets numbers, one per line.
func BenchmarkShortLines(b *testing.B) {
	benchmarkWrite(b, bytes.Repeat([]byte("1234567\r\n"), 10_000))
}

// BenchmarkColors interprets text that changes its colour with every word.
func BenchmarkColors(b *testing.B) {
	line := []byte("\x1b[1;34mdrwxr-xr-x\x1b[0m \x1b[38;5;208mname\x1b[m\r\n")
	benchmarkWrite(b, bytes.Repeat(line, 5_000))
}

// BenchmarkUnicode interprets wide characters.
func BenchmarkUnicode(b *testing.B) {
	line := []byte("日本語のテキスト、漢字かな交じり。Привет\r\n")
	benchmarkWrite(b, bytes.Repeat(line, 5_000))
}

func benchmarkWrite(b *testing.B, data []byte) {
	s := screen.New(160, 40)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		musttest.Get(s.Write(data))(b)
	}
}

// BenchmarkMemory reports the heap that a screen takes, without scrollback and with all of it.
func BenchmarkMemory(b *testing.B) {
	var empty, full float64
	for b.Loop() {
		before := heap()
		s := screen.New(160, 40)
		empty = heap() - before
		line := append(bytes.Repeat([]byte("x"), 150), "\r\n"...)
		for range 11_000 {
			musttest.Get(s.Write(line))(b)
		}
		full = heap() - before
		runtime.KeepAlive(s)
	}
	b.ReportMetric(empty/(1<<20), "MiB-empty")
	b.ReportMetric(full/(1<<20), "MiB-full")
	b.ReportMetric(0, "ns/op")
}

func heap() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}
