package process

import (
	"errors"
	"io"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// usualHold is how long descendants that keep writing are heard out after the child itself has
	// exited.
	usualHold = 5 * time.Second
	// backlog is read however long the consumer takes for it: it is more than the pipe and a filter
	// before it can hold.
	backlog = 1 << 20
)

// output is the read end of a pipe, or the master of a pseudo-terminal, that a descendant of the
// child may hold open for ever.
type output struct {
	file   *os.File
	exited <-chan struct{}
	grace  time.Duration
	limit  time.Duration // of waiting in all
	since  time.Time     // of the first Read after the exit
	waited time.Duration // for bytes since then
	late   int           // bytes read since then
	// patience is in place of a shorter grace and limit while those who were asked to stop may
	// still take their time.
	patience atomic.Int64
}

func newOutput(file *os.File, exited <-chan struct{}, o Options) *output {
	limit := o.Hold
	if limit == 0 {
		limit = usualHold
	}
	return &output{file: file, exited: exited, grace: o.Grace, limit: limit}
}

// wake ends a Read that began before the child exited, after the grace period. Later ones set their
// own deadline.
func (o *output) wake() { _ = o.file.SetReadDeadline(time.Now().Add(o.silence())) }

func (o *output) silence() time.Duration { return max(o.grace, time.Duration(o.patience.Load())) }

// Read reads as long as bytes come, and reports io.EOF once the child has exited and the pipe was
// silent for the grace period. Waiting counts from the call, not from the exit, so a slow consumer
// loses nothing of the backlog. A descendant that never falls silent is cut off.
func (o *output) Read(p []byte) (n int, err error) {
	for {
		left, over := o.setDeadline()
		if over {
			return 0, io.EOF
		}
		began := time.Now()
		n, err = o.file.Read(p)
		if left {
			o.waited += time.Since(began)
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			if !left { // it was set behind our back when the child exited
				continue
			}
			n, err = o.rest(p)
		}
		if left {
			o.late += n
		}
		if errors.Is(err, unix.EIO) { // so Linux says that no process has the terminal open
			err = io.EOF
		}
		return n, err
	}
}

// setDeadline sets the deadline of a Read that begins after the child has exited. It reports
// whether the child has, and whether the time for descendants that keep writing is over.
func (o *output) setDeadline() (left, over bool) {
	select {
	case <-o.exited:
	default:
		return false, false
	}
	now := time.Now()
	if o.since.IsZero() {
		o.since = now
	}
	_ = o.file.SetReadDeadline(now.Add(o.silence()))
	limit := max(o.limit, time.Duration(o.patience.Load()))
	return true, o.waited > limit || now.Sub(o.since) > limit && o.late > backlog
}

// rest takes what is in the pipe without waiting. A deadline may pass before a stalled reader even
// looks, and bytes that are there must not be lost to that.
func (o *output) rest(p []byte) (n int, err error) {
	raw, err := o.file.SyscallConn()
	if err != nil {
		return 0, io.EOF
	}
	cerr := raw.Control(func(fd uintptr) {
		for {
			if n, err = unix.Read(int(fd), p); !errors.Is(err, unix.EINTR) {
				return
			}
		}
	})
	if cerr != nil || err != nil || n <= 0 {
		return 0, io.EOF
	}
	return n, nil
}
