package rich_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"testing"
	"time"

	"nanobot/internal/musttest"
	"nanobot/terminal"
	"nanobot/terminal/rich"
)

// frames returns n typical frames of about 200 bytes, one per line.
func frames(n int) []byte {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, `{"type": "progress", "text": "Step %07d of the rendering: tracing rays through \"the glass\" in the middle of the scene, then denoising, then tone mapping, then writing it out to the folder"}`+"\n", i)
	}
	return b.Bytes()
}

// BenchmarkDecode reports the speed at which lines in memory are read and decoded, as a multiple of
// the speed of a pipe to which they are written line by line.
func BenchmarkDecode(b *testing.B) {
	const n = 200_000
	data := frames(n)
	b.SetBytes(int64(len(data)))
	var decode, pipe time.Duration
	for b.Loop() {
		pipe += drainPipe(b, data)
		began := time.Now()
		lines, got := terminal.NewLineReader(bytes.NewReader(data), 1<<20), 0
		for line, err := lines.Next(); err == nil; line, err = lines.Next() {
			if f, ok := rich.Decode(line); ok && len(f.Text) > 100 {
				got++
			}
		}
		if decode += time.Since(began); got != n {
			b.Fatalf("%d frames", got)
		}
	}
	b.ReportMetric(float64(pipe)/float64(decode), "×pipe")
	b.ReportMetric(float64(n*b.N)/decode.Seconds()/1e6, "Mframes/s")
	b.ReportMetric(float64(n*b.N)/pipe.Seconds()/1e6, "Mpipe-lines/s")
}

// drainPipe writes the lines one by one to a pipe and returns the time until the last is read.
func drainPipe(b *testing.B, data []byte) time.Duration {
	r, w, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	began := time.Now()
	done := make(chan int)
	go func() {
		in, n := bufio.NewReaderSize(r, 64<<10), 0
		for {
			if _, err := in.ReadSlice('\n'); err != nil {
				break
			}
			n++
		}
		done <- n
	}()
	for rest := data; len(rest) > 0; {
		i := bytes.IndexByte(rest, '\n') + 1
		musttest.Get(w.Write(rest[:i]))(b)
		rest = rest[i:]
	}
	w.Close()
	<-done
	r.Close()
	return time.Since(began)
}
