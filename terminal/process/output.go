package process

import (
	"errors"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// holdLimit bounds how long readers wait in all for descendants that keep writing now and then after the
// child itself has exited. Time that the consumer takes does not count.
const holdLimit = 5 * time.Second

// output is the read end of a pipe that a descendant of the child may hold open for ever.
type output struct {
	file   *os.File
	exited <-chan struct{}
	grace  time.Duration
	waited time.Duration // spent waiting for bytes since the child exited
}

// wake ends a Read that began before the child exited, after the grace period. Later ones set their own deadline.
func (o *output) wake() { _ = o.file.SetReadDeadline(time.Now().Add(o.grace)) }

// Read reads as long as bytes come, and reports io.EOF once the child has exited and the pipe was silent for
// the grace period. Waiting counts from the call, not from the exit, so a slow consumer loses nothing.
func (o *output) Read(p []byte) (int, error) {
	for {
		began, patient := o.arm()
		n, err := o.file.Read(p)
		if patient {
			o.waited += time.Since(began)
		}
		switch {
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return n, err
		case patient:
			return o.rest(p)
		}
	}
}

// arm sets a deadline of its own if the child has exited, and reports whether it did.
func (o *output) arm() (began time.Time, armed bool) {
	select {
	case <-o.exited:
		began = time.Now()
		_ = o.file.SetReadDeadline(began.Add(min(o.grace, max(0, holdLimit-o.waited))))
		return began, true
	default:
		return began, false
	}
}

// rest takes what is in the pipe without waiting. A deadline may pass before a stalled reader even looks, and
// bytes that are there must not be lost to that.
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
