package terminal

import (
	"bytes"
	"fmt"
	"io"
)

// LongLineError says that a line exceeded the limit and was skipped.
type LongLineError struct {
	Size int64
	Max  int
}

func (e *LongLineError) Error() string {
	return fmt.Sprintf("a line of %d bytes was skipped; the limit is %d bytes", e.Size, e.Max)
}

// LineReader reads lines of any length with bounded memory. Unlike bufio.Scanner it continues after
// a line that is too long.
type LineReader struct {
	r          io.Reader
	max        int
	buf        []byte
	at         int  // start of the bytes that are not yet returned
	end        int  // end of the bytes read
	seen       int  // bytes after at that are known to have no newline
	full       bool // the last read filled the buffer, so a larger one saves reads
	bomChecked bool
	err        error
}

var utf8BOM = []byte("\xef\xbb\xbf")

// slack is the room around a line of maximum length: a byte order mark, a \r, and one byte to see
// that the line ends.
const slack = len("\xef\xbb\xbf") + 2

const (
	firstRead = 4 << 10 // most agents print less
	// maxRead is the default capacity of a pipe, so that one read can empty it.
	maxRead = 64 << 10
	// maxRetained is the largest buffer that is retained: long lines are rare, and an agent may
	// run for days.
	maxRetained = 1 << 20
)

// NewLineReader returns a reader of r's lines of at most max bytes.
func NewLineReader(r io.Reader, max int) *LineReader {
	return &LineReader{r: r, max: max, buf: make([]byte, min(firstRead, max+slack))}
}

// Next returns the next line without its end (\n or \r\n) and without a byte order mark at the
// beginning of the input. The bytes are valid until the next call. A last line without an end
// counts. It returns a *LongLineError for each skipped line, and after the last line the reader's
// error, usually io.EOF.
func (l *LineReader) Next() ([]byte, error) {
	for {
		if i := bytes.IndexByte(l.buf[l.at+l.seen:l.end], '\n'); i >= 0 {
			line := l.buf[l.at : l.at+l.seen+i]
			l.at, l.seen = l.at+l.seen+i+1, 0
			return l.finishLine(line)
		}
		l.seen = l.end - l.at
		if l.err != nil {
			if l.seen == 0 {
				return nil, l.err
			}
			line := l.buf[l.at:l.end]
			l.at, l.seen = l.end, 0
			return l.finishLine(line)
		}
		if l.seen == l.max+slack {
			return nil, l.skip()
		}
		l.fill()
	}
}

func (l *LineReader) finishLine(line []byte) ([]byte, error) {
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	if !l.bomChecked {
		l.bomChecked = true
		line = bytes.TrimPrefix(line, utf8BOM)
	}
	if len(line) > l.max {
		return nil, &LongLineError{Size: int64(len(line)), Max: l.max}
	}
	return line, nil
}

// fill makes room in the buffer and reads once.
func (l *LineReader) fill() {
	if l.at == l.end && len(l.buf) > maxRetained {
		l.buf, l.at, l.end = make([]byte, maxRead), 0, 0
	}
	if l.at > 0 && (l.end == len(l.buf) || l.at == l.end) {
		l.end = copy(l.buf, l.buf[l.at:l.end])
		l.at = 0
	}
	if l.end == len(l.buf) || l.full && len(l.buf) < maxRead {
		grown := make([]byte, min(2*len(l.buf), l.max+slack))
		copy(grown, l.buf[:l.end])
		l.buf = grown
	}
	n, err := l.r.Read(l.buf[l.end:])
	l.end += n
	l.full = l.end == len(l.buf)
	l.err = err
}

// skip reads to the end of a line that is too long.
func (l *LineReader) skip() error {
	size := int64(l.end - l.at)
	l.bomChecked = true
	for l.err == nil {
		l.at, l.end, l.seen = 0, 0, 0
		l.fill()
		if i := bytes.IndexByte(l.buf[:l.end], '\n'); i >= 0 {
			l.at = i + 1
			return &LongLineError{Size: size + int64(i), Max: l.max}
		}
		size += int64(l.end)
	}
	l.at, l.end, l.seen = 0, 0, 0
	return &LongLineError{Size: size, Max: l.max}
}
