package web

import (
	"errors"
	"io"
	"net/http"
	"time"
)

const (
	// stalledAfter is how long a client may bring nothing, or take nothing of what it is sent.
	stalledAfter = 30 * time.Second
	// longestUpload is how long a body may take in all; drainFor is how long what was refused may
	// go on.
	longestUpload, drainFor = time.Hour, time.Minute
	// piece is how much is written at once.
	piece = 32 << 10
)

// patient reads a body that may take long, but not stall. Where a connection has no deadlines, the
// client's leaving must do.
type patient struct {
	io.ReadCloser
	conn  *http.ResponseController
	until time.Time
	rest  int64 // how much of what is refused is taken nevertheless
	over  bool  // all of it was read
}

func (p *patient) Read(b []byte) (int, error) {
	deadline := time.Now().Add(stalledAfter)
	if p.until.Before(deadline) {
		deadline = p.until
	}
	_ = p.conn.SetReadDeadline(deadline)
	n, err := p.ReadCloser.Read(b)
	p.over = p.over || errors.Is(err, io.EOF)
	return n, err
}

// done takes what is left of a body, so that an answer can be given: a browser reads none before it
// has sent all. The server would wait for more of it; it is to end the connection instead.
func (p *patient) done() {
	p.until = time.Now().Add(drainFor)
	deadline := time.Time{}
	if !p.over {
		_, _ = io.CopyN(io.Discard, p, p.rest)
	}
	if !p.over {
		deadline = time.Now()
	}
	_ = p.conn.SetReadDeadline(deadline)
}

// steady writes an answer that may take long, but not to a client that does not read. What the
// server writes at the end has the last of its deadlines, which the server lifts then.
type steady struct {
	http.ResponseWriter
	conn *http.ResponseController
}

func (s *steady) Write(b []byte) (n int, err error) {
	for {
		_ = s.conn.SetWriteDeadline(time.Now().Add(stalledAfter))
		some := min(len(b)-n, piece)
		wrote, err := s.ResponseWriter.Write(b[n : n+some])
		if n += wrote; err != nil || n == len(b) {
			return n, err
		}
	}
}

// Unwrap lets http.ResponseController through.
func (s *steady) Unwrap() http.ResponseWriter { return s.ResponseWriter }
