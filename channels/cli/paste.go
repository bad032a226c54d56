package cli

import (
	"bytes"
	"io"
)

// A terminal in bracketed paste mode sends these sequences before and after pasted text.
var (
	pasteBegin = []byte("\x1b[200~")
	pasteEnd   = []byte("\x1b[201~")
)

// ctrlC is what a terminal in raw mode sends for Ctrl-C.
const ctrlC = 3

// pasteReader returns its input line by line and tracks whether the last line end was pasted. The
// line editor reports that only for lines that were pasted as a whole.
type pasteReader struct {
	r        io.Reader
	buffered []byte // read and not yet returned
	tail     []byte // last bytes that were returned, which may be half a sequence
	inPaste  bool
	// interrupted says that Ctrl-C was pressed.
	interrupted bool
}

func (p *pasteReader) Read(b []byte) (int, error) {
	if len(p.buffered) == 0 {
		buf := make([]byte, len(b))
		n, err := p.r.Read(buf)
		if p.buffered = buf[:n]; n == 0 {
			return 0, err
		}
	}
	n := min(len(b), len(p.buffered))
	if i := bytes.IndexAny(p.buffered[:n], "\r\n"); i >= 0 {
		n = i + 1
		if n < len(p.buffered) && p.buffered[i] == '\r' && p.buffered[n] == '\n' && n < len(b) {
			n++
		}
	}
	copy(b, p.buffered[:n])
	p.trackPaste(p.buffered[:n])
	p.interrupted = p.interrupted || bytes.IndexByte(p.buffered[:n], ctrlC) >= 0
	p.buffered = p.buffered[n:]
	return n, nil
}

func (p *pasteReader) trackPaste(b []byte) {
	p.tail = append(p.tail, b...)
	begin, end := bytes.LastIndex(p.tail, pasteBegin), bytes.LastIndex(p.tail, pasteEnd)
	if begin >= 0 || end >= 0 {
		p.inPaste = begin > end
	}
	if keep := len(pasteBegin) - 1; len(p.tail) > keep {
		p.tail = append(p.tail[:0], p.tail[len(p.tail)-keep:]...)
	}
}
