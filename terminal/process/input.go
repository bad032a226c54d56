package process

import (
	"os"
	"sync"
)

// input is the write end of a child's stdin. A write blocks until the child reads, or closeFile is
// called.
type input struct {
	file *os.File
	// readEnd is the end that the child reads, with Options.DelayInput; nil: it is not open here.
	readEnd *os.File
	// countUnread makes closeFile count the bytes that the child has not read.
	countUnread    bool
	initial        chan []byte   // has Options.Input, or gets what SetInput is given
	initialWritten chan struct{} // closed after writing it, also if that failed
	done           chan struct{} // closed when no more writes will come
	endInput       func()        // closes done
	closeFile      func()        // closes file, which unblocks pending writes
	writeMu        sync.Mutex    // serializes writes after Options.Input
	// unread is set by closeFile or countLeft.
	unread int
	// unwritten is how much of the first input was not written. It is set before initialWritten is
	// closed.
	unwritten int
}

// minPipeCapacity is the smallest capacity of an empty pipe on Linux: one page, for a user who has
// exceeded pipe-user-pages-soft.
const minPipeCapacity = 4096

func newInput(p pipes, o Options) *input {
	in := &input{
		file: p.inWrite, countUnread: o.KeepInput && !o.DelayInput && o.Terminal == nil,
		initial: make(chan []byte, 1), initialWritten: make(chan struct{}), done: make(chan struct{}),
	}
	if o.DelayInput {
		in.readEnd = os.NewFile(uintptr(p.inRead), "pipe")
	} else {
		in.initial <- o.Input
	}
	in.endInput = sync.OnceFunc(func() { close(in.done) })
	in.closeFile = sync.OnceFunc(func() {
		if in.countUnread {
			in.unread = unreadBytes(in.file)
		}
		in.file.Close()
	})
	if !o.KeepInput && !o.DelayInput {
		in.endInput()
	}
	return in
}

// writeInitial writes the first input and closes stdin after the last pending write.
func (in *input) writeInitial(exited <-chan struct{}) {
	select {
	case data := <-in.initial:
		// A child that ignores its input closes it or exits; neither is an error.
		n, _ := in.file.Write(data)
		in.unwritten = len(data) - n
	case <-exited:
	}
	close(in.initialWritten)
	select {
	case <-in.done:
	case <-exited:
	}
	in.writeMu.Lock()
	defer in.writeMu.Unlock()
	in.closeFile()
}

// countLeft counts what the child has left in its stdin, and closes the read end. It is called
// after writeInitial.
func (in *input) countLeft() {
	if in.readEnd != nil {
		in.unread = unreadBytes(in.readEnd) + in.unwritten
		in.readEnd.Close()
		select {
		case data := <-in.initial: // it came after the exit
			in.unread = len(data)
		default:
		}
	}
}

// SetInput gives a child with Options.DelayInput its first input, once, and closes its stdin
// afterwards unless keep is set.
func (c *Child) SetInput(input []byte, keep bool) {
	c.in.initial <- input
	if !keep {
		c.in.endInput()
	}
}

// Untouched reports whether the child is running and has written nothing. It is for a child whose
// Stdout was not read.
func (c *Child) Untouched() bool {
	select {
	case <-c.exited:
		return false
	default:
	}
	return !hasExited(c.Pid()) && unreadBytes(c.out.file) == 0 &&
		(c.err.file == nil || !c.hasStderr.Load() && unreadBytes(c.err.file) == 0)
}

// Write writes p to the child's stdin, after Options.Input and in one piece. It may be called from
// any goroutine and needs Options.KeepInput, or SetInput with keep. It blocks while the child does
// not read, at most until the child closes its stdin, or has exited and Wait was called. An error
// means that the child has not got all of p.
func (c *Child) Write(p []byte) (int, error) {
	select {
	case <-c.in.done:
		return 0, os.ErrClosed
	case <-c.in.initialWritten:
	}
	c.in.writeMu.Lock()
	defer c.in.writeMu.Unlock()
	return c.in.file.Write(p)
}

// CloseInput closes the child's stdin after Options.Input and pending writes. It does not wait and
// may be called at any time, repeatedly, from any goroutine.
func (c *Child) CloseInput() { c.in.endInput() }
