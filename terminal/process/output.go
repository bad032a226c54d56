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
	// defaultLinger is how long descendants that keep writing are read after the child itself has
	// exited.
	defaultLinger = 5 * time.Second
	// maxBacklog is read however long the consumer takes: it is more than the pipe and a filter
	// before it can hold.
	maxBacklog = 1 << 20
)

// output is the read end of a pipe, or the master of a pseudo-terminal, that descendants of the
// child may hold open for ever.
type output struct {
	file               *os.File
	exited             <-chan struct{}
	grace              time.Duration
	maxLinger          time.Duration // total time that reads may wait after the exit
	firstReadAfterExit time.Time     // time of the first Read after the exit
	waited             time.Duration // time spent in reads since then
	bytesAfterExit     int           // read since then
	ended              atomic.Bool   // Read has returned an error
	// stopTimeout replaces a shorter grace and maxLinger while processes that got a signal by Stop
	// may still be exiting.
	stopTimeout atomic.Int64
}

func newOutput(file *os.File, exited <-chan struct{}, o Options) *output {
	limit := o.MaxLinger
	if limit == 0 {
		limit = defaultLinger
	}
	return &output{file: file, exited: exited, grace: o.Grace, maxLinger: limit}
}

// startGrace ends a Read that began before the child exited, after the grace period. Later reads
// set their own deadline.
func (o *output) startGrace() {
	if o.file != nil && !o.ended.Load() {
		o.setReadDeadline(time.Now())
	}
}

// setReadDeadline sets the deadline of reads. If Kill shortens the timeout meanwhile, the shorter
// one must not be overwritten by the longer one.
func (o *output) setReadDeadline(now time.Time) {
	for timeout := time.Duration(-1); timeout != o.readTimeout(); {
		timeout = o.readTimeout()
		_ = o.file.SetReadDeadline(now.Add(timeout))
	}
}

func (o *output) readTimeout() time.Duration {
	return max(o.grace, time.Duration(o.stopTimeout.Load()))
}

// Read returns io.EOF once the child has exited and the pipe was silent for the grace period.
// Waiting counts from the call, not from the exit, so a slow consumer loses nothing of the backlog.
// A descendant that keeps writing is cut off after maxLinger.
func (o *output) Read(p []byte) (n int, err error) {
	for late := false; ; {
		exited, over := o.setDeadline()
		if over {
			return 0, io.EOF
		}
		began, timeout := time.Now(), o.readTimeout()
		n, err = o.file.Read(p)
		took := time.Since(began)
		if exited {
			o.waited += min(took, timeout) // a read takes longer only if the machine stands still
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			if !exited { // startGrace has set the deadline
				continue
			}
			n, err = o.readAvailable(p)
			if err != nil && !late && took > 2*timeout { // the machine stood still, and the descendants with it
				late = true
				continue
			}
		}
		if exited {
			o.bytesAfterExit += n
		}
		if errors.Is(err, unix.EIO) { // Linux: no process has the terminal open
			err = io.EOF
		}
		if err != nil {
			o.ended.Store(true)
		}
		return n, err
	}
}

// setDeadline sets the deadline of a Read that begins after the child has exited. It reports
// whether the child has exited, and whether the time for descendants that keep writing is over.
func (o *output) setDeadline() (exited, over bool) {
	select {
	case <-o.exited:
	default:
		return false, false
	}
	now := time.Now()
	if o.firstReadAfterExit.IsZero() {
		o.firstReadAfterExit = now
	}
	o.setReadDeadline(now)
	limit := max(o.maxLinger, time.Duration(o.stopTimeout.Load()))
	return true, o.waited > limit || now.Sub(o.firstReadAfterExit) > limit && o.bytesAfterExit > maxBacklog
}

// readAvailable reads without waiting. A deadline may pass before a stalled reader runs, and
// available bytes must not be lost then.
func (o *output) readAvailable(p []byte) (n int, err error) {
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
