package keys

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"nanobot/terminal/process"
	"nanobot/terminal/screen"
)

const (
	// segmentSize limits the bytes of a segment, with timestampSize for each timestamp. A recording
	// has at most two segments.
	segmentSize, timestampSize = 512 << 10, 32
	// resolution is the shortest time between two events of a recording.
	resolution = 20 * time.Millisecond
)

// recording is the output of a terminal with timestamps. If it is long, only the end is stored,
// starting with the screen at that time.
type recording struct {
	size process.Size

	mu       sync.Mutex
	segments []segment
}

// segment is a part of a recording that can be played by itself.
type segment struct {
	began      time.Time
	redraw     []byte // draws the screen at the start of the segment
	output     []byte
	timestamps []timestamp
}

// timestamp is the time at which the output up to an offset was read.
type timestamp struct {
	at  time.Duration // since the start of the segment
	end int
}

func newRecording(size process.Size) *recording {
	return &recording{size: size, segments: []segment{{began: time.Now()}}}
}

// addOutput appends output. before is the screen without this output.
func (r *recording) addOutput(output []byte, before *screen.Screen) {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := &r.segments[len(r.segments)-1]
	if len(last.output)+len(output)+timestampSize*len(last.timestamps) > segmentSize {
		r.segments = []segment{*last, {began: time.Now(), redraw: redrawSequence(before.Snapshot())}}
		last = &r.segments[1]
	}
	last.output = append(last.output, output...)
	at := time.Since(last.began)
	if n := len(last.timestamps); n > 0 && at-last.timestamps[n-1].at < resolution {
		last.timestamps[n-1].end = len(last.output)
		return
	}
	last.timestamps = append(last.timestamps, timestamp{at: at, end: len(last.output)})
}

// asciicast returns the recording in the format of asciinema, version 2.
func (r *recording) asciicast() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	began := r.segments[0].began
	var b bytes.Buffer
	header, _ := json.Marshal(map[string]any{ // plain values cannot fail
		"version": 2, "width": r.size.Columns, "height": r.size.Rows, "timestamp": began.Unix(),
		"env": map[string]string{"TERM": "xterm-256color"},
	})
	b.Write(append(header, '\n'))
	var held []byte // an incomplete character that continues in the next event
	writeEvent(&b, 0, r.segments[0].redraw)
	for _, s := range r.segments {
		start := 0
		for _, m := range s.timestamps {
			text := append(held, s.output[start:m.end]...)
			start = m.end
			whole := process.TrimPartialRune(text)
			held = bytes.Clone(text[len(whole):])
			writeEvent(&b, s.began.Sub(began)+m.at, whole)
		}
	}
	return b.Bytes()
}

// writeEvent writes an output event as one line.
func writeEvent(b *bytes.Buffer, at time.Duration, output []byte) {
	if len(output) == 0 {
		return
	}
	text, _ := json.Marshal(strings.ToValidUTF8(string(output), "\uFFFD"))
	fmt.Fprintf(b, "[%.3f, \"o\", %s]\n", at.Seconds(), text)
}

// redrawSequence returns output that draws a screen.
func redrawSequence(s *screen.Snapshot) []byte {
	var b bytes.Buffer
	b.WriteString("\x1b[2J")
	for row, line := range s.Lines {
		fmt.Fprintf(&b, "\x1b[%d;1H", row+1)
		for _, run := range line {
			b.WriteString(sgr(run.Style))
			b.WriteString(run.Text)
		}
	}
	fmt.Fprintf(&b, "\x1b[m\x1b[%d;%dH", s.CursorRow+1, s.CursorCol+1)
	return b.Bytes()
}

// sgr returns the control sequence that selects a style.
func sgr(s screen.Style) string {
	codes := []string{"0"}
	for i, on := range []bool{s.Bold, s.Faint, s.Italic, s.Underline, s.Blink, false, s.Reverse, s.Hidden, s.Strike} {
		if on {
			codes = append(codes, strconv.Itoa(i+1))
		}
	}
	for i, color := range []screen.Color{s.Foreground, s.Background} {
		if r, g, b, ok := color.RGB(); ok {
			codes = append(codes, fmt.Sprintf("%d;2;%d;%d;%d", 38+10*i, r, g, b))
		}
	}
	return "\x1b[" + strings.Join(codes, ";") + "m"
}
