package cli

import (
	"bytes"
	"io"
)

// A terminal in bracketed paste mode sends these around what is pasted.
var (
	pasteBegin = []byte("\x1b[200~")
	pasteEnd   = []byte("\x1b[201~")
)

// pasteReader hands out its input a line at a time and knows whether the last line end lies within
// a paste. The line editor tells that only of lines that were pasted whole.
type pasteReader struct {
	r       io.Reader
	waiting []byte // read and not yet handed out
	seen    []byte // the end of what was handed out, which may be half a mark
	open    bool
}

func (p *pasteReader) Read(b []byte) (int, error) {
	if len(p.waiting) == 0 {
		buf := make([]byte, len(b))
		n, err := p.r.Read(buf)
		if p.waiting = buf[:n]; n == 0 {
			return 0, err
		}
	}
	n := min(len(b), len(p.waiting))
	if i := bytes.IndexAny(p.waiting[:n], "\r\n"); i >= 0 {
		n = i + 1
		if n < len(p.waiting) && p.waiting[i] == '\r' && p.waiting[n] == '\n' && n < len(b) {
			n++
		}
	}
	copy(b, p.waiting[:n])
	p.note(p.waiting[:n])
	p.waiting = p.waiting[n:]
	return n, nil
}

func (p *pasteReader) note(b []byte) {
	p.seen = append(p.seen, b...)
	begin, end := bytes.LastIndex(p.seen, pasteBegin), bytes.LastIndex(p.seen, pasteEnd)
	if begin >= 0 || end >= 0 {
		p.open = begin > end
	}
	if keep := len(pasteBegin) - 1; len(p.seen) > keep {
		p.seen = append(p.seen[:0], p.seen[len(p.seen)-keep:]...)
	}
}
