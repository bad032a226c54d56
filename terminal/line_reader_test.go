package terminal_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"nanobot/internal/fuzztest"
	"nanobot/terminal"
)

// expectedLines is a simple reference implementation of LineReader.
func expectedLines(data []byte, max int) (out []string) {
	if len(data) == 0 {
		return nil
	}
	lines := strings.Split(string(data), "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	for i, l := range lines {
		bare := strings.TrimSuffix(l, "\r")
		if i == 0 {
			bare = strings.TrimPrefix(bare, "\xef\xbb\xbf")
		}
		if len(bare) > max {
			out = append(out, "too long")
		} else {
			out = append(out, bare)
		}
	}
	return out
}

func readLines(r io.Reader, max int) (out []string) {
	for lines := terminal.NewLineReader(r, max); ; {
		line, err := lines.Next()
		var long *terminal.LongLineError
		switch {
		case err == nil:
			out = append(out, string(line))
		case errors.As(err, &long):
			out = append(out, "too long")
		default:
			return out
		}
	}
}

func FuzzLinesEqualTheReference(f *testing.F) {
	f.Add([]byte("a\nb\r\n\n\xef\xbb\xbfc"), uint16(3))
	f.Add([]byte("\xef\xbb\xbfabc\nabcd\r\nabcde\nx"), uint16(3))
	f.Add([]byte(strings.Repeat("x", 100)+"\nshort\n"), uint16(10))
	f.Add([]byte("\r\n\r\r\n\n"), uint16(0))
	for i, s := range fuzztest.Mutate([]string{"a\nb\r\n\n\xef\xbb\xbfc", "\xef\xbb\xbfabc\nabcd\r\nabcde\nx", "\r\n\r\r\n\n"}, 2000) {
		f.Add([]byte(s), uint16(i%40))
	}
	f.Fuzz(func(t *testing.T, data []byte, limit uint16) {
		max := int(limit)
		want := fmt.Sprintf("%q", expectedLines(data, max))
		for name, r := range map[string]io.Reader{
			"whole": bytes.NewReader(data), "byte by byte": iotest.OneByteReader(bytes.NewReader(data)),
			"halves": iotest.HalfReader(bytes.NewReader(data)), "with error": iotest.DataErrReader(bytes.NewReader(data)),
		} {
			if got := fmt.Sprintf("%q", readLines(r, max)); got != want {
				t.Fatalf("%s, limit %d: got %s, want %s", name, max, got, want)
			}
		}
	})
}

func TestLinesSayHowLongASkippedLineWas(t *testing.T) {
	lines := terminal.NewLineReader(strings.NewReader(strings.Repeat("x", 300000)+"\nok\n"), 1000)
	_, err := lines.Next()
	var long *terminal.LongLineError
	if !errors.As(err, &long) || long.Size != 300000 || long.Max != 1000 {
		t.Fatalf("got %v", err)
	}
	if line, err := lines.Next(); err != nil || string(line) != "ok" {
		t.Fatalf("got %q, %v", line, err)
	}
	if _, err := lines.Next(); !errors.Is(err, io.EOF) {
		t.Fatalf("got %v", err)
	}
}
