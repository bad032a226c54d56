package process

import (
	"os"
	"sync"
)

// input is the write end of a child's stdin. A write blocks until the child reads, or closeFile is
// called.
type input struct {
	file *os.File
	// countUnread makes closeFile count the bytes that the child has not read.
	countUnread    bool
	initialWritten chan struct{} // closed after writing Options.Input, also if that failed
	done           chan struct{} // closed when no more writes will come
	endInput       func()        // closes done
	closeFile      func()        // closes file, which unblocks pending writes
	writeMu        sync.Mutex    // serializes writes after Options.Input
	// unread is set by closeFile.
	unread int
}

// minPipeCapacity is the smallest capacity of an empty pipe on Linux: one page, for a user who has
// exceeded pipe-user-pages-soft.
const minPipeCapacity = 4096

func newInput(file *os.File, o Options) *input {
	in := &input{file: file, countUnread: o.KeepInput && o.Terminal == nil, initialWritten: make(chan struct{}), done: make(chan struct{})}
	in.endInput = sync.OnceFunc(func() { close(in.done) })
	in.closeFile = sync.OnceFunc(func() {
		if in.countUnread {
			in.unread = unreadBytes(in.file)
		}
		in.file.Close()
	})
	if !o.KeepInput {
		in.endInput()
	}
	return in
}

// writeInitial writes data and closes stdin after the last pending write.
func (in *input) writeInitial(data []byte, exited <-chan struct{}) {
	// A child that ignores its input closes it or exits; neither is an error.
	_, _ = in.file.Write(data)
	close(in.initialWritten)
	select {
	case <-in.done:
	case <-exited:
	}
	in.writeMu.Lock()
	defer in.writeMu.Unlock()
	in.closeFile()
}

// Write writes p to the child's stdin, after Options.Input and in one piece. It may be called from
// any goroutine and needs Options.KeepInput. It blocks while the child does not read, at most until
// the child closes its stdin, or has exited and Wait was called. An error means that the child has
// not got all of p.
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
