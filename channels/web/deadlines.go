package web

import (
	"errors"
	"io"
	"net/http"
	"time"
)

const (
	// stallTimeout is how long a client may send nothing, or read nothing of the response.
	stallTimeout = 30 * time.Second
	// uploadTimeout bounds the whole upload of a body; drainTimeout bounds the rest of a refused
	// one.
	uploadTimeout, drainTimeout = time.Hour, time.Minute
	// writeSize is how many bytes are written with one deadline.
	writeSize = 32 << 10
)

// bodyReader reads a request's body. It moves the read deadline on with each read, so that a body
// may take long but not stall.
type bodyReader struct {
	io.ReadCloser
	conn       *http.ResponseController
	limit      time.Time
	drainLimit int64 // how much of a refused body is read and discarded
	atEOF      bool  // the whole body was read
}

func (p *bodyReader) Read(b []byte) (int, error) {
	deadline := time.Now().Add(stallTimeout)
	if p.limit.Before(deadline) {
		deadline = p.limit
	}
	_ = p.conn.SetReadDeadline(deadline)
	n, err := p.ReadCloser.Read(b)
	p.atEOF = p.atEOF || errors.Is(err, io.EOF)
	return n, err
}

// drain reads the rest of a body, because a browser reads the response only after it has sent
// everything. If the body is too long, an expired deadline makes the server close the connection
// instead of waiting for more.
func (p *bodyReader) drain() {
	p.limit = time.Now().Add(drainTimeout)
	deadline := time.Time{}
	if !p.atEOF {
		_, _ = io.CopyN(io.Discard, p, p.drainLimit)
	}
	if !p.atEOF {
		deadline = time.Now()
	}
	_ = p.conn.SetReadDeadline(deadline)
}

// responseWriter moves the write deadline on with each write, so that a response may take long but
// the client must read it. The last deadline also holds for what the server writes after the
// handler; the server then clears it.
type responseWriter struct {
	http.ResponseWriter
	conn *http.ResponseController
}

func (s *responseWriter) Write(b []byte) (n int, err error) {
	for {
		_ = s.conn.SetWriteDeadline(time.Now().Add(stallTimeout))
		some := min(len(b)-n, writeSize)
		wrote, err := s.ResponseWriter.Write(b[n : n+some])
		if n += wrote; err != nil || n == len(b) {
			return n, err
		}
	}
}

// Unwrap is for http.ResponseController.
func (s *responseWriter) Unwrap() http.ResponseWriter { return s.ResponseWriter }
