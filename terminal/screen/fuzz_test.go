package screen_test

import (
	"bytes"
	"reflect"
	"testing"

	"nanobot/terminal/screen"
)

// checkSnapshot checks the invariants of a screen.
func checkSnapshot(t testing.TB, s *screen.Screen) {
	t.Helper()
	cols, rows := s.Size()
	n := s.Snapshot()
	if n.Cols != cols || n.Rows != rows || len(n.Lines) != rows {
		t.Fatalf("a screen of %d×%d has a snapshot of %d×%d with %d lines",
			cols, rows, n.Cols, n.Rows, len(n.Lines))
	}
	if n.CursorCol < 0 || n.CursorCol >= cols || n.CursorRow < 0 || n.CursorRow >= rows {
		t.Fatalf("the cursor is at %d,%d of %d×%d", n.CursorCol, n.CursorRow, cols, rows)
	}
	for i, runs := range n.Lines {
		width := 0
		for _, run := range runs {
			width += run.Width
			columns := 0
			for _, r := range run.Text {
				columns += screen.Width(r)
			}
			if columns != run.Width {
				t.Fatalf("%q takes %d columns, not %d", run.Text, columns, run.Width)
			}
		}
		if width != cols {
			t.Fatalf("line %d has %d of %d columns", i, width, cols)
		}
	}
}

// FuzzScreen writes any bytes to a screen, at once, in two parts, and byte by byte with changes of
// size at the end.
func FuzzScreen(f *testing.F) {
	for _, data := range recordings(f) {
		f.Add(data[:min(len(data), 2000)], uint8(80), uint8(24), uint16(1000))
	}
	mixed := "日本e\u0301\x1b[2;3r\x1b[?6h\x1b[99b\x1b]0;x\x1b\\\xff\xe2\x82"
	f.Add([]byte(mixed), uint8(3), uint8(4), uint16(5))
	f.Fuzz(func(t *testing.T, data []byte, cols, rows uint8, at uint16) {
		cols, rows = cols%128, rows%64
		blank := func() *screen.Screen { return screen.New(int(cols), int(rows)) }
		whole, parts, bytewise := blank(), blank(), blank()
		cut := min(int(at), len(data))
		writeText(t, whole, string(data))
		writeText(t, parts, string(data[:cut]))
		checkSnapshot(t, parts)
		writeText(t, parts, string(data[cut:]))
		for i := range data {
			writeText(t, bytewise, string(data[i:i+1]))
		}
		replies := whole.TakeReplies()
		for _, s := range []*screen.Screen{parts, bytewise} {
			if s.Buffer() != whole.Buffer() || !reflect.DeepEqual(s.Snapshot(), whole.Snapshot()) {
				t.Fatalf("cutting changes the screen from\n%s\nto\n%s", whole.Buffer(), s.Buffer())
			}
			if !bytes.Equal(s.TakeReplies(), replies) {
				t.Fatal("cutting changes the replies")
			}
		}
		checkSnapshot(t, whole)
		for _, size := range [][2]int{{int(rows), int(cols)}, {1, 1}, {int(cols) + 3, int(rows)}} {
			parts.Resize(size[0], size[1])
			checkSnapshot(t, parts)
			writeText(t, parts, string(data))
			checkSnapshot(t, parts)
		}
	})
}
